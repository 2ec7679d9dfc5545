"""Which table is worth joining: what its columns add to the prediction of a target, and whether chance explains it.

Nothing is joined and no row of the facts is read. The moments of the facts are those of the joined table once the columns of a
candidate are attached to its key (`gramian.moments.algebra.joins`), and held-out errors follow from fold moments
(`gramian.linear.regression.ridge`). So with the base model of the facts' own features, keys aside,

    gain = R^2 of base and candidate - R^2 of the base,        both held out,

each at the ridge that does best of `RIDGES`. For classes R^2 is that of their indicators (Brier). The candidate is a column of
a table, or all of them together.

*One factor of the base for all tables.* Let E have the columns of a table by key, and in a fold let N hold the rows of each key
and X, H the sums over them of the base's design columns and of the target's functions, about the training means. All that a
candidate adds to the second moments of a fold are sums over keys,

    E^T diag(N) E,     E^T X,     E^T H,

so nothing is attached, and X, H and a factor of the base's block A + r D are found once per fold. With B = E^T X of the
training rows a group g of columns has the coefficients

    b_g = (E_g^T diag(N) E_g + r D_g - B_g (A + r D)^-1 B_g^T)^-1 (E_g^T H - B_g b),     b - (A + r D)^-1 B_g^T b_g,

the latter for the base, whose own are b. Missing numbers are at the training mean, which moves from fold to fold: so E holds
deviations from an anchor and what is observed, and is mapped.

*The test permutes keys, not rows.* All facts of one key share the row of the table that the key points to, and they often
share more: customers differ, whatever a table says of them. A test that takes facts as independent then finds every table
useful. What a useless table leaves exchangeable is which of its rows belongs to which key. With E the columns of the table by
key, and the residuals of the base model summed over the facts of each key,

    r_l = sum over facts i of key l of (h(y_i) - h^(x_i)),      T = sum_l E_l r_l^T,

T is a linear statistic under permutations of the L keys, and with hat matrices A of E and B of r, both over keys,

    (L - 1) tr(A B)

has over all permutations the mean, variance and skewness of `gramian.linear.regression.permutation`: keys of many facts have
large leverages in B, and the law is the wider for it. E and r enter by key, so r may be any function of the facts, and the test
is calibrated whatever they have in common. The missing key, which no table can have, is left out; keys that a table lacks are
keys with missing values, and are permuted like the others.

Reference: Strasser and Weber, On the asymptotic theory of permutation statistics, Mathematical Methods of Statistics 8, 1999.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from gramian.arrays.memory import refuse_beyond
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import ColumnError, DataError, shown
from gramian.linear.layout import Layout, as_transformed, centre_of, layout_of
from gramian.linear.regression.independence import of_category, root_of_inverse
from gramian.linear.regression.permutation import Side, null_law
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import least_squares, per_target
from gramian.linear.regression.targets import TargetFunctions, aim_of
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.wide import may_be_formed
from gramian.moments.advice import identifiers, near_zero, say_set_aside
from gramian.moments.algebra.folds import filled_at, folds_of, number_means, places_of, with_levels_of
from gramian.moments.algebra.joins import Attributes, key_labels, read_attributes, say_unmatched
from gramian.moments.algebra.levels import fold_into_numbers
from gramian.moments.state.pair_counts import meetings, stacked
from gramian.moments.value import Moments
from gramian.tables.returned import table as output_table

_LOG = logging.getLogger("gramian")

RIDGES = (1.0, 10.0, 100.0)
"""In rows: a level of so many rows is half believed."""

WIDEST = 1000
"""Levels of a column of a table, at most, for a gain; the test has no limit."""

CUBIC_RANK = 12
"""Directions up to which third-order sums of entries are added up, a tensor of their cube."""

BLOCK_ROWS = 4096

STILL = 1e-13
"""Of the squares about an anchor: a number whose squares about its mean are less does not vary but for rounding."""


def rank_tables(m: Moments, target: str, candidates: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a table of what each candidate table, and each of its columns, would add to the prediction of a target.

    Nothing is joined. The base model has the features of `m` but for the keys that are named here. See `docs/joins.md`.

    Parameters
    ----------
    m : Moments
        Of the facts, with folds: `collect(..., folds=5)`. Keys are collected by level: `categorical=[key]` for integers.
    target : str
        The column to predict: a number, or classes.
    candidates : mapping of mappings
        By key, a column of `m`: the candidate tables by name, any source of `collect` with one row per key.

    Returns
    -------
    table
        Of the library that the data came from. One row per table, where `column` is null, and one per column of it: `key`,
        `table`, `column`, `gain` in held-out R^2 (for classes that of their indicators) and `p_value`, from permutations of
        keys. Tables of the largest gain come first, and their columns after them. The gain of a column of more than 1,000
        levels is null, and its table's is that of the other columns.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> shop = rng.integers(0, 50, 2000)
    >>> shops = pa.table({"shop": range(50), "staff": rng.normal(size=50), "door": ["red", "blue"] * 25})
    >>> paid = shops["staff"].to_numpy()[shop] + rng.normal(size=2000)
    >>> m = gm.collect(pa.table({"shop": shop, "paid": paid}), categorical="shop", folds=5)
    >>> found = gm.rank_tables(m, "paid", {"shop": {"shops": shops}})
    >>> found.column("column").to_pylist(), found.column("p_value").to_numpy()[1] < 0.001
    ([None, 'staff', 'door'], np.True_)
    """
    if not isinstance(candidates, Mapping) or not all(isinstance(each, Mapping) for each in candidates.values()):
        raise DataError(
            f"candidates are tables by name, by key: {{key: {{name: table}}}}; got {shown(type(candidates).__name__)}"
        )
    if target in candidates:
        raise ColumnError(f"column {target!r} is the target; it cannot be a key of tables as well")
    folds_of(m, [target], asked="ranking tables by their held-out gain")
    labels = {key: key_labels(m, key) for key in candidates}
    aim = aim_of(m, [target])
    found: list[tuple[float, list[dict[str, Any]]]] = []
    for key, tables in candidates.items():
        facts = _Facts.of(m, key, set(candidates), aim)
        for name, source in tables.items():
            try:
                attributes = read_attributes(key, labels[key], source, prefix=f"{name}: ")
            except DataError as error:
                raise type(error)(f"candidate {name!r} of {key!r}: ", *error.parts) from None
            say_unmatched(m, key, attributes)
            rows = facts.judged(attributes, prefix=f"{name}: ")
            rows = [{"key": key, "table": name, **row} for row in rows]
            found.append((rows[0]["gain"] if rows[0]["gain"] is not None else -np.inf, rows))
    found.sort(key=lambda each: -each[0])
    rows = [row for _, each in found for row in each]
    return output_table(
        {name: [row[name] for row in rows] for name in ("key", "table", "column", "gain", "p_value")},
        library=m.library,
    )


