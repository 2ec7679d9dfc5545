r"""Coefficients in reference coding with their covariance: what a table of standard errors is made of, from weighted moments.

*Notation.* Rows x_i of design columns with weights w_i, W their sum, m the weighted mean, S = sum w_i (x_i - m)(x_i - m)^T.
For least squares the weights are those of the rows; for a generalised linear model they are those of its last step, so that
all of this holds for both (`gramian.linear.regression.glm`).

*Which columns have a coefficient.* The levels of a category sum to one, so one of them, its reference, has none. Of the others
each column is taken in turn, source columns in their order and levels by name, unless those before it explain it: in units of
its own spread, what a Cholesky factor of S in this order leaves of its diagonal is 1 - R^2 given them, and it is dropped where
that is rounding. That is R's rule (the later one goes), it does not depend on the order of the rows, and the dropped ones are
named. With K the columns kept,

    b = S_K^-1 C_K,        a = mean of the response,        intercept = a - m_K^T b,

where C_K is their scatter with the response; of a fitted predictor x^T beta it is (S beta)_K.

*Covariance.* About the mean the normal equations fall apart, X~^T W X~ = diag(W, S_K) for X~ = (1, x_K - m_K). So

    errors "iid":       V = s diag(1/W, S_K^-1),                     s the dispersion,
    robust:             V = f diag(1/W, S_K^-1) B diag(1/W, S_K^-1)

with B = sum_i u_i^2 x~_i x~_i^T, u_i the residual times its weight: a weighted scatter, so one more weighted pass gives it
(`gramian.engines.weighted`). HC0 takes the residuals as they are; HC1 has f = n / (n - k); HC2 and HC3 divide u_i by
(1 - h_i)^1/2 and 1 - h_i, h_i = w_i x~_i^T diag(1/W, S_K^-1) x~_i the leverage. For clusters B = U^T U with one row per
cluster, the sum of u_i x~_i over its rows, and f = G/(G - 1) (n - 1)/(n - k) for G clusters, as in statsmodels and Stata. The
intercept follows by the linear map (a, b) -> (a - m_K^T b, b).

*Tests.* A coefficient over its standard error is t with n - k degrees of freedom where the dispersion is estimated (G - 1 for
clusters), else normal. All levels of a category together: b_c^T V_cc^-1 b_c / df, an F, or without the division a chi-squared.
For one level left this is the square of its t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy import stats
from scipy.linalg import lapack

from gramian.arrays.threads import cached_property
from gramian.arrays.types import Array
from gramian.design.schema import MISSING, Labels, label_text, positions
from gramian.errors import Argument, ColumnError, DataError, shown, unknown_column
from gramian.linear.layout import Layout
from gramian.linear.solvers import CUT
from gramian.moments.value import Moments
from gramian.text_table import text_table

INTERCEPT = "(intercept)"
"""What the constant is called among the columns."""

CONFIDENCE = 0.95

SHOWN = 1000
"""Coefficients that a summary lists."""

BLOCK = 64
"""Columns that the ordered factor takes at a time."""

DENSE_SHARE = 0.02
"""Share of filled cells from which BLAS is faster than a product of sparse matrices."""

ROW_CELLS = 2**22
"""Cells of a dense block of rows."""

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Coding:
    """The design columns of a model, and which level of each category is its reference.

    Attributes
    ----------
    layout : Layout
    levels : list
        The name of each design column's level, None for a number.
    order : (c,) array
        The design columns that may have a coefficient, in the order in which they are taken.
    references : dict of str
        The name of the reference level of each category.
    """

    layout: Layout
    levels: list[str | None]
    order: Indices
    references: dict[str, str]

    @classmethod
    def of(
        cls,
        layout: Layout,
        labels: Mapping[str, Labels],
        mean: Array,
        reference: Mapping[str, Any] | None = None,
    ) -> Coding:
        """Return the coding with the first level by name, or a given one, as the reference of each category.

        Parameters
        ----------
        layout : Layout
        labels : mapping
            Of each category.
        mean : (p,) array
            Shares of the levels; those of 0 have no rows and no coefficient.
        reference : mapping, optional
            Labels by column.
        """
        wanted = dict(reference or {})
        levels: list[str | None] = []
        order: list[int] = []
        references: dict[str, str] = {}
        for name in wanted:
            if name not in layout.columns:
                raise unknown_column(name, layout.categories, where="the categories")
            if name not in layout.categories:
                raise ColumnError(f"column {name!r} is a number: it has no reference level; take it out of reference")
        for name, span in zip(layout.columns, layout.spans(), strict=True):
            if name not in labels:
                levels.append(None)
                order.append(span.start)
                continue
            names, values = labels[name].names(), labels[name].to_list()
            by_name = [k for k in _sorted(values) if mean[span.start + k] > 0]
            if name in wanted:
                first = [k for k in by_name if values[k] == wanted[name] or names[k] == label_text(wanted[name])]
                if not first:
                    raise ColumnError(
                        Argument("reference", {name: wanted[name]}),
                        f" is not a level of {name!r} with rows; it has {', '.join(names[k] for k in by_name[:8])}",
                    )
            else:
                first = by_name[:1]
            references[name] = names[first[0]]
            levels += names
            order += [span.start + k for k in by_name if k != first[0]]
        return cls(layout, levels, np.array(order, dtype=np.intp), references)

    @cached_property
    def owners(self) -> list[str]:
        """The source column of each design column."""
        return [name for name, size in zip(self.layout.columns, self.layout.sizes, strict=True) for _ in range(size)]

    def place(self, column: str, level: Any) -> int:
        """Return the design column of a level, or raise."""
        if column not in self.references:
            known = list(self.references)
            if column in self.layout.columns:
                raise ColumnError(f"column {column!r} is a number and has no levels; name one of {shown(known)}")
            raise unknown_column(column, known, where="the categories")
        span = self.layout.spans()[self.layout.columns.index(column)]
        names = self.levels[span]
        wanted = MISSING if level is None else label_text(level)
        if wanted not in names:
            raise ColumnError(f"column {column!r} has no level {shown(level)}; it has {', '.join(map(str, names[:8]))}")
        return span.start + names.index(wanted)


def _sorted(values: list[Any]) -> list[int]:
    """Return positions in the order of labels, the missing one last."""
    try:
        return sorted(range(len(values)), key=lambda k: (values[k] is None, values[k] if values[k] is not None else 0))
    except TypeError:
        return sorted(range(len(values)), key=lambda k: (values[k] is None, str(values[k])))


def ordered_factor(matrix: Array) -> tuple[Indices, Array]:
    """Return which columns of a correlation matrix those before them do not explain, and the Cholesky factor of these.

    Parameters
    ----------
    matrix : (c, c) array
        With ones on the diagonal, zeros for columns that do not vary.

    Returns
    -------
    kept : (k,) array
        Ascending.
    factor : (k, k) array
        Lower triangular.

    Examples
    --------
    >>> kept, factor = ordered_factor(np.array([[1.0, 1.0, 0.6], [1.0, 1.0, 0.6], [0.6, 0.6, 1.0]]))
    >>> kept, factor
    (array([0, 2]), array([[1. , 0. ],
           [0.6, 0.8]]))
    """
    size = len(matrix)
    cut = CUT * max(size, 64) * np.finfo(np.float64).eps
    if size and np.diagonal(matrix).min() > 0:
        whole, info = lapack.dpotrf(matrix.T, lower=1, clean=1)
        if info == 0 and np.square(np.diagonal(whole)).min() > cut:
            return np.arange(size), whole
    rows = np.zeros((size, size))
    kept: list[int] = []
    for start in range(0, size, BLOCK):
        stop, rank = min(start + BLOCK, size), len(kept)
        # What the columns taken so far leave of the next ones.
        left = matrix[start:, start:stop] - rows[start:, :rank] @ rows[start:stop, :rank].T
        for j in range(stop - start):
            if left[j, j] <= cut:
                continue
            column = left[j:, j] / np.sqrt(left[j, j])
            rows[start + j :, len(kept)] = column
            left[j + 1 :, j + 1 :] -= np.outer(column[1:], column[1 : stop - start - j])
            kept.append(start + j)
    at = np.array(kept, dtype=np.intp)
    return at, rows[at, : len(at)]


def factored(matrix: Array, diagonal: Array) -> tuple[Indices, Array, Array, Array]:
    """Return the columns that have a coefficient, the inverse of S_K, the factor of its correlations, and their units.

    Parameters
    ----------
    matrix : (c, c) array
        S, in the order in which columns are taken.
    diagonal : (c,) array
        Of the scatter whose rounding decides: a column whose variance is rounding of its mean does not vary.
    """
    unit = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    own = matrix / unit
    own /= unit[:, None]
    kept, factor = ordered_factor(own)
    inverse = lapack.dpotri(factor, lower=1)[0] if len(kept) else np.empty((0, 0))
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    inverse /= unit[kept]
    inverse /= unit[kept, None]
    return kept, inverse, factor, unit[kept]


@dataclass(frozen=True, eq=False)
class Estimate:
    """The coefficients of a linear predictor in reference coding, and the inverse of their scatter.

    Attributes
    ----------
    coding : Coding
    weight : float
        W.
    mean : (p,) array
        m, of all design columns.
    kept : (k,) array
        Design columns with a coefficient.
    coefficients : (k,) array
    at_mean : float
        The predictor at the mean.
    inverse : (k, k) array
        S_K^-1.
    taken_off : (p,) array
        What was taken off each design column as it was read: the intercept belongs to columns as they are given.
    """

    coding: Coding
    weight: float
    mean: Array
    kept: Indices
    coefficients: Array
    at_mean: float
    inverse: Array
    taken_off: Array

    @classmethod
    def of(
        cls,
        coding: Coding,
        matrix: Array,
        mean: Array,
        weight: float,
        cross: Array,
        at_mean: float,
        taken_off: Array | None = None,
    ) -> Estimate:
        """Return the estimate that solves S_K b = C_K.

        Parameters
        ----------
        coding : Coding
        matrix : (p, p) array
            S.
        mean : (p,) array
        weight : float
        cross : (p,) array
            C, or S beta for a predictor that is known.
        at_mean : float
        taken_off : (p,) array, optional
        """
        own = matrix[np.ix_(coding.order, coding.order)]
        taken, inverse, _, _ = factored(own, np.diagonal(own))
        kept, own = coding.order[taken], own[np.ix_(taken, taken)]
        found = inverse @ cross[kept]
        # The factor squares the condition, the residual does not.
        found += inverse @ (cross[kept] - own @ found)
        off = np.zeros(len(mean)) if taken_off is None else taken_off
        return cls(coding, weight, mean, kept, found, at_mean, inverse, off)

    @property
    def rank(self) -> int:
        """Number of coefficients, the intercept among them."""
        return len(self.kept) + 1

    @property
    def intercept(self) -> float:
        """The constant."""
        return float(self.at_mean - self._given_mean @ self.coefficients)

    @property
    def _given_mean(self) -> Array:
        return self.mean[self.kept] + self.taken_off[self.kept]

    @cached_property
    def aliased(self) -> Indices:
        """Design columns that those before them explain."""
        return self.coding.order[~np.isin(self.coding.order, self.kept)]

    def bread(self) -> Array:
        """Return diag(1/W, S_K^-1), (k + 1, k + 1)."""
        out = np.zeros((self.rank, self.rank))
        out[0, 0] = 1.0 / self.weight
        out[1:, 1:] = self.inverse
        return out

    def leverage_form(self, free: npt.NDArray[np.bool_]) -> tuple[Array, Array, float]:
        """Return (M, v, c) with h = w (x^T M x + x^T v + c) for a row x, whose free design columns are those of S."""
        at = np.flatnonzero(free)[self.kept]
        form, side = np.zeros((len(free), len(free))), np.zeros((len(free), 1))
        form[np.ix_(at, at)] = self.inverse
        along = self.inverse @ self.mean[self.kept]
        side[at, 0] = -2.0 * along
        return form, side, float(self.mean[self.kept] @ along + 1.0 / self.weight)

    def about_mean(self, weight: float, mean: Array, scatter: Array) -> Array:
        """Return B, (k + 1, k + 1), from the total, the mean and the scatter of a pass with weights u^2."""
        gap = mean[self.kept] - self.mean[self.kept]
        out = np.empty((self.rank, self.rank))
        out[0, 0] = weight
        out[0, 1:] = out[1:, 0] = weight * gap
        out[1:, 1:] = scatter[np.ix_(self.kept, self.kept)] + weight * np.outer(gap, gap)
        return out

    def about_clusters(self, sums: Any, weights: Array) -> Array:
        """Return B = U^T U, (k + 1, k + 1), from the score sums of each cluster.

        Parameters
        ----------
        sums : (G, p) CSR array
            Sums of u_i x_i over the rows of each cluster.
        weights : (G,) array
            Sums of u_i.
        """
        own, mean = sums[:, self.kept], self.mean[self.kept]
        side = np.asarray(own.T @ weights)
        total = float(weights @ weights)
        out = np.empty((self.rank, self.rank))
        out[0, 0] = total
        out[0, 1:] = out[1:, 0] = side - total * mean
        out[1:, 1:] = gram_of(own) + total * np.outer(mean, mean)
        out[1:, 1:] -= np.outer(side, mean) + np.outer(mean, side)
        return out

    def with_errors(self, middle: Array | None, factor: float, dof: float) -> Inference:
        """Return the estimate with a covariance: `factor` times the bread, around `middle` where there is one.

        Parameters
        ----------
        middle : (k + 1, k + 1) array, optional
            B, in the basis (1, x - m).
        factor : float
        dof : float
            Degrees of freedom of t; infinite for the normal distribution.
        """
        bread = self.bread()
        covariance = factor * (bread if middle is None else bread @ middle @ bread)
        covariance[:, 0] -= covariance[:, 1:] @ self._given_mean
        covariance[0] -= self._given_mean @ covariance[1:]
        return Inference(self, covariance, dof)


@dataclass(frozen=True, eq=False)
class Inference:
    """Coefficients with their covariance: tables, tests of whole columns, contrasts.

    Attributes
    ----------
    estimate : Estimate
    covariance : (k + 1, k + 1) array
        The intercept first.
    dof : float
        Degrees of freedom of t; infinite for the normal distribution.
    """

    estimate: Estimate
    covariance: Array
    dof: float

    def table(self) -> dict[str, Any]:
        """Return one row per coefficient; those of aliased columns are NaN, as in R."""
        estimate, coding = self.estimate, self.estimate.coding
        place = np.full(len(coding.levels), -1)
        place[estimate.kept] = np.arange(len(estimate.kept)) + 1
        rows = place[coding.order]
        values = np.append(estimate.intercept, estimate.coefficients)
        error = self._errors()
        at = np.append(0, rows)
        coefficient = np.where(at < 0, np.nan, values[at])
        std_error = np.where(at < 0, np.nan, error[at])
        return {
            "column": [INTERCEPT, *(coding.owners[k] for k in coding.order)],
            "level": [None, *(coding.levels[k] for k in coding.order)],
            **self._tested(coefficient, std_error),
        }

    def _errors(self) -> Array:
        """Return the standard errors, the intercept first."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))

    def _variance(self, contrast: Array) -> float:
        """Return that of a sum of coefficients, without the intercept."""
        return float(contrast @ self.covariance[1:, 1:] @ contrast)

    def _block(self, own: Indices) -> Array:
        """Return the covariance of some coefficients."""
        return self.covariance[np.ix_(own + 1, own + 1)]

    def _tested(self, value: Array, error: Array, called: str = "coefficient") -> dict[str, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = value / error
        law = stats.norm if np.isinf(self.dof) else stats.t(self.dof)
        reach = float(law.ppf(0.5 + CONFIDENCE / 2))
        return {
            called: value,
            "std_error": error,
            "statistic": statistic,
            "p_value": 2 * law.sf(np.abs(statistic)),
            "lower": value - reach * error,
            "upper": value + reach * error,
        }

    def anova(self) -> dict[str, Any]:
        """Return one row per source column: the joint test of its coefficients."""
        estimate, layout = self.estimate, self.estimate.coding.layout
        out: dict[str, list[Any]] = {"column": [], "df": [], "statistic": [], "p_value": []}
        for name, span in zip(layout.columns, layout.spans(), strict=True):
            own = np.flatnonzero((estimate.kept >= span.start) & (estimate.kept < span.stop))
            df, statistic, p_value = self._joint(own)
            for key, value in zip(out, (name, df, statistic, p_value), strict=True):
                out[key].append(value)
        return out

    def _joint(self, own: Indices) -> tuple[int, float, float]:
        """Return degrees of freedom, statistic and p-value of the test that some coefficients are all zero."""
        if not len(own):
            return 0, np.nan, np.nan
        values, block = self.estimate.coefficients[own], self._block(own)
        spread = np.sqrt(np.maximum(np.diagonal(block), 0.0))
        if not (spread > 0).all():
            return len(own), np.nan, np.nan
        block, scaled = block / np.outer(spread, spread), values / spread
        lower, info = lapack.dpotrf(block, lower=1)
        if info == 0 and np.square(np.diagonal(lower)).min() > 1e-12:
            df, total = len(own), float(scaled @ lapack.dpotrs(lower, scaled, lower=1)[0])
        else:
            # Fewer clusters than coefficients: as many directions as there are.
            size, turn = scipy.linalg.eigh(block)
            fine = size > 1e-10 * size[-1]
            df, total = int(fine.sum()), float((np.square(scaled @ turn)[fine] / size[fine]).sum())
        return self._judged(df, total)

    def _judged(self, df: int, total: float) -> tuple[int, float, float]:
        """Return degrees of freedom, statistic and p-value of a sum of squares."""
        if np.isinf(self.dof):
            return df, total, float(stats.chi2.sf(total, df))
        return df, total / df, float(stats.f.sf(total / df, df, self.dof))

    def compare(self, column: str, first: Any, second: Any) -> dict[str, Any]:
        """Return the difference of two levels of a category with its error, as one row."""
        estimate, coding = self.estimate, self.estimate.coding
        places = [coding.place(column, level) for level in (first, second)]
        for at, level in zip(places, (first, second), strict=True):
            if at in estimate.aliased:
                raise DataError(
                    f"level {shown(level)} of {column!r} has no coefficient of its own: the columns before it explain it"
                )
        contrast = np.subtract(*((estimate.kept == at).astype(np.float64) for at in places))
        value = np.array([contrast @ estimate.coefficients])
        error = np.sqrt(np.maximum(np.array([self._variance(contrast)]), 0.0))
        names = [[coding.levels[at]] for at in places]
        return {"column": [column], "level": names[0], "other": names[1], **self._tested(value, error, "difference")}


def gram_of(rows: Any) -> Array:
    """Return U^T U of a CSR matrix: by dense blocks of rows where enough of it is filled."""
    count, width = rows.shape
    if rows.nnz < DENSE_SHARE * count * width:
        return np.asarray((rows.T @ rows).toarray())
    out = np.zeros((width, width))
    step = max(1, ROW_CELLS // max(width, 1))
    for start in range(0, count, step):
        block = rows[start : start + step].toarray()
        out += block.T @ block
    return out


def score_sums(moments: Moments, cluster: str, columns: Sequence[str]) -> tuple[Any, Array]:
    """Return the sums of u_i x_i over the rows of each cluster, (G, p) CSR, and those of u_i.

    Parameters
    ----------
    moments : Moments
        Of a pass with the weights |u_i|, whose folds are the rows of u_i >= 0 and of u_i < 0.
    cluster : str
    columns : list of str
    """
    known = moments.labels[moments.coded_at[cluster]].values
    total: Any = 0
    for fold, sign in zip(moments.folds, (1.0, -1.0), strict=True):
        k = fold.coded_at[cluster]
        weights = np.asarray(fold.pairs.level_weights[k], dtype=np.float64)
        numbers = fold.sums[k] + np.outer(weights, np.nan_to_num(fold.numbers.anchors))
        parts: list[Any] = [weights[:, None]]
        for name in columns:
            if name in fold.coded_at:
                parts.append(fold.pairs.block(k, fold.coded_at[name]))
            else:
                at = fold.numbers.names.index(name)
                parts.append(numbers[:, at : at + 1])
        own = sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
        place = positions(fold.labels[k].values, known)
        turn = sp.csr_array((np.full(len(place), sign), (place, np.arange(len(place)))), shape=(len(known), len(place)))
        total = total + turn @ own
    return sp.csr_array(total[:, 1:]), np.asarray(total[:, [0]].toarray()[:, 0])


def summary_text(title: str, facts: Sequence[tuple[str, str]], rows: Mapping[str, Any], inference: Inference) -> str:
    """Return facts of a fit, its table of coefficients and what was dropped as text.

    Parameters
    ----------
    title : str
    facts : sequence of pairs
        Names and values, shown in two columns.
    rows : mapping
        The table of coefficients.
    inference : Inference
    """
    half = -(-len(facts) // 2)
    pairs = [(*facts[k], *(facts[k + half] if k + half < len(facts) else ("", ""))) for k in range(half)]
    head = text_table(None, [tuple(map(str, row)) for row in pairs], right=(1, 3))
    mark = "z" if np.isinf(inference.dof) else "t"
    kinds = ("coefficient", "std_error", "statistic", "p_value", "lower", "upper")
    found = np.flatnonzero(~np.isnan(rows["coefficient"]))
    cells = [
        (
            rows["column"][k] if rows["level"][k] is None else f"{rows['column'][k]}_{rows['level'][k]}",
            *(_number(rows[kind][k], kind) for kind in kinds),
        )
        for k in found[:SHOWN]
    ]
    share = f"{(1 - CONFIDENCE) / 2:.3f}", f"{(1 + CONFIDENCE) / 2:.3f}"
    body = text_table(
        ("", "coef", "std err", mark, f"P>|{mark}|", f"[{share[0]}", f"{share[1]}]"), cells, right=range(1, 7)
    )
    width = max(map(len, [*head, *body]))
    lines = [title.center(width).rstrip(), "=" * width, *head, "=" * width, *body, "=" * width]
    rest = [f"{len(found) - SHOWN:,} more coefficients are in inference()."] if len(found) > SHOWN else []
    return "\n".join([*lines, *rest, *notes_of(inference.estimate)])


def _number(value: float, kind: str) -> str:
    if kind in ("p_value", "statistic"):
        return f"{value:.3f}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.3e}"


def notes_of(estimate: Estimate) -> list[str]:
    """Return what a reader of the coefficients has to know: the reference levels, and what was dropped."""
    coding, notes = estimate.coding, []
    if coding.references:
        listed = ", ".join(f"{name}={level}" for name, level in coding.references.items())
        notes.append(f"Reference levels: {listed}.")
    if len(estimate.aliased):
        names = [_named(coding, int(k)) for k in estimate.aliased]
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        notes.append(f"Dropped, as the columns before them explain them: {', '.join(names[:12])}{more}.")
    return notes


def _named(coding: Coding, at: int) -> str:
    level = coding.levels[at]
    return coding.owners[at] if level is None else f"{coding.owners[at]}_{level}"
