"""The fit of an additive model: main effects, the ranking of pairs, crosses; in how many passes.

1. The first pass counts all columns and bins; for least squares it keeps its folds, and their moments are the main effects,
   with and without each fold, for every ridge. Of classes the ridge is chosen on a sample of the rows, and one or two Newton
   steps over all rows follow.
2. Residuals of fold-wise fits rank all pairs of columns (`gramian.linear.regression.interaction`) in one pass; pairs that pass
   the test are candidates.
3. One pass with all candidates among the columns gives the Newton step of each number of crosses and each ridge of their cells
   without each fold. Left-out deviances choose: for least squares those of the fold moments, of classes those of the rows, in
   a pass that counts nothing. A fold is judged with the crosses that the other folds rank first.
4. The chosen columns are fitted jointly. For least squares they are a block of the moments of step 3; of classes one or two
   Newton steps from there.

Three passes for numbers, about seven for classes, however many of them.

*Cells.* A number is crossed by `CROSS_BINS` quantile bins, a category by its `SIDE_LEVELS` most frequent levels. Cells of
fewer than 20 rows, and those of other levels, share one level without a coefficient: the row is predicted from its two columns.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.design.bins import LEAST_ROWS, Bins, quantile_bins
from gramian.design.crosses import cell_label, side_texts
from gramian.design.schema import Column, Cross, Labels, names_of_design
from gramian.engines.fold_passes import FitRows, Pairs, cell_sums, expansions, left_out
from gramian.engines.weighted import Reader
from gramian.linear.regression.expansion import Expansion, total, without
from gramian.linear.regression.glm import Family
from gramian.linear.regression.interaction import CLEAR, NOTHING, PairTest, adjusted, interaction
from gramian.maps.projection import Design, Projection

_LOG = logging.getLogger("gramian")

RIDGES = (256.0, 64.0, 16.0, 4.0, 1.0, 0.25)
"""Ridges of the levels of categories to choose from, in rows."""

LINE_RIDGE = 1.0
"""That of the slope of a number, at most: bins shrink to a line, and the line hardly."""

BIN_FACTOR = 8.0
"""That of bins, in ridges of categories: neighbours among 32 bins are alike, levels of a category need not be."""

CROSS_RIDGES = (64.0, 16.0, 4.0, 1.0)
"""Those of cells."""

NUMBERS = (0, 5, 10, 20, 50)
"""Numbers of crosses to choose from."""

CROSS_BINS = 8
SIDE_LEVELS = 31

MOST_SIDES = 100
"""Columns whose pairs are looked at: those with the largest effects."""

MOST_COLUMNS = 2500
"""Design columns of a fit at most: their products are a matrix."""

LEVEL = 0.05
"""False discovery rate of the crosses that are candidates."""

MOST_STEPS, HALVINGS = 15, 20
END = 0.01
"""Squared length of the last Newton step per coefficient, in standard errors: they are then right to about its square."""

ROUGH = 0.01
"""Mean squared change of a predictor after which main effects are near enough for residuals to be looked at.

