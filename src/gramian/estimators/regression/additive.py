"""`AdditiveClassifier`, `AdditiveRegressor`: one function per column, and crosses of pairs that a test finds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array, exact_array
from gramian.design.bins import Bins
from gramian.design.crosses import check_crosses
from gramian.design.encoder import Encoder
from gramian.design.schema import Schema
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached
from gramian.engines.fold_passes import SAMPLE, FitRows, SamplingEncoder
from gramian.engines.weighted import Reader
from gramian.errors import Argument, DataError, PythonOnly, unknown_column
from gramian.estimators.plots.drawings import PlotsTerms
from gramian.estimators.regression.additive_fit import (
    MOST_COLUMNS,
    NUMBERS,
    RIDGES,
    ROUGH,
    Fit,
    choose_crosses,
    fit_main,
    projection_of,
    rank,
    with_crosses,
    within_columns,
)
from gramian.estimators.regression.ridge import as_numbers
from gramian.estimators.regression.terms import described
from gramian.estimators.spine.estimator import Classifier
from gramian.estimators.spine.fields import Fields, array, classes, decisions, projection, table
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import FromMoments
from gramian.estimators.spine.training import Training
from gramian.linear.regression.expansion import Expansion
from gramian.linear.regression.glm import Family
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of
from gramian.maps.formula import Apply, Formula, classified
from gramian.maps.projection import Design
from gramian.moments.algebra.folds import folds_of
from gramian.moments.value import Moments
from gramian.parameters import Kind, declared, number, whole
from gramian.tables.base import innermost
from gramian.tables.returned import table as output_table

_LOG = logging.getLogger("gramian")

BINS = 32
"""Bins of each number."""

FOLDS = 5

PAIRS = Kind("pairs of names", lambda value: isinstance(value, list | tuple))
BINNED = Kind("bins by column", lambda value: isinstance(value, Mapping))


class AdditiveModel(PlotsTerms, FromMoments):
    """What the additive classifier and regressor share.

    Attributes
    ----------
    projection_ : Projection
        From rows to the predictors.
    """

    _fields: ClassVar[Fields] = {
        "projection_": projection("p", "k"),
        "crosses_": [tuple],
        "alpha_": float,
        "cross_alpha_": float,
        "n_iter_": int,
        "deviance_": float,
        "intercept_": array("k", finite=True),
        "_terms": table("term", "kind", "levels", "importance", worded=("term", "kind")),
        "_term_of": array("p", dtype="i8", least=0),
        "_sides": array("p", 2, dtype="i8", least=-1),
        "_moved": array("p", None, finite=True),
        "_effects": table("term", "level", "rows", "effect", "std_error", worded=("term", "level", "class")),
    }

    takes_moments = False
    _takes_target = True
    _needs_target = True

    _parameters = declared(
        bins=(None, "auto", whole(2, 1000), BINNED),
        crosses=("auto", whole(0, 1000), PAIRS),
        alpha=("cv", number(above=0, words="a number of rows")),
    )

    def __init__(
        self, bins: Any = "auto", crosses: Any = "auto", alpha: Any = "cv", *, categorical_features: Any = "from_dtype"
    ) -> None:
        self.bins = bins
        self.crosses = crosses
        self.alpha = alpha
        self.categorical_features = categorical_features

    def _check_together(self) -> None:
        if isinstance(self.crosses, list | tuple):
            check_crosses(self.crosses)

    # What a subclass says

    _said_passes: ClassVar[str]

    @property
    def _family(self) -> Family:
        raise NotImplementedError

    def _read_target(self, moments: Moments) -> tuple[Moments, list[int | None], Array]:
        """Return the moments with the target as it is read, which class each predictor is of, and the means of these."""
        raise NotImplementedError

    # Reading

    def _pass(self, training: Training, options: CollectOptions) -> Moments:
        if innermost(training.table).home != "local":
            raise DataError(
                f"{type(self).__name__} reads rows several times in this process, and {training.table.describe} lies in "
                "partitions elsewhere; write it to Parquet files and pass their path"
            )
        found: list[SamplingEncoder] = []

        def keep(inner: Encoder) -> SamplingEncoder:
            found.append(SamplingEncoder(inner))
            return found[-1]

        _LOG.info(f"{type(self).__name__}: {self._said_passes}; rows that are not kept are read again")
        wanted = BINS if self.bins == "auto" else self.bins
        moments = collect_attached(training.table, training.attached, replace(options, bins=wanted), keep)
        families = {name: labels.family for name, labels in zip(moments.coded, moments.labels, strict=True)}
        known = {name: family for name, family in families.items() if moments.schema[name].part is None}

        def fresh() -> Encoder:
            return training.encoder(Schema(moments.schema.columns), options.folds, families=known)

        self._rows = FitRows(training.table, fresh, FOLDS, found[0], training.every_weight, n_passes=1)
        return moments

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        raise DataError(
            f"{type(self).__name__} reads the rows several times, and Moments have none; pass rows or files"
        )

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        try:
            super()._learn(X, y, sample_weight)
        finally:
            # The rows of the fit are not part of the model.
            self.__dict__.pop("_rows", None)

    # Solving

    def _solve(self) -> None:
        moments = self._pooled(self._moments)
        moments, events, means = self._read_target(moments)
        target = self._targets[0]
        aim = aim_of(moments, [target], target_type="continuous" if events == [None] else "multiclass")
        problem = regression_of(moments, self._features, aim)
        fit = _started(self, self._rows, moments, events, means, problem.unit)
        if moments.folds:
            parts = [regression_of(part, self._features, aim, in_rows=False) for part in folds_of(moments).parts()]
            centre = np.nan_to_num(fit.design.mean)
            fit.about = list(fit.thetas)
            fit.expansions = [[Expansion.of(part, centre, float(problem.aim_mean[0])) for part in parts]]
        chosen = self.alpha == "cv"
        if not chosen:
            fit.ridge = float(self.alpha)
        fit_main(fit, choose=chosen, rough=0.0 if self.crosses == 0 else ROUGH)
        fit = self._crossed(fit)
        self.alpha_, self.cross_alpha_ = fit.ridge, fit.cross_ridge
        self.n_iter_ = self._rows.n_passes
        self.design_names_ = list(fit.design.names)
        self.projection_ = projection_of(fit.design, fit.thetas)
        self.intercept_ = self.projection_.offset
        self.deviance_ = float(sum(fit.deviances()))
        several = [str(label) for label in self.classes_] if len(fit.thetas) > 1 else []
        found = described(fit, problem, several)
        self._terms, self._effects = found.terms, found.effects
        self._term_of, self._sides, self._moved = found.term_of, found.sides, found.moved
        _LOG.info(
            f"{type(self).__name__}: {self.n_iter_} passes, {len(self.crosses_)} crosses, ridge {fit.ridge:g} rows"
        )

    def _pooled(self, moments: Moments) -> Moments:
        """Return the moments with as many levels per column as the products of all columns have room for."""
        sizes = np.array([len(labels) for labels in moments.labels])
        if sizes.sum() <= MOST_COLUMNS - 500:
            return moments
        most = max(k for k in range(2, 2001) if k == 2 or np.minimum(sizes, k).sum() <= MOST_COLUMNS - 500)
        _LOG.info(f"categories keep their {most - 1:,} most frequent levels, the others are one level (rare)")
        return moments.pool(max_levels=most)

    def _crossed(self, fit: Fit) -> Fit:
        """Return the joint fit with the crosses that are asked for."""
        self.crosses_: list[tuple[str, str]] = []
        if isinstance(self.crosses, list | tuple):
            pairs = [self._pair(tuple(pair), fit.design) for pair in self.crosses]
            if not pairs:
                return fit
            ranking = rank(fit, pairs)
            picked = list(range(len(pairs)))
            if len(within_columns(fit, ranking, picked)) < len(picked):
                raise DataError(
                    f"the cells of {len(picked)} crosses are too many for one fit; name fewer pairs in ",
                    Argument("crosses"),
                )
        elif self.crosses == 0:
            return fit
        else:
            ranking = rank(fit)
            if self.crosses == "auto":
                picked, fit = choose_crosses(fit, ranking, NUMBERS)
            else:
                picked = within_columns(fit, ranking, ranking.best(ranking.tests, int(self.crosses), 1.0))
        self.crosses_ = [ranking.pairs[j] for j in picked]
        # Nothing is left to choose.
        fit = replace(fit, keeps_folds=False)
        if picked and self.crosses != "auto":
            fit = with_crosses(fit, ranking, picked)
        if picked or self._rows.is_sampled:
            fit.solve()
        return fit

    def _pair(self, pair: tuple[str, ...], design: Design) -> tuple[str, str]:
        plain = {c.name: c for c in design.columns if not isinstance(c.part, Bins)}
        for name in pair:
            if name not in plain:
                raise unknown_column(name, list(plain), where="the features")
        if plain[pair[0]].origin == plain[pair[1]].origin:
            raise DataError(f"a cross of column {pair[0]!r} with itself has no cells of its own; name two columns")
        return pair[0], pair[1]

    def _by_term(self, k: int) -> Array:
        """Return the weights of the k-th predictor, one column per term, then what of its cells is moved to the intercept."""
        weights = self.projection_.weights[:, k]
        out = np.zeros((len(weights), int(self._term_of.max()) + 2))
        moved = self._moved[:, 3 * k : 3 * k + 3]
        at = np.arange(len(weights))
        out[:, -1] = moved[:, 2]
        out[at, self._term_of] = weights - moved.sum(axis=1)
        for j in (0, 1):
            some = self._sides[:, j] >= 0
            out[at[some], self._sides[some, j]] += moved[some, j]
        return out

    # Using

    def _linear(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.projection_.apply(self.design_.rows(open_rows(self, X, self.design_, method="predict")))

    @property
    def terms_(self) -> Any:
        """A table of the terms: kind, number of levels, and importance, the root mean square of the contributions."""
        check_is_fitted(self)
        return output_table(self._terms, library=self._frames)

    def explain_global(self) -> Any:
        """Return the effect of each level of each term on the predictor, with 95% intervals.

        Returns
        -------
        table
            `term, level, rows, effect, std_error, lower, upper`, and `class` for several classes. Effects of a column are
            relative to the mean over its rows. Those of a cross are what is left of its cells beyond a function of either
            column; these functions are in the effects of the columns. The effect of a bin has the number's own slope in it.
            Intervals are those of the penalised fit, and do not know that crosses were chosen.
        """
        check_is_fitted(self)
        effect, error = (np.asarray(self._effects[name]) for name in ("effect", "std_error"))
        columns = {**self._effects, "lower": effect - 1.96 * error, "upper": effect + 1.96 * error}
        return output_table(columns, library=self._frames)

    def explain(self, X: Any) -> Any:
        """Return the contribution of each term to the predictor of each row.

        Parameters
        ----------
        X : rows in memory

        Returns
        -------
        table
            One row per row of X, for several classes and each of them; a column `(intercept)` and one per term. They add up to
            `decision_function`, of a regressor to `predict`. The mean of a cross is part of the intercept of the rows in its
            cells.
        """
        check_is_fitted(self)
        design = self.design_
        parts = list(design.rows(open_rows(self, X, design, method="explain")))
        several = self.projection_.n_features > 1
        found = []
        for k in range(self.projection_.n_features):
            weights = self._by_term(k)
            split = replace(self.projection_, weights=weights, offset=np.zeros(weights.shape[1]))
            found.append(np.vstack([split.apply_rows(rows) for rows in parts]))
        # Rows first, and within each the classes.
        values = np.stack(found, axis=1).reshape(-1, found[0].shape[1])
        n_rows = len(found[0])
        columns: dict[str, Any] = {}
        if several:
            columns["row"] = np.repeat(np.arange(n_rows), len(found))
            columns["class"] = [str(label) for label in self.classes_] * n_rows
        columns["(intercept)"] = np.tile(self.intercept_, n_rows) + values[:, -1]
        columns |= {name: values[:, j] for j, name in enumerate(self._terms["term"])}
        return output_table(columns, library=self._frames)

    def column_importance(self) -> Any:
        """Return a table of terms by the root mean square of their contributions, largest first."""
        check_is_fitted(self)
        order = np.argsort(-np.asarray(self._terms["importance"]), kind="stable")
        columns = {name: [self._terms[name][j] for j in order] for name in ("term", "importance")}
        return output_table(columns, library=self._frames)


def _started(model: Any, rows: FitRows, moments: Moments, events: Any, means: Array, unit: Array) -> Fit:
    """Return a fit that has made no step yet."""
    design = Design.of(moments, model._features)
    family = model._family
    labels = None if events == [None] else model.classes_.tolist()
    fill = np.nan_to_num(design.mean[design.number_places])
    reader = Reader(design, fill, model._targets[0], labels, family.least, family.name)
    if family.name == "gaussian":
        curvatures, intercepts = [1.0], means
    else:
        curvatures = [float(max(p * (1 - p), 1e-6)) for p in means]
        intercepts = np.log(means / (1 - means))
    thetas = [np.append(start, np.zeros(len(design.mean))) for start in intercepts]
    return Fit(rows, reader, family, list(events), curvatures, unit, RIDGES[1], thetas=thetas)


class AdditiveRegressor(RegressorMixin, AdditiveModel):
    """One function per column and per chosen cross, added up: as readable as a table, near the quality of boosted trees.

    Numbers are read in bins beside their own slope. Pairs of columns are ranked on residuals of fold-wise fits by a test that
    keeps its word, and left-out folds choose how many of them, and how much their cells shrink. The fit takes three passes,
    over rows or files of any size: moments with bins, the cells of all pairs, and the moments with the best crosses.

    Parameters
    ----------
    bins : "auto", int, dict or None
        Bins of each number: 32, so many, or by column, as in `gramian.collect`. None: straight lines alone.
    crosses : "auto", int or list of pairs
        Which pairs of columns have a function of their own: those of the test, in the number that left-out folds choose; so
        many of the best ranked; or these.
    alpha : "cv" or float
        Ridge of the main effects in rows: a level of n rows shrinks by n / (n + alpha), a bin by n / (n + 8 alpha).
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    crosses_ : list of (str, str)
        Pairs with a function of their own, best first.
    terms_ : table
        `term, kind, levels, importance`.
    alpha_, cross_alpha_ : float
        Ridges in rows, of main effects and of cells.
    intercept_ : (1,) array
    deviance_ : float
        Of the rows of the fit.
    n_iter_ : int
        Passes over the rows.
    projection_ : Projection
        From rows to the prediction.
    moments_ : Moments
        Of the first pass. A model file does not hold it.
    design_ : Design
        What is read of a row.
    design_names_ : list of str
        One name per design column.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    Ridge : straight lines, from moments.
    rank_crosses : the test of all pairs.

    Notes
    -----
    A pair of levels that fewer than 20 rows had adds nothing: such a row is predicted from its two columns.

    References
    ----------
    .. [1] Lou, Y., Caruana, R., Gehrke, J. and Hooker, G. (2013). Accurate intelligible models with pairwise interactions. KDD.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.integers(18, 65, 2000), "smoker": rng.choice(["no", "yes"], 2000)})
    >>> people["cost"] = 50 * people["age"] * np.where(people["smoker"] == "yes", 3, 1) + rng.normal(0, 300, 2000)
    >>> model = gm.AdditiveRegressor().fit(people, "cost")
    >>> model.crosses_
    [('age', 'smoker')]
    >>> bool(model.score(people, people["cost"]) > 0.97)
    True
    >>> contributions = model.explain(people.drop(columns="cost"))
    >>> list(contributions.columns)
    ['(intercept)', 'age', 'smoker', 'age & smoker']
    """

    _said_passes = "3 passes over the rows, 1 where crosses=0"

    def _wants_folds(self) -> bool:
        return True

    @property
    def _family(self) -> Family:
        return Family.of("gaussian")

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        return {name: as_numbers(values) for name, values in super()._attached_targets(y).items()}

    def _read_target(self, moments: Moments) -> tuple[Moments, list[int | None], Array]:
        target = self._targets[0]
        if moments.schema[target].form == "category":
            raise DataError(
                f"target {target.strip('()')!r} holds classes, and AdditiveRegressor needs numbers; use AdditiveClassifier",
                PythonOnly(", or name a column of numbers"),
            )
        return moments, [None], np.asarray(self.moments_.mean(target), dtype=np.float64)

    def _formula(self, method: str) -> Formula | None:
        return Formula(self.projection_) if method == "predict" else None

    def predict(self, X: Any) -> Array:
        """Return the expected target of rows in memory, (n_rows,)."""
        return self._linear(X)[:, 0]


class AdditiveClassifier(Classifier, AdditiveModel):
    """One function per column and per chosen cross, added up to log odds: readable, near the quality of boosted trees.

    As `AdditiveRegressor`, with a logistic link, in about seven passes: two more for Newton's steps, one for the deviances of
    left-out rows. Of several classes each has a model against all others, with the same crosses and in the same passes;
    `predict_proba` scales their probabilities to a sum of 1.

    Parameters
    ----------
    bins : "auto", int, dict or None
        Bins of each number: 32, so many, or by column, as in `gramian.collect`. None: straight lines alone.
    crosses : "auto", int or list of pairs
        Which pairs of columns have a function of their own: those of the test, in the number that left-out folds choose; so
        many of the best ranked; or these.
    alpha : "cv" or float
        Ridge of the main effects in rows: a level of n rows shrinks by n / (n + alpha), a bin by n / (n + 8 alpha).
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    classes_ : array
    crosses_ : list of (str, str)
        Pairs with a function of their own, best first.
    terms_ : table
        `term, kind, levels, importance`.
    alpha_, cross_alpha_ : float
        Ridges in rows, of main effects and of cells.
    intercept_ : array
        One per predictor.
    deviance_ : float
        Of the rows of the fit.
    n_iter_ : int
        Passes over all rows. Those over the sample (see Notes) are not counted.
    projection_ : Projection
        From rows to `decision_function`.
    moments_ : Moments
        Of the first pass. A model file does not hold it.
    design_ : Design
        What is read of a row.
    design_names_ : list of str
        One name per design column.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    LogisticRegression : without bins and crosses, with standard errors.
    rank_crosses : the test of all pairs.

    Notes
    -----
    A pair of levels that fewer than 20 rows had adds nothing: such a row is predicted from its two columns.

    The ridge of main effects takes many steps to choose. They are made on 100,000 to 200,000 evenly spaced rows, which are
    kept from the first pass (on all rows where they are fewer), and the steps over all rows begin at the sample's optimum.

    References
    ----------
    .. [1] Lou, Y., Caruana, R., Gehrke, J. and Hooker, G. (2013). Accurate intelligible models with pairwise interactions. KDD.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({name: rng.choice(["a", "b", "c"], 3000) for name in ("u", "v", "w")})
    >>> rows["won"] = (rows["u"] == rows["v"]) ^ (rng.random(3000) < 0.1)
    >>> model = gm.AdditiveClassifier().fit(rows, "won")
    >>> model.crosses_
    [('u', 'v')]
    >>> bool(model.score(rows, rows["won"]) > 0.88)
    True
    """

    _fields: ClassVar[Fields] = {
        "classes_": classes("c"),
        "intercept_": array(decisions, finite=True),
        "projection_": projection("p", decisions),
    }

    _target_is_class = True

    _said_passes = f"about 7 passes over all rows, and more over a sample of {SAMPLE:,} to {2 * SAMPLE:,} that is kept"

    @property
    def _family(self) -> Family:
        return Family.of("binomial")

    def _read_target(self, moments: Moments) -> tuple[Moments, list[int | None], Array]:
        target = self._targets[0]
        classed = self._classes_of(target)
        aim = aim_of(classed, [target], target_type="multiclass")
        self.classes_ = exact_array(aim.classes[0])
        shares = np.asarray(classed.mean(aim.columns) @ aim.map, dtype=np.float64)
        moments = moments.as_categorical([target])
        if len(self.classes_) == 2:
            return moments, [1], shares[-1:]
        return moments, list(range(len(self.classes_))), shares

    def _formula(self, method: str) -> Formula | None:
        scores = Formula(self.projection_)
        if method == "predict_proba" and len(self.classes_) > 2:
            return scores.then(Apply("sigmoid"), Apply("proportion"))
        return classified(scores, self.classes_, method)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log odds of the second class, (n,); for several classes those of each against the others, (n, c)."""
        found = self._linear(X)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class, (n, c)."""
        found = self._linear(X)
        if len(self.classes_) == 2:
            return np.column_stack([expit(-found[:, 0]), expit(found[:, 0])])
        each = expit(found)
        return np.asarray(each / each.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny)))

    def predict(self, X: Any) -> npt.NDArray:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])
