"""Which table is worth joining: what its columns add to the prediction of a target, and whether chance explains it.

Nothing is joined and no row of the facts is read. The moments of the facts are those of the joined table once the columns of a
candidate are attached to its key (`gramian.moments.algebra.joins`), and held-out errors follow from fold moments
(`gramian.linear.regression.ridge`). So with the base model of the facts' own features, keys aside,

    gain = R^2 of base and candidate - R^2 of the base,        both held out,

each at the ridge that does best of `RIDGES`. For classes R^2 is that of their indicators (Brier). The candidate is a column of
a table, or all of them together.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.errors import ColumnError, DataError, shown
from gramian.linear.layout import layout_of
from gramian.linear.regression.independence import of_category, root_of_inverse
from gramian.linear.regression.permutation import Side, null_law
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import held_out_scores, least_squares
from gramian.linear.regression.targets import TargetFunctions, aim_of
from gramian.linear.scatter.sparse import cross_scatter
from gramian.linear.scatter.wide import may_be_formed
from gramian.moments.advice import identifiers, near_zero, say_set_aside
from gramian.moments.algebra.folds import folds_of
from gramian.moments.algebra.joins import Attributes, joined, key_labels, read_attributes, say_unmatched
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
            attributes = read_attributes(key, labels[key], source, prefix=f"{name}: ")
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


@dataclass(frozen=True, eq=False)
class _Facts:
    """What is known of the facts before any table is attached to one of their keys.

    Attributes
    ----------
    moments : Moments
        Of the base model's features, the target and the key, folds included.
    key : str
    features : list of str
    aim : TargetFunctions
    residuals : (L, k) array
        Orthonormal over the keys: the residuals of the base model, summed by key and centred.
    of_residuals : Side
        Their leverages.
    kept : (L,) array of bool
        The keys that are permuted: all but the missing one.
    """

    moments: Moments
    key: str
    features: list[str]
    aim: TargetFunctions
    residuals: Array
    of_residuals: Side
    kept: Array

    @classmethod
    def of(cls, m: Moments, key: str, keys: set[str], aim: TargetFunctions) -> _Facts:
        features = [name for name in m.schema.features_beside(aim.columns) if name not in keys]
        if features:
            aside = identifiers(m, features) if len(features) > 1 else {}
            say_set_aside(m, aside)
            features = [name for name in features if m.schema[name].origin not in aside]
        moments = aim.read(near_zero(m.select([*features, *aim.columns, key]).as_categorical(key), [*aim.columns, key]))
        if features:
            layout = layout_of(moments, features)
            if not may_be_formed(layout):
                name, size = layout.widest
                raise DataError(
                    f"the base model has {layout.width:,} design columns, {size:,} of them levels of {name!r}; drop it, or "
                    "pool its rare levels, before tables are ranked"
                )
        by_key, aimed = layout_of(moments, [key]), layout_of(moments, aim.columns)
        sums = cross_scatter(moments, by_key, aimed, aim.map)
        if features:
            fitted = least_squares(regression_of(moments, features, aim)).coefficients
            sums = sums - cross_scatter(moments, by_key, layout_of(moments, features), fitted)
        kept = ~moments.labels[moments.coded_at[key]].values.is_null().to_numpy(zero_copy_only=False)
        centred = sums[kept] - sums[kept].mean(axis=0)
        residuals = centred @ root_of_inverse(centred.T @ centred)
        return cls(moments, key, features, aim, residuals, _side([residuals]), kept)

    def judged(self, attributes: Attributes, *, prefix: str) -> list[dict[str, Any]]:
        """Return the gain and the test of all columns of a table, then of each."""
        origins = list(dict.fromkeys(column.origin for column in attributes.schema))
        members = {name: [c.name for c in attributes.schema if c.origin == name] for name in origins}
        sizes = dict(zip(attributes.schema.coded, map(len, attributes.labels), strict=True))
        narrow = [name for name in origins if all(sizes.get(each, 1) <= WIDEST for each in members[name])]
        for name in (name for name in origins if name not in narrow):
            _LOG.info(f"{name} has more than {WIDEST:,} levels, so its gain is not measured; its test is")
        groups = [narrow, *([name] for name in narrow)]
        gains = self._gains(attributes.only([each for name in narrow for each in members[name]]), groups, members)
        designs = {name: _design(attributes, members[name], self.kept) for name in origins}
        whole = [design for name in narrow for design in designs[name]]
        rows: list[dict[str, Any]] = [
            {
                "column": None,
                "gain": gains[0] if narrow else None,
                "p_value": _p_value(whole, self.residuals, self.of_residuals),
            }
        ]
        for name in origins:
            gain = gains[1 + narrow.index(name)] if name in narrow else None
            test = _p_value(designs[name], self.residuals, self.of_residuals)
            rows.append({"column": name.removeprefix(prefix), "gain": gain, "p_value": test})
        rows[1:] = sorted(rows[1:], key=lambda row: -np.inf if row["gain"] is None else row["gain"], reverse=True)
        return rows

    def _gains(
        self, attributes: Attributes, groups: Sequence[Sequence[str]], members: Mapping[str, list[str]]
    ) -> list[float]:
        """Return the gain of each group of source columns over the base model."""
        if not len(attributes.schema):
            return [0.0] * len(groups)
        moments = near_zero(joined(self.moments, self.key, attributes), self.aim.columns)
        columns = [*self.features, *attributes.schema.names]
        whole = regression_of(moments, columns, self.aim)
        if not may_be_formed(whole.layout):
            raise DataError(
                f"a table adds {whole.width:,} design columns, too many for one model; attach fewer of its columns"
            )
        spans = dict(zip(whole.layout.columns, whole.layout.spans(), strict=True))
        at = {name: np.arange(span.start, span.stop) for name, span in spans.items()}
        base = np.concatenate([np.empty(0, np.intp), *(at[name] for name in self.features)])
        chosen = [np.concatenate([at[each] for name in group for each in members[name]]) for group in groups]

        def models(fitted: Regression) -> Iterator[Array]:
            by_ridge = [_bordered(fitted, base, chosen, ridge) for ridge in RIDGES]
            for models_of_one in zip(*by_ridge, strict=True):
                yield np.stack(models_of_one)

        scores, _ = held_out_scores(moments, columns, self.aim, whole, models)
        best = scores.reshape(-1, len(RIDGES)).max(axis=1)
        return (best[1:] - best[0]).tolist()


def _bordered(fitted: Regression, base: Array, groups: Sequence[Array], ridge: float) -> list[Array]:
    """Return the coefficients of the model of some design columns, and of each with one more group of columns.

    With A the base's own block and B its block with a group, the group enters by its Schur complement: A is factored once.
    Without a base the first model is the mean.
    """
    out = [np.zeros(fitted.cross.shape) for _ in range(1 + len(groups))]
    every = np.unique(np.concatenate([np.empty(0, np.intp), *groups]))
    place = np.zeros(fitted.width, dtype=np.intp)
    place[every] = np.arange(len(every))
    towards, own = np.zeros((0, len(every))), np.zeros((0, fitted.cross.shape[1]))
    if len(base):
        solved = scipy.linalg.solve(
            fitted.matrix[np.ix_(base, base)] + np.diag(ridge * fitted.unit[base]),
            np.hstack([fitted.matrix[np.ix_(base, every)], fitted.cross[base]]),
            assume_a="pos",
        )
        towards, own = solved[:, : len(every)], solved[:, len(every) :]
    out[0][base] = own
    for model, group in zip(out[1:], groups, strict=True):
        border, mine = fitted.matrix[np.ix_(base, group)], towards[:, place[group]]
        left = fitted.matrix[np.ix_(group, group)] + np.diag(ridge * fitted.unit[group]) - border.T @ mine
        model[group] = scipy.linalg.solve(left, fitted.cross[group] - border.T @ own, assume_a="pos")
        model[base] = own - mine @ model[group]
    return [fitted.centred(model) for model in out]


# The test over keys


def _design(attributes: Attributes, names: Sequence[str], kept: Array) -> list[sp.csr_array]:
    """Return the design columns of some columns by key: indicators of levels, numbers of mean 0 and spread 1."""
    out = []
    for name in names:
        if attributes.schema[name].form == "category":
            codes = attributes.codes[attributes.schema.coded.index(name)][kept]
            levels, codes = np.unique(codes, return_inverse=True)
            out.append(sp.csr_array((np.ones(len(codes)), (np.arange(len(codes)), codes)), (len(codes), len(levels))))
            continue
        if attributes.schema[name].form == "integer":
            k = attributes.schema.coded.index(name)
            values = attributes.labels[k].numbers[1][attributes.codes[k]][kept]
        else:
            values = attributes.values[kept, attributes.schema.numbers.index(name)]
        seen = ~np.isnan(values)
        centred = np.where(seen, values - (values[seen].mean() if seen.any() else 0.0), 0.0)
        spread = np.sqrt(np.square(centred).mean()) if len(centred) else 0.0
        out.append(sp.csr_array((centred / spread if spread > 0 else 0.0 * centred)[:, None]))
    return out


def _p_value(designs: Sequence[sp.csr_array], residuals: Array, of_residuals: Side) -> float:
    """Return the share of permutations of keys in which columns of a table go with the residuals at least as well."""
    n = len(residuals)
    if not designs or not residuals.shape[1] or n < 2:
        return 1.0
    design = designs[0]
    if len(designs) == 1 and design.shape[1] > 1:
        counts = np.asarray(design.sum(axis=0))
        explained = float((np.square(design.T @ residuals).sum(axis=1) / counts).sum())
        return null_law(n, of_category(counts).side, of_residuals).upper_tail((n - 1) * explained)
    design = sp.csr_array(sp.hstack(designs))
    mean = np.asarray(design.sum(axis=0)) / n
    gram = (design.T @ design).toarray() - n * np.outer(mean, mean)
    root = root_of_inverse(gram)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, n, BLOCK_ROWS)]

    def scores() -> Iterator[Array]:
        for block in blocks:
            yield design[block] @ root - mean @ root

    across = sum(some.T @ residuals[block] for some, block in zip(scores(), blocks, strict=True))
    return null_law(n, _side(scores()), of_residuals).upper_tail((n - 1) * float(np.square(across).sum()))


def _side(parts: Iterable[Array]) -> Side:
    """Return what the law needs of a side, given its orthonormal scores in blocks of rows."""
    squares = cubes = 0.0
    form: Any = 0.0
    tensor: Any = 0.0
    rank = 0
    for scores in parts:
        rank = scores.shape[1]
        leverages = np.square(scores).sum(axis=1)
        squares += float(leverages @ leverages)
        cubes += float((leverages * leverages) @ leverages)
        form = form + leverages @ scores
        if rank <= CUBIC_RANK:
            pairs = (scores[:, :, None] * scores[:, None, :]).reshape(len(scores), -1)
            tensor = tensor + pairs.T @ scores
    entries = float(np.square(tensor).sum()) if rank <= CUBIC_RANK else float("nan")
    return Side(float(rank), squares, cubes, entries, float(np.square(form).sum()))


__all__ = ["rank_tables"]