What is left of main effects after such a step is its square, 1e-4, and belongs to columns: the test of pairs takes it out.
"""


def projection_of(design: Design, thetas: Sequence[Array]) -> Projection:
    """Return the map from rows to one predictor per vector of coefficients, intercepts first."""
    return Projection(
        design, np.column_stack([theta[1:] for theta in thetas]), np.array([theta[0] for theta in thetas])
    )


@dataclass(eq=False)
class Fit:
    """A fit so far.

    Attributes
    ----------
    rows : FitRows
    reader : Reader
        Whose design has the columns of the fit.
    family : Family
    events : list of int or None
        One predictor per class, against all others; None for numbers.
    curvatures : list of float
        Mean curvature of a row, per predictor.
    unit : (p,) array
        What a ridge of one row adds per design column: 1 for a level, the variance for a number.
    ridge, cross_ridge : float
        In rows.
    thetas : list of arrays
        Coefficients, the intercept first.
    expansions : list of lists of Expansion
        Per predictor, by fold, about `about`.
    about : list of arrays
    cells : dict of (cells,) arrays
        By cross, the weight of the rows in each cell with a coefficient.
    keeps_folds : bool
        Whether passes keep folds; where nothing is left to choose they are one.
    """

    rows: FitRows
    reader: Reader
    family: Family
    events: list[int | None]
    curvatures: list[float]
    unit: Array
    ridge: float
    cross_ridge: float = CROSS_RIDGES[1]
    thetas: list[Array] = field(default_factory=list)
    expansions: list[list[Expansion]] = field(default_factory=list)
    about: list[Array] = field(default_factory=list)
    cells: dict[str, Array] = field(default_factory=dict)
    keeps_folds: bool = True

    @property
    def design(self) -> Design:
        """What is read of a row."""
        return self.reader.design

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.design.columns]

    def free(self, crosses: Sequence[str] | None = None) -> npt.NDArray[np.intp]:
        """Return the places of coefficients, the intercept first: all but those of other crosses, and of pooled cells."""
        at = np.ones(1 + len(self.design.mean), dtype=bool)
        for column, labels in zip(self.design.categorical, self.design.labels, strict=True):
            if isinstance(column.part, Cross):
                span = self.design.spans[column.name]
                at[1 + span.start : 1 + span.stop] = crosses is None or column.name in crosses
                if labels.rare:
                    at[span.stop] = False
        return np.flatnonzero(at)

    def penalty(self, k: int, ridge: float | None = None, cross_ridge: float | None = None) -> Array:
        """Return the diagonal of P for the k-th predictor."""
        out = np.append(0.0, self.unit) * (self.ridge if ridge is None else ridge)
        lines = 1 + self.design.number_places
        out[lines] = np.minimum(out[lines], self.unit[lines - 1] * LINE_RIDGE)
        for column in self.design.columns:
            span = self.design.spans[column.name]
            if isinstance(column.part, Bins):
                out[1 + span.start : 1 + span.stop] *= BIN_FACTOR
            if isinstance(column.part, Cross):
                out[1 + span.start : 1 + span.stop] = self.cross_ridge if cross_ridge is None else cross_ridge
        return out * self.curvatures[k]

    def expand(self, thetas: Sequence[Array], which: Sequence[int] | None = None) -> None:
        """Make a pass about some predictors, by default all."""
        at = {k: projection_of(self.design, [thetas[k]]) for k in (range(len(thetas)) if which is None else which)}
        found = expansions(self.rows, self.reader, self.columns, self.family, at, self.events, by_fold=self.keeps_folds)
        self.about = [thetas[k] if k in found else self.about[k] for k in range(len(thetas))]
        self.expansions = [found[k] if k in found else self.expansions[k] for k in range(len(thetas))]

    def solve(self, rough: float = 0.0) -> None:
        """Set `thetas` to the optimum, by Newton steps from the expansions, or from where the coefficients are.

        Parameters
        ----------
        rough : float
            Mean squared change of a predictor's rows at which its steps may end, whatever that is in standard errors.
        """
        before: dict[int, tuple[Array, float]] = {}
        self.thetas = list(self.thetas)
        if self.expansions:
            self.thetas = self.stepped()
            before = {k: (theta, self._objective(k)) for k, theta in enumerate(self.about)}
        elif self.family.name == "gaussian":
            self.expand(self.thetas)
            self.thetas = self.stepped()
        if self.family.name == "gaussian":
            return
        free, waiting, halved = self.free(), list(range(len(self.events))), [0] * len(self.events)
        for _ in range(MOST_STEPS):
            self.expand(self.thetas, waiting)
            for k in tuple(waiting):
                whole, theta, objective = total(self.expansions[k]), self.about[k], self._objective(k)
                worse = k in before and not objective <= before[k][1] + 1e-9 * abs(before[k][1])
                if worse and halved[k] < HALVINGS:
                    self.thetas[k], halved[k] = (theta + before[k][0]) / 2, halved[k] + 1
                    continue
                penalty = self.penalty(k)
                self.thetas[k] = whole.step(theta, penalty, free)
                before[k], halved[k] = (theta, objective), 0
                decrement = float((self.thetas[k] - theta) @ (whole.slope - penalty * theta))
                _LOG.debug(f"predictor {k}: deviance {whole.deviance:.10g}, squared step {decrement:.3g}")
                if decrement <= max(END * len(free), rough * whole.weight):
                    waiting.remove(k)
            if not waiting:
                return

    def _objective(self, k: int) -> float:
        """Return deviance and penalty of the k-th predictor where its expansion is."""
        return total(self.expansions[k]).objective(self.about[k], self.penalty(k))

    def stepped(self) -> list[Array]:
        """Return the coefficients one Newton step from where the expansions are."""
        free = self.free()
        return [total(self.expansions[k]).step(self.about[k], self.penalty(k), free) for k in range(len(self.about))]

    def deviances(self) -> list[float]:
        """Return the deviance of each predictor."""
        each = zip(self.expansions, self.about, self.thetas, strict=True)
        return [total(parts).deviance_at(theta - about) for parts, about, theta in each]

    def fold_models(self, k: int, ridges: Sequence[float] | None = None) -> list[list[Array]]:
        """Return the coefficients of the k-th predictor without each fold, for each ridge."""
        free = self.free()
        penalties = [self.penalty(k, ridge) for ridge in ridges or [self.ridge]]
        rests = (without(self.expansions[k], fold) for fold in range(self.rows.n_folds))
        return [[rest.step(self.about[k], penalty, free) for penalty in penalties] for rest in rests]

    def losses(self, models: Sequence[Sequence[Sequence[Array]]]) -> Array:
        """Return the left-out deviance of each of several models, whose coefficients are given per predictor and fold.

        Of least squares they are read off the expansions; otherwise a pass looks at the rows.
        """
        if self.family.name == "gaussian":
            ((about, parts),) = zip(self.about, self.expansions, strict=True)
            each = [
                [part.deviance_at(theta - about) for theta in some] for part, some in zip(parts, models[0], strict=True)
            ]
            return np.sum(each, axis=0)
        maps = [[projection_of(self.design, some) for some in by_fold] for by_fold in models]
        return left_out(self.rows, self.reader, self.family, maps, self.events)

    def first(self, count: int) -> Fit:
        """Return the fit with the first so many columns, from the same passes."""
        columns = self.design.columns[:count]
        labels = self.design.labels[: sum(column.form == "category" for column in columns)]
        width = self.design.spans[columns[-1].name].stop
        design = Design(columns, labels, self.design.mean[:width], self.design.names[:width], self.design.offsets)
        return replace(
            self,
            reader=replace(self.reader, design=design),
            unit=self.unit[:width],
            thetas=[theta[: 1 + width] for theta in self.thetas],
            about=[theta[: 1 + width] for theta in self.about],
            expansions=[[part.first(1 + width) for part in parts] for parts in self.expansions],
        )


def fit_main(fit: Fit, *, choose: bool, rough: float = 0.0) -> None:
    """Fit main effects, and choose their ridge by left-out folds.

    Least squares without a fold are exact from any expansion. Of classes a step says less the longer it is, and where
    columns nearly tell the classes apart it is long: so each ridge, the largest first, is judged at its own optimum, until
    a smaller one predicts worse. All that is done on a sample of the rows: a ridge is a statement on the sizes of effects, and
    is the same for more rows. The optimum of the sample is where the steps over all rows begin.
    """
    if fit.family.name == "gaussian":
        fit.solve()
        if choose:
            fit.ridge = RIDGES[int(np.argmin(fit.losses([fit.fold_models(0, RIDGES)])))]
            fit.thetas = fit.stepped()
        return
    few = replace(fit, rows=fit.rows.sampled)
    best: tuple[float, Fit] | None = None
    for ridge in RIDGES if choose else (fit.ridge,):
        few.ridge = ridge
        few.solve()
        loss = float(few.losses([few.fold_models(k) for k in range(len(few.events))])[0]) if choose else 0.0
        if best is not None and loss > best[0]:
            break
        best = loss, replace(few)
    assert best is not None
    kept = best[1]
    fit.ridge, fit.thetas = kept.ridge, kept.thetas
    if fit.rows.is_sampled:
        fit.solve(rough)
    else:
        fit.about, fit.expansions = kept.about, kept.expansions


@dataclass(frozen=True, eq=False)
class Ranking:
    """Pairs of source columns with their tests.

    Attributes
    ----------
    sides : dict of (Column, Labels)
        Of each source column: what it is as the side of a cross.
    pairs : list of pairs of str
        Source columns, in the order of the table.
    tests : list of PairTest
        On all rows.
    by_fold : list of lists of PairTest
        On all rows but those of a fold.
    rows, weights : list of arrays
        Of each cell.
    """

    sides: Mapping[str, tuple[Column, Labels]]
    pairs: list[tuple[str, str]]
    tests: list[PairTest]
    by_fold: list[list[PairTest]]
    rows: list[Array]
    weights: list[Array]

    def best(self, tests: Sequence[PairTest], most: int, level: float) -> list[int]:
        """Return the pairs with the largest gains among those that are discoveries."""
        rates = adjusted(np.array([test.p_value for test in tests])) if tests else np.empty(0)
        found = [k for k, test in enumerate(tests) if test.gain > 0 and rates[k] <= level]
        return sorted(found, key=lambda k: -tests[k].gain)[:most]


def sides_of(fit: Fit) -> dict[str, tuple[Column, Labels]]:
    """Return each source column of a design as the side of a cross, by name; dates by their parts."""
    design = fit.design
    plain = [c for c in design.columns if not c.crossed and not isinstance(c.part, Bins)]
    names = [c.name for c in plain if c.form != "category"]
    sample = fit.rows.sample(fit.reader, names) if names else {}
    known = dict(zip((c.name for c in design.categorical), design.labels, strict=True))
    out = {}
    for column in plain:
        if column.form == "category":
            labels = known[column.name]
            shares = design.mean[design.spans[column.name]][: len(labels.values)]
            few = np.argsort(-shares, kind="stable")[SIDE_LEVELS:]
            swallow = np.zeros(len(labels), dtype=bool)
            swallow[few] = True
            side = column._replace(target=False, named=False)
            out[column.name] = side, labels.pool(swallow)[0] if len(few) else labels
            continue
        bins = quantile_bins(sample[column.name], CROSS_BINS, least=2)
        if bins is not None:
            side = Column(f"{column.name} (bins of crosses)", "category", column.origin, bins)
            out[column.name] = side, Labels(pa.array([*bins.names, None], pa.large_string()))
    return out


def rank(fit: Fit, pairs: Sequence[tuple[str, str]] | None = None) -> Ranking:
    """Return the tests of all pairs of columns on residuals of fold-wise fits, from one pass per predictor."""
    sides = sides_of(fit)
    if pairs is None:
        names = _largest(fit, list(sides))
        pairs = [
            (a, b) for k, a in enumerate(names) for b in names[k + 1 :] if sides[a][0].origin != sides[b][0].origin
        ]
    design = fit.design
    labels = dict(zip((c.name for c in design.categorical), design.labels, strict=True))
    # A side with pooled levels stands beside the column itself under another name.
    pooled = [
        Column(f"{column.name} (levels of crosses)", "category", column.name) if column.name in labels else column
        for column, _ in sides.values()
    ]
    reader = replace(
        fit.reader, design=_extended(design, list(zip(pooled, [each for _, each in sides.values()], strict=True)))
    )
    at = {name: column.name for name, column in zip(sides, pooled, strict=True)}
    table = Pairs.of(reader.design, [(at[a], at[b]) for a, b in pairs])
    tests: list[list[PairTest]] = [[] for _ in range(1 + fit.rows.n_folds)]
    if not pairs:
        return Ranking(sides, [], [], tests[1:], [], [])
    models = [
        [_widened(projection_of(fit.design, each), reader.design) for each in fit.fold_models(k)]
        for k in range(len(fit.events))
    ]
    sums, powers = cell_sums(fit.rows, reader, table, fit.family, models, fit.events, fit.curvatures)
    n_by_fold = [table.cells(part, 0)[..., 0].sum() for part in sums[0]]
    whole = sums[0].sum(axis=0)
    rows, weights = ([table.cells(whole, j)[..., at] for j in range(len(pairs))] for at in (0, 3))
    with one_blas_thread():
        _tested(tests, table, sums, powers, n_by_fold)
    return Ranking(sides, list(pairs), tests[0], tests[1:], rows, weights)


def _tested(
    tests: list[list[PairTest]], table: Pairs, sums: list[Array], powers: list[Array], n_by_fold: list[float]
) -> None:
    """Append the test of each pair, on all rows and without each fold."""
    n_folds = len(n_by_fold)
    for without_fold in range(-1, n_folds):
        kept = [fold for fold in range(n_folds) if fold != without_fold]
        n_rows = float(sum(n_by_fold[fold] for fold in kept))
        cells = [each[kept].sum(axis=0) for each in sums]
        whole = [each[kept].sum(axis=0) for each in powers]
        # Parts of the rows are asked about the pairs of which all rows say something.
        order = sorted(range(len(tests[0])), key=lambda j: -tests[0][j].gain)
        asked = {j for j in order[: 4 * max(NUMBERS)] if tests[0][j].p_value <= CLEAR}
        for j in range(len(table.names)):
            each = (
                []
                if without_fold >= 0 and j not in asked
                else [interaction(table.cells(c, j), w, n_rows) for c, w in zip(cells, whole, strict=True)]
            )
            tests[without_fold + 1].append(_together(each))


def _together(tests: Sequence[PairTest]) -> PairTest:
    """Return one test for the predictors of several classes: the sum of the gains, and the least p-value times their number."""
    if len(tests) < 2:
        return tests[0] if tests else NOTHING
    return PairTest(
        sum(test.statistic for test in tests),
        sum(test.df for test in tests),
        min(1.0, len(tests) * min(test.p_value for test in tests)),
        sum(test.gain for test in tests) / len(tests),
        max(test.n_cells for test in tests),
    )


def _largest(fit: Fit, names: list[str]) -> list[str]:
    """Return the columns with the largest effects, in their order; all where they are few."""
    if len(names) <= MOST_SIDES:
        return names
    spread = dict.fromkeys(names, 0.0)
    for theta, parts in zip(fit.thetas, fit.expansions, strict=True):
        whole = total(parts)
        variance = whole.gram.diagonal()[1:] / max(whole.weight, 1e-300)
        for column in fit.design.columns:
            span = fit.design.spans[column.name]
            owner = column.name if column.name in spread else column.origin
            if owner in spread:
                spread[owner] += float(variance[span] @ np.square(theta[1:][span]))
    kept = set(sorted(names, key=lambda name: -spread[name])[:MOST_SIDES])
    _LOG.info(f"of {len(names):,} columns, pairs of the {MOST_SIDES} with the largest effects are looked at")
    return [name for name in names if name in kept]


def _extended(design: Design, more: Sequence[tuple[Column, Labels]]) -> Design:
    """Return a design with more categories after its columns, taken off nothing: their means are 0."""
    columns = (*design.columns, *(column for column, _ in more))
    labels = (*design.labels, *(each for _, each in more))
    mean = np.concatenate([design.mean, np.zeros(sum(len(each) for _, each in more))])
    return Design(columns, labels, mean, tuple(names_of_design(columns, labels)), design.offsets)


def _widened(model: Projection, design: Design) -> Projection:
    """Return a model over a design with more columns, which have no weight."""
    more = np.zeros((len(design.mean) - len(model.weights), model.n_features))
    return Projection(design, np.vstack([model.weights, more]), model.offset)


def with_crosses(fit: Fit, ranking: Ranking, chosen: Sequence[int]) -> Fit:
    """Return a fit with some pairs among the columns, from a pass at the coefficients of the fit without them."""
    made = []
    cells = dict(fit.cells)
    for j in chosen:
        a, b = ranking.pairs[j]
        (left, of_left), (right, of_right) = ranking.sides[a], ranking.sides[b]
        texts = [side_texts(labels.values) for labels in (of_left, of_right)]
        some = slice(len(texts[0])), slice(len(texts[1]))
        kept = ranking.rows[j][some] >= LEAST_ROWS
        labels = Labels(
            pa.array([cell_label(texts[0][u], texts[1][v]) for u, v in np.argwhere(kept)], pa.large_string()), rare=True
        )
        made.append((Column(f"{a} & {b}", "category", left.origin, Cross(left, right)), labels))
        cells[made[-1][0].name] = ranking.weights[j][some][kept]
    design = _extended(fit.design, made)
    n_more = len(design.mean) - len(fit.design.mean)
    thetas = [np.append(theta, np.zeros(n_more)) for theta in fit.thetas]
    out = replace(
        fit, reader=replace(fit.reader, design=design), unit=np.append(fit.unit, np.ones(n_more)), cells=cells
    )
    out.expand(thetas)
    return out


def within_columns(fit: Fit, ranking: Ranking, order: Sequence[int]) -> list[int]:
    """Return the first pairs in an order, as many as `MOST_COLUMNS` allow."""
    left = MOST_COLUMNS - len(fit.design.mean)
    out: list[int] = []
    for j in order:
        left -= 1 + int((ranking.rows[j] >= LEAST_ROWS).sum())
        if left < 0:
            _LOG.info(f"the best {len(out)} of {len(order)} crosses fit into {MOST_COLUMNS:,} design columns")
            break
        out.append(j)
    return out


def choose_crosses(fit: Fit, ranking: Ranking, numbers: Sequence[int] = NUMBERS) -> tuple[list[int], Fit]:
    """Return the pairs that left-out folds choose, best first, and a fit that has them among its columns."""
    best = within_columns(fit, ranking, ranking.best(ranking.tests, max(numbers), LEVEL))
    if not best:
        return [], fit
    lists = [ranking.best(tests, max(numbers), LEVEL) for tests in ranking.by_fold]
    others = dict.fromkeys(j for each in lists for j in each if j not in best)
    candidates = within_columns(fit, ranking, [*best, *others])
    wide = with_crosses(fit, ranking, candidates)
    names = {j: f"{ranking.pairs[j][0]} & {ranking.pairs[j][1]}" for j in candidates}
    # A number that the list is too short for repeats the one before.
    sizes = [0, *(k for before, k in zip((0, *numbers), numbers, strict=False) if k and before < len(best))]
    ridges = CROSS_RIDGES
    models = [(size, ridge) for ridge in ridges for size in sizes]
    thetas = []
    for k in range(len(fit.events)):
        by_fold: list[list[Array]] = []
        for fold, each in enumerate(lists):
            order = [names[j] for j in each if j in names]
            # Main effects first, then the crosses as this fold ranks them: each size is a leading block.
            blocks = [wide.free([]), *(np.setdiff1d(wide.free([name]), wide.free([])) for name in order)]
            ends = np.cumsum([len(block) for block in blocks])
            counts = [int(ends[min(size, len(order))]) for size in sizes]
            rest, at = without(wide.expansions[k], fold), np.concatenate(blocks)
            by_fold.append(
                [
                    theta
                    for ridge in ridges
                    for theta in rest.steps(wide.about[k], wide.penalty(k, None, ridge), at, counts)
                ]
            )
        thetas.append(by_fold)
    losses = wide.losses(thetas)
    size, ridge = models[int(losses.argmin())]
    table = [(*model, round(float(loss), 1)) for model, loss in zip(models, losses, strict=True)]
    _LOG.debug(f"left-out deviance by number of crosses and ridge: {table}")
    chosen = wide.first(len(fit.columns) + len(best[:size])) if size else fit
    chosen.cross_ridge = ridge
    return best[:size], chosen