class _Columns:
    """Columns of a table by key: E = [indicators of levels | deviations of numbers, 0 where missing | which are observed]."""

    def __init__(self, attributes: Attributes) -> None:
        schema, held = attributes.schema, dict(zip(attributes.schema.coded, range(len(attributes.codes)), strict=True))
        levels = [name for name in schema.coded if schema[name].form == "category"]
        by_value = [name for name in schema.coded if schema[name].form == "integer"]
        sizes = [len(attributes.labels[held[name]]) for name in levels]
        rows, self.n_levels = len(attributes.keys), sum(sizes)
        self._codes = np.empty((rows, 0), dtype=np.int64)
        spans: list[slice] = []
        if levels:
            self._codes, spans = stacked([attributes.codes[held[name]] for name in levels], sizes)
        columns = [attributes.labels[held[name]].numbers[1][attributes.codes[held[name]]] for name in by_value]
        values = np.column_stack([*columns, attributes.values]) if columns else attributes.values
        seen = ~np.isnan(values)
        means = np.where(seen, values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        self._numbers = np.hstack([np.where(seen, values - means, 0.0), seen])
        starts = self._codes.shape[1] * np.arange(rows + 1)
        self._levels = sp.csr_array((np.ones(self._codes.size), self._codes.ravel(), starts), (rows, self.n_levels))
        numbers = [*by_value, *schema.numbers]
        self.at = {name: np.arange(span.start, span.stop) for name, span in zip(levels, spans, strict=True)}
        self.at |= {name: np.array([self.n_levels + j]) for j, name in enumerate(numbers)}
        self.layout = Layout(
            [*levels, *numbers],
            [*sizes, *[1] * len(numbers)],
            ["category"] * len(levels) + ["number"] * len(numbers),
        )

    def sums(self, by_key: Array) -> Array:
        """Return E^T times what is known by key."""
        return np.vstack([np.asarray(self._levels.T @ by_key), self._numbers.T @ by_key])

    def pairs(self, weights: Array) -> Array:
        """Return E^T diag(weights) E."""
        n = self.n_levels
        across = self.sums(weights[:, None] * self._numbers)
        return np.block([[meetings(weights, self._codes, n), across[:n]], [across[:n].T, across[n:]]])

    def filling(self, counts: Array, pairs: Array) -> _Filling:
        """Return how numbers are filled at their means, given `sums` and `pairs` of the weights."""
        n, p = self.n_levels, self._numbers.shape[1] // 2
        total, seen, squares = counts[n : n + p], counts[n + p :], np.diagonal(pairs)[n : n + p]
        means = np.divide(total, seen, out=np.zeros(p), where=seen > 0)
        return _Filling(n, means[:, None], (squares - means * total > STILL * squares)[:, None])

    def scores(self, numbers: Array, functions: Array) -> Array:
        """Return linear functions of the columns by key, given the numbers filled."""
        return np.asarray(self._levels @ functions[: self.n_levels]) + numbers @ functions[self.n_levels :]

    def squared(self, numbers: Array, form: Array) -> Array:
        """Return e^T F e for the columns e of each key, given the numbers filled."""
        out = np.empty(len(self._codes))
        _quadratic(self._codes, numbers, np.ascontiguousarray(form), out)
        return out

    def filled(self, filling: _Filling) -> Array:
        """Return the numbers by key, missing ones filled."""
        return np.ascontiguousarray(filling.of_numbers(self._numbers.T).T)


@dataclass(frozen=True, eq=False)
class _Filling:
    """How sums of E are mapped to those of levels and of numbers about their means; a number that does not vary is 0."""

    n_levels: int
    means: Array
    varies: npt.NDArray[np.bool_]

    def of_numbers(self, sums: Array) -> Array:
        p = len(self.means)
        return self.varies * (sums[:p] - self.means * sums[p:])

    def __call__(self, sums: Array) -> Array:
        return np.vstack([sums[: self.n_levels], self.of_numbers(sums[self.n_levels :])])


@kernel("void(int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1])")
def _quadratic(codes, values, form, out):  # type: ignore[no-untyped-def]
    """Write e^T F e for rows e that are 1 at some codes and hold values in the last places."""
    first = form.shape[0] - values.shape[1]
    for row in range(out.size):
        total = 0.0
        for c in range(codes.shape[1]):
            line = form[codes[row, c]]
            total += line[codes[row, c]]
            for d in range(c):
                total += 2.0 * line[codes[row, d]]
            for j in range(values.shape[1]):
                total += 2.0 * line[first + j] * values[row, j]
        for i in range(values.shape[1]):
            line = form[first + i]
            total += line[first + i] * values[row, i] ** 2
            for j in range(i):
                total += 2.0 * line[first + j] * values[row, i] * values[row, j]
        out[row] = total


@dataclass(frozen=True, eq=False)
class _Fold:
    """A fold of the facts: its sums by key, and the base model of the other folds.

    Attributes
    ----------
    by_key : (L, 1 + w + u + m) array
        Rows, design columns x, missing values of `lacking`, functions h; x and h about the means of all rows.
    lacking : (u,) array
        The design columns with missing values.
    rows, others : float
        Total weights of the fold and of the training rows.
    mean, shift, aim_shift : (w,), (w,), (m,) arrays
        The training means of x; and those of x and h less the means of all rows.
    solved : list of pairs
        By ridge: a factor of the base's block, and the coefficients of the base alone.
    gap, aim_gap : (w,), (m,) arrays
        The fold's means of x and h less those of the training rows.
    scatter, cross, own : (w, w), (w, m), (m,) arrays
        Second moments of the fold about the training means.
    """

    by_key: Array
    lacking: npt.NDArray[np.intp]
    rows: float
    others: float
    mean: Array
    shift: Array
    aim_shift: Array
    solved: list[tuple[Any, Array]]
    gap: Array
    aim_gap: Array
    scatter: Array
    cross: Array
    own: Array

    def about(self, sums: Array) -> tuple[Array, Array, Array]:
        """Return the sums of rows, x and h by the columns of a table, about the training means."""
        w, u = len(self.mean), len(self.lacking)
        rows, x, missing, h = np.split(sums, np.cumsum([1, w, u]), axis=1)
        x = x - rows * self.shift
        x[:, self.lacking] += missing * self.shift[self.lacking]
        return rows[:, 0], x, h - rows * self.aim_shift

    def errors(self, columns: _Columns, layout: Layout, groups: Sequence[Array], sums: Any, pairs: Any) -> Array:
        """Return the squared errors of the base and of each group of columns beside it, (1 + groups, ridges, m).

        `sums` and `pairs` are those of the training rows and of the fold.
        """
        filled = columns.filling(sums[0][:, 0], pairs[0])
        (count, x, h), (rows, x_here, h_here) = (self.about(filled(each)) for each in sums)
        mean = count / self.others
        block, here = (filled(filled(each).T) for each in pairs)
        block = block - np.outer(count, mean)
        here = here - np.outer(rows, mean) - np.outer(mean, rows) + self.rows * np.outer(mean, mean)
        x_here, h_here = (
            each - self.rows * np.outer(mean, gap) for each, gap in ((x_here, self.gap), (h_here, self.aim_gap))
        )
        variance = np.diagonal(block) / self.others
        unit = np.where(columns.layout.is_level | (variance <= 0), 1.0, variance)
        w, m = self.cross.shape
        models = np.zeros((w + len(mean), 1 + len(groups), len(RIDGES), m))
        for r, (ridge, (factor, own)) in enumerate(zip(RIDGES, self.solved, strict=True)):
            towards = _by_factor(factor, x.T)
            left, right = block + ridge * np.diag(unit) - x @ towards, h - x @ own
            models[:w, 0, r] = own
            for g, at in enumerate(groups, 1):
                found = scipy.linalg.solve(left[np.ix_(at, at)], right[at], assume_a="pos")
                models[w + at, g, r] = found
                models[:w, g, r] = own - towards[:, at] @ found
        flat = as_transformed(layout, np.concatenate([self.mean, mean]), models.reshape(len(models), -1))
        base, more = flat[:w], flat[w:]
        seen = (base * (self.scatter @ base + 2 * x_here.T @ more)).sum(axis=0) + (more * (here @ more)).sum(axis=0)
        crossed = np.tile(np.vstack([self.cross, h_here]), models[0, ..., 0].size)
        return self.own + (seen - 2 * (flat * crossed).sum(axis=0)).reshape(models.shape[1:])


def _by_factor(factor: Any, aim: Array) -> Array:
    return aim if factor is None else np.asarray(scipy.linalg.cho_solve(factor, aim))


@dataclass(frozen=True, eq=False)
class _Facts:
    """What is known of the facts before a table is read for one of their keys.

    Attributes
    ----------
    layout : Layout
        Of the base model.
    folds : list of _Fold
    owner : (m,) array of int
        The target of each function.
    residuals : (L, k) array
        Orthonormal over the keys: the residuals of the base model, summed by key and centred; 0 for the missing key.
    of_residuals : Side
        Their leverages.
    kept : (L,) array of bool
        The keys that are permuted: all but the missing one.
    """

    layout: Layout
    folds: list[_Fold]
    owner: npt.NDArray[np.intp]
    residuals: Array
    of_residuals: Side
    kept: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, m: Moments, key: str, keys: set[str], aim: TargetFunctions) -> _Facts:
        features = [name for name in m.schema.features_beside(aim.columns) if name not in keys]
        if features:
            aside = identifiers(m, features) if len(features) > 1 else {}
            say_set_aside(m, aside)
            features = [name for name in features if m.schema[name].origin not in aside]
        moments = aim.read(near_zero(m.select([*features, *aim.columns, key]).as_categorical(key), [*aim.columns, key]))
        lacking = [name for name in features if moments.schema[name].form == "integer" and None in moments.levels(name)]
        moments = fold_into_numbers(moments, lacking)
        layout = layout_of(moments, features) if features else Layout([], [], [])
        if not may_be_formed(layout):
            name, size = layout.widest
            raise DataError(
                f"the base model has {layout.width:,} design columns, {size:,} of them levels of {name!r}; drop it, or "
                "pool its rare levels, before tables are ranked"
            )
        labels = moments.labels[moments.coded_at[key]]
        refuse_beyond(
            8 * len(labels) * (layout.width + 1) * (len(moments.folds) + 1),
            None,
            what=f"the sums of {layout.width:,} design columns by {len(labels):,} keys, per fold,",
            way_out="drop wide columns, or pool their rare levels, before tables are ranked",
        )
        folds = list(_folds(moments, key, layout, aim))
        sums: Any = sum(fold.by_key[:, -aim.size :] for fold in folds)
        if features:
            fitted = least_squares(regression_of(moments, features, aim)).coefficients
            sums = sums - sum(fold.by_key[:, 1 : 1 + layout.width] @ fitted for fold in folds)
        kept = ~labels.values.is_null().to_numpy(zero_copy_only=False)
        centred = np.where(kept[:, None], sums - sums[kept].sum(axis=0) / max(int(kept.sum()), 1), 0.0)
        residuals = centred @ root_of_inverse(centred.T @ centred)
        return cls(layout, folds, aim.owner, residuals, _side(residuals[kept]), kept)

    def judged(self, attributes: Attributes, *, prefix: str) -> list[dict[str, Any]]:
        """Return the gain and the test of all columns of a table, then of each."""
        origins = list(dict.fromkeys(column.origin for column in attributes.schema))
        members = {name: [c.name for c in attributes.schema if c.origin == name] for name in origins}
        sizes = dict(zip(attributes.schema.coded, map(len, attributes.labels), strict=True))
        narrow = [name for name in origins if all(sizes.get(each, 1) <= WIDEST for each in members[name])]
        columns = _Columns(attributes.only([each for name in narrow for each in members[name]]))
        groups = [narrow, *([name] for name in narrow)] if narrow else []
        parts = [[each for name in group for each in members[name]] for group in groups]
        gains = dict(zip(map(tuple, groups), self._gains(columns, parts), strict=True))
        tests = dict(zip(map(tuple, groups), self._p_values(columns, parts), strict=True))
        for name in (name for name in origins if name not in narrow):
            _LOG.info(f"{name} has more than {WIDEST:,} levels, so its gain is not measured; its test is")
            tests[name,] = self._p_values(_Columns(attributes.only(members[name])), [members[name]])[0]
        rows: list[dict[str, Any]] = [
            {"column": name.removeprefix(prefix), "gain": gains.get((name,)), "p_value": tests[name,]}
            for name in origins
        ]
        rows.sort(key=lambda row: -np.inf if row["gain"] is None else row["gain"], reverse=True)
        whole = tuple(narrow)
        return [{"column": None, "gain": gains.get(whole), "p_value": tests.get(whole, 1.0)}, *rows]

    def _gains(self, columns: _Columns, groups: Sequence[Sequence[str]]) -> list[float]:
        """Return the gain of each group of columns over the base model."""
        if not groups:
            return []
        mine, theirs = self.layout, columns.layout
        layout = Layout(mine.columns + theirs.columns, mine.sizes + theirs.sizes, mine.forms + theirs.forms)
        if not may_be_formed(layout):
            raise DataError(
                f"a table adds {columns.layout.width:,} design columns, too many for one model; attach fewer of its columns"
            )
        places = [np.concatenate([columns.at[name] for name in group]) for group in groups]
        sums = [columns.sums(fold.by_key) for fold in self.folds]
        pairs = [columns.pairs(fold.by_key[:, 0]) for fold in self.folds]
        errors: Any = 0.0
        base: Any = 0.0
        for k, fold in enumerate(self.folds):
            # Added up over the others: nothing of a fold is in what it is judged by, not even its rounding.
            both: Any = [(sum(each[g] for g in range(len(each)) if g != k), each[k]) for each in (sums, pairs)]
            errors = errors + per_target(fold.errors(columns, layout, places, *both), self.owner)
            base = base + per_target(fold.own, self.owner)
        scores = (1.0 - errors / np.where(base > 0, base, np.inf)).mean(axis=-1).max(axis=1)
        return (scores[1:] - scores[0]).tolist()

    def _p_values(self, columns: _Columns, groups: Sequence[Sequence[str]]) -> list[float]:
        """Return the share of permutations of keys in which each group of columns goes with the residuals at least as well."""
        n = int(self.kept.sum())
        if n < 2 or not self.residuals.shape[1]:
            return [1.0] * len(groups)
        sums = columns.sums(np.column_stack([self.kept, self.residuals]))
        plain = [len(group) == 1 and len(columns.at[group[0]]) > 1 for group in groups]
        if not all(plain):
            pairs = columns.pairs(self.kept.astype(np.float64))
            filled = columns.filling(sums[:, 0], pairs)
            across = filled(sums)
            mean = across[:, 0] / n
            gram = filled(filled(pairs).T) - n * np.outer(mean, mean)
            numbers = columns.filled(filled)
        out = []
        for group, is_plain in zip(groups, plain, strict=True):
            at = np.concatenate([columns.at[name] for name in group])
            if is_plain:
                at = at[sums[at, 0] > 0]
                share = float((np.square(sums[at, 1:]).sum(axis=1) / sums[at, 0]).sum())
                out.append(null_law(n, of_category(sums[at, 0]).side, self.of_residuals).upper_tail((n - 1) * share))
                continue
            own = root_of_inverse(gram[np.ix_(at, at)])
            root = np.zeros((len(gram), own.shape[1]))
            root[at] = own
            if own.shape[1] <= CUBIC_RANK:
                side = _side((columns.scores(numbers, root) - mean @ root)[self.kept])
            else:
                form = root @ root.T
                leverages = columns.squared(numbers, form) - columns.scores(numbers, (2 * form @ mean)[:, None])[:, 0]
                leverages = np.where(self.kept, leverages + mean @ form @ mean, 0.0)
                towards = root.T @ (filled(columns.sums(leverages[:, None]))[:, 0] - mean * leverages.sum())
                side = Side(
                    float(own.shape[1]),
                    float(leverages @ leverages),
                    float((leverages * leverages) @ leverages),
                    form=float(towards @ towards),
                )
            statistic = (n - 1) * float(np.square(root.T @ across[:, 1:]).sum())
            out.append(null_law(n, side, self.of_residuals).upper_tail(statistic))
        return out


def _folds(moments: Moments, key: str, layout: Layout, aim: TargetFunctions) -> Iterator[_Fold]:
    """Yield the folds that have rows."""
    whole, features = replace(moments, folds=()), layout.columns
    means = number_means(whole)
    by_key, aimed = layout_of(moments, [key]), layout_of(moments, aim.columns)
    centre, aim_centre = centre_of(whole, layout), centre_of(whole, aimed) @ aim.map
    starts = dict(zip(layout.columns, layout.starts, strict=True))
    lost = [name for name in (moments.numbers.names[j] for j in moments.numbers.missing) if name in starts]
    lacking = np.array([starts[name] for name in lost], dtype=np.intp)
    folds = folds_of(moments, [*features, *aim.columns])
    for k in folds.filled:
        part = with_levels_of(whole, moments.folds[k], places_of(whole, moments.folds[k]))
        at = part.coded_at[key]
        rows = np.asarray(part.pairs.level_weights[at], dtype=np.float64)[:, None]
        # The same numbers, whatever each fold lacks.
        shown = part.sums[at][:, len(part.numbers.names) :].T
        indicators = dict(zip((part.numbers.names[j] for j in part.numbers.missing), shown, strict=True))
        missing = np.zeros((len(rows), len(lost)))
        for column, name in enumerate(lost):
            missing[:, column] = indicators.get(name, 0.0)
        part = filled_at(part, means)
        x = cross_scatter(part, by_key, layout) + rows * (centre_of(part, layout) - centre)
        h = cross_scatter(part, by_key, aimed, aim.map) + rows * (centre_of(part, aimed) @ aim.map - aim_centre)
        train, test = folds.split(k)
        aim_mean, aim_here = (centre_of(each, aimed) @ aim.map for each in (train, test))
        size, gap = float(test.total_weight), aim_here - aim_mean
        own = np.diagonal(aim.map.T @ cross_scatter(test, aimed, aimed, aim.map)) + size * gap**2
        nothing = np.empty(0)
        base: dict[str, Any] = {
            "mean": nothing, "shift": nothing, "gap": nothing, "scatter": np.empty((0, 0)),
            "cross": np.empty((0, aim.size)), "solved": [(None, np.empty((0, aim.size)))] * len(RIDGES),
        }  # fmt: skip
        if features:
            base = _base(regression_of(train, features, aim), regression_of(test, features, aim))
            base["shift"] = base["mean"] - centre
        yield _Fold(
            by_key=np.hstack([rows, x, missing, h]), lacking=lacking, rows=size, others=float(train.total_weight),
            aim_shift=aim_mean - aim_centre, aim_gap=gap, own=own, **base,
        )  # fmt: skip


def _base(fitted: Regression, judged: Regression) -> dict[str, Any]:
    """Return what a fold holds of the base model."""
    gap, aim_gap = judged.mean - fitted.mean, judged.aim_mean - fitted.aim_mean
    solved = []
    for ridge in RIDGES:
        factor = scipy.linalg.cho_factor(fitted.matrix + ridge * np.diag(fitted.unit), lower=True)
        solved.append((factor, scipy.linalg.cho_solve(factor, fitted.cross)))
    return {
        "mean": fitted.mean,
        "gap": gap,
        "solved": solved,
        "scatter": judged.matrix + judged.weight * np.outer(gap, gap),
        "cross": judged.cross + judged.weight * np.outer(gap, aim_gap),
    }


def _side(scores: Array) -> Side:
    """Return what the law needs of a side, given its orthonormal scores."""
    leverages, rank = np.square(scores).sum(axis=1), scores.shape[1]
    entries = float("nan")
    if rank <= CUBIC_RANK:
        blocks = (scores[start : start + BLOCK_ROWS] for start in range(0, len(scores), BLOCK_ROWS))
        tensor = sum((some[:, :, None] * some[:, None, :]).reshape(len(some), -1).T @ some for some in blocks)
        entries = float(np.square(tensor).sum())
    form = leverages @ scores
    squares, cubes = leverages @ leverages, (leverages * leverages) @ leverages
    return Side(float(rank), float(squares), float(cubes), entries, float(form @ form))


__all__ = ["rank_tables"]
