"""`LogisticRegression` and `GLM`: generalised linear models by weighted passes over any source."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, softmax
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array, exact_array
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached
from gramian.engines.weighted import ClassWeights, KeepingEncoder, NewtonWeights, Passes, logarithms
from gramian.errors import Argument, ColumnError, DataError, InParts, shown
from gramian.estimators.regression.ridge import RegressionModel, as_numbers, sum_to_zero
from gramian.estimators.spine.estimator import Classifier
from gramian.estimators.spine.fields import Fields, array, classes, decisions, finite, projection
from gramian.estimators.spine.training import Training, row_weights, target_values
from gramian.linear.regression.glm import (
    Family,
    Fitted,
    Optimum,
    cells_without_rows,
    fisher_start,
    fit_glm,
    fit_multinomial,
    residual_of,
)
from gramian.linear.regression.inference import Estimate
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.targets import aim_of
from gramian.linear.scatter.wide import DENSE
from gramian.maps.formula import Apply, Formula, classified
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.value import Moments
from gramian.parameters import TEXT, declared, number, parameter, whole

FAMILIES = ("gaussian", "poisson", "gamma", "tweedie")


class SeparationWarning(InParts, ConvergenceWarning):
    """Some coefficients have no finite value, or had not reached it."""


class WeightedModel(RegressionModel):
    """A model whose every step is a weighted pass over the rows of the fit.

    Attributes
    ----------
    n_iter_ : int
        Passes over the rows.
    deviance_ : float
    """

    _fields: ClassVar[Fields] = {"n_iter_": int, "deviance_": float}

    takes_moments = False

    alpha: float
    max_iter: int
    tol: float
    offset: str | None = None
    exposure: str | None = None

    _parameters = declared(alpha=number(least=0), max_iter=whole(), tol=number(above=0))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, start: Any = None) -> Any:
        """Fit to rows or files.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s) or iterable of batches
            Any source of `gramian.collect`.
        y : array or str
            Values, or the name of a column of X, which is then not a feature.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        start : fitted model of the same class, optional
            Where to begin: its coefficients, by the names of columns and levels. A model of yesterday saves passes today.
        """
        earlier = None
        if start is not None:
            if not isinstance(start, type(self)):
                raise DataError(f"start is a fitted {type(self).__name__}; got {type(start).__name__}")
            check_is_fitted(start)
            # It may be this very model, which is about to forget them.
            earlier = list(start.design_names_), np.atleast_2d(start.coef_), np.atleast_1d(start.intercept_)
        return self._fit(X, y, sample_weight, earlier)

    # Reading

    def _pass(self, training: Training, options: CollectOptions) -> Moments:
        found: list[KeepingEncoder] = []

        def keep(inner: Any) -> KeepingEncoder:
            found.append(KeepingEncoder(inner))
            return found[-1]

        moments = collect_attached(training.table, training.attached, options, keep)
        keeping = found[0] if found and found[0].n_kept == moments.n_rows else None
        self._passes = Passes(training.table, training.attached, options, keeping, training.every_weight)
        return moments

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        raise DataError(
            f"{type(self).__name__} reads the rows several times, and Moments have none; pass rows or files"
        )

    def _accept(self, moments: Moments, targets: list[str], *, named: bool, more: bool) -> Moments:
        for role in ("offset", "exposure"):
            name = getattr(self, role)
            if name is None:
                continue
            if name in targets:
                raise ColumnError(Argument(role, name), " is the target; name another column")
            if name not in moments.schema or moments.schema[name].form == "category":
                raise ColumnError(Argument(role, name), " is not a column of numbers of the table")
        return super()._accept(moments, targets, named=named, more=more)

    def _learn(self, X: Any, y: Any, sample_weight: Any, earlier: Any = None) -> None:
        self._earlier = earlier
        try:
            super()._learn(X, y, sample_weight)
        finally:
            # The rows of the fit are not part of the model.
            for name in ("_passes", "_earlier"):
                self.__dict__.pop(name, None)

    def _from_earlier(self, design: Design, count: int) -> Array | None:
        """Return the predictors (count, 1 + p) of an earlier model over these design columns; levels new to it are at 0."""
        if self._earlier is None:
            return None
        names, coefficients, intercepts = self._earlier
        if len(coefficients) != count:
            raise DataError(f"start has {len(coefficients)} predictors, and {count} are needed here; leave it out")
        known = dict(zip(names, coefficients.T, strict=True))
        weights = np.array([known.get(name, np.zeros(count)) for name in design.names])
        return np.column_stack([intercepts + design.as_given(design.mean) @ weights, weights[self._free(design)].T])

    # Solving

    @property
    def _fixed(self) -> str | None:
        """The column whose coefficient is 1."""
        return self.offset if self.offset is not None else self.exposure

    @property
    def _regressors(self) -> list[str]:
        """The columns that have coefficients to be found."""
        names = [name for name in self._features if name != self._fixed]
        if not names:
            raise DataError("no feature columns are left beside the target and the offset")
        return names

    def _free(self, design: Design) -> npt.NDArray[np.bool_]:
        free = super()._free(design)
        if self._fixed is not None:
            free[design.spans[self._fixed]] = False
        return free

    def _read_design(self) -> Design:
        """Return what is read of a row, missing offsets being 0."""
        design = Design.of(self._moments, self._features)
        if self._fixed is not None and design.offsets is not None:
            # Whole numbers beyond 2^53 are no offset that anybody means.
            raise ColumnError(f"offset {self._fixed!r} is beyond what float64 holds")
        return replace(design, mean=np.where(self._free(design), np.nan_to_num(design.mean), 0.0))

    def _fit_one(
        self, problem: Regression, endless: list[tuple[int, int]], start: tuple[Array, float] | None = None
    ) -> None:
        """Fit one predictor by passes over the rows, and set the attributes."""
        design, family, passes = self._read_design(), self._family, self._passes
        free, reader = self._free(design), self._reader(design)
        centre = float(self.moments_.mean(self._targets[0])[0]) if start is None else 0.0
        first, bound = self._from_earlier(design, 1), None
        if first is None and start is not None:
            first, null = start
            bound = np.append(first[:, :1], np.zeros((1, int(free.sum()))), axis=1), null
        elif first is None and self.max_iter == 1:
            # No pass is left to start from the rows.
            first = np.append(family.start(np.array([centre]), centre), np.zeros(int(free.sum())))[None]
        self._found = found = fit_glm(
            lambda here, kind: passes.moments(
                reader, NewtonWeights(family, _projected(design, free, here), kind, centre)
            ),
            self._regressors,
            family,
            means=design.mean[free],
            spread=_spread(problem),
            start=first,
            bound=bound,
            alpha=float(self.alpha),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._warn(found.optimum, endless, problem, perfect=found.perfect)
        self._set_predictors(found.optimum.theta, design, problem)
        self.n_iter_, self.deviance_ = found.n_passes, found.deviance

    def _has_link(self) -> bool:
        return True

    def _set_predictors(self, theta: Array, design: Design, problem: Regression) -> None:
        """Set the coefficients of predictors (k, 1 + p), in the coding that sums to zero over a category."""
        beta = sum_to_zero(problem.layout, problem.mean, theta[:, 1:].T)
        self.projection_ = _projected(design, self._free(design), np.column_stack([theta[:, 0], beta.T]))
        self.coef_: Any = np.ascontiguousarray(self.projection_.weights.T)
        self.intercept_: Any = theta[:, 0] - self.coef_ @ design.as_given(design.mean)

    def _warn(
        self, found: Optimum, endless: list[tuple[int, int]], problem: Regression, *, perfect: bool = False
    ) -> None:
        """Warn of coefficients without a finite value, and of an iteration that has not ended."""
        at, label = endless[0] if endless else (int(np.argmax(found.growth)), 0)
        layout, moments = problem.layout, problem.moments
        place = int(np.searchsorted(layout.starts, at, side="right")) - 1
        column = layout.columns[place]
        where, no_value = f"column {column!r}", "so that its coefficient has no finite value; "
        if layout.is_level[at]:
            where += f", level {moments.labels[moments.coded_at[column]].name(at - int(layout.starts[place]))!r}"
        if endless:
            more = f" (and {len(endless) - 1:,} more such cases)" if len(endless) > 1 else ""
            text = f"{where}: {self._all_alike(label)}{more}, {no_value}"
        elif perfect:
            text = f"the columns tell both classes apart without error, {column!r} first: no coefficient has a finite value; "
        elif found.growth.any():
            text = f"{where}: alone or with other columns it tells some rows apart without error, {no_value}"
        elif not found.converged:
            text = f"{type(self).__name__} has not converged after {found.n_passes} passes; raise max_iter, "
        else:
            return
        ways = ("pool rare levels, leave the column out, or fit with ", Argument("alpha", 1.0))
        warnings.warn(SeparationWarning(text, *ways), stacklevel=2)

    def _all_alike(self, label: int) -> str:
        """Return what all rows of a level have, of which a function of the target is 0."""
        return "all of its rows have 0"

    def _as_read(self, rows: Rows) -> Rows:
        if self.exposure is None:
            return rows
        at = [column.name for column in self.design_.numeric].index(self.exposure)
        numbers = np.array(rows.dense_numbers, dtype=np.float64)
        numbers[:, at] = logarithms(numbers[:, at], self.exposure)
        return replace(rows, numbers=numbers)

    # Errors

    def _estimated(self, robust: bool) -> Estimate:
        self._refuse_errors(self.alpha)
        if self._found.perfect:
            raise DataError(
                "the columns tell the classes apart without error, so that coefficients have no finite value and no errors; "
                "leave out the column that does"
            )
        found: Fitted = self._found
        problem = residual_of(found.curvature if robust else found.information, self._regressors)
        free = self._free(self.design_)
        means = np.nan_to_num(self.design_.mean)[free]
        taken = self.design_.as_given(np.zeros(len(self.design_.mean)))[free]
        beta = self.projection_.weights[free, 0]
        at_mean = found.optimum.theta[0, 0] + float((problem.mean - means) @ beta)
        return self._estimate_of(problem, beta, at_mean, taken, robust=robust)

    def _dispersion(self, estimate: Estimate, n: float) -> tuple[float, float]:
        if self._family.known_dispersion:
            return 1.0, np.inf
        return self._found.pearson / (n - estimate.rank), n - estimate.rank

    def _facts(self, estimate: Estimate) -> list[tuple[str, str]]:
        n, k, found = float(self.moments_.total_weight), estimate.rank, self._found
        facts = [
            ("rows", f"{self.moments_.n_rows:,}"),
            ("residual df", f"{n - k:,.10g}"),
            ("model df", f"{k - 1:,}"),
            ("deviance", f"{found.deviance:.5g}"),
            ("Pearson chi2", f"{found.pearson:.5g}"),
            ("dispersion", f"{self._dispersion(estimate, n)[0]:.5g}"),
            ("passes", f"{found.n_passes}"),
        ]
        loss = found.deviance if self._family.name == "binomial" else found.loss
        if loss is not None:
            facts += [("log-likelihood", f"{-loss / 2:.5g}"), ("AIC", f"{loss + 2 * k:.5g}")]
        return facts


def _spread(problem: Regression) -> Array:
    """Return 1 for a level, the standard deviation of a number."""
    return np.where(problem.layout.is_level, 1.0, np.sqrt(problem.diagonal / problem.weight))


def _projected(design: Design, free: npt.NDArray[np.bool_], theta: Array) -> Projection:
    """Return the map from rows to predictors (k, 1 + p); columns that are not free have the coefficient 1."""
    weights = np.ones((len(design.mean), len(theta)))
    weights[free] = theta[:, 1:].T
    return Projection(design, weights, np.ascontiguousarray(theta[:, 0]))


@dataclass(eq=False, repr=False)
class GLM(RegressorMixin, WeightedModel):
    """A generalised linear model with a logarithmic link, by weighted passes over rows or files of any size.

    Every step of the iteration is one pass of the kind that collects moments, on the engine where the rows are: local, Dask or
    Spark. Rows that fit into memory are encoded once.

    Parameters
    ----------
    family : {"poisson", "gamma", "tweedie", "gaussian"}
        The law of the target: counts, positive numbers, positive numbers and zeros, any numbers. The link is the logarithm, for
        `"gaussian"` the identity.
    alpha : float
        The penalty: alpha / 2 times the sum of squared coefficients is added to half the deviance; the intercept has none.
    power : float
        Of the mean in the variance, for `"tweedie"`, between 1 and 2.
    offset : str, optional
        A column that is added to the linear predictor as it is.
    exposure : str, optional
        A column whose logarithm is added to the linear predictor: what a count is proportional to.
    reference : dict, optional
        The reference level of a category in `inference`, by column. By default the first by name.
    max_iter : int
        Passes at most.
    tol : float
        Squared length of the last step, in standard errors, at which the iteration ends.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    coef_ : (p,) array
        Over `design_names_`, on the scale of the link. They sum to zero over the levels of each category; `inference` compares
        with a reference level instead. That of an offset is 1.
    intercept_ : float
    deviance_ : float
    n_iter_ : int
        Passes over the rows.
    projection_ : Projection
        From rows to the linear predictor.
    moments_ : Moments
        Of the first pass. A model file does not hold it.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    Ridge : least squares, from moments.
    LogisticRegression : the same for classes.

    Notes
    -----
    A missing number counts as the mean of its column, a missing offset as 0 and a missing exposure as 1. A weight means
    repeated rows.

    References
    ----------
    .. [1] McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models. Chapman and Hall.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> claims = pd.DataFrame({"zone": ["a", "a", "b", "b", "c", "c"], "years": [10.0, 20.0, 10.0, 30.0, 5.0, 15.0],
    ...                        "claims": [2, 4, 4, 11, 3, 8]})
    >>> model = gm.GLM(exposure="years").fit(claims, "claims")
    >>> model.predict(claims).round(2).tolist()
    [2.0, 4.0, 3.75, 11.25, 2.75, 8.25]
    >>> model.inference()["std_error"].round(3).tolist()
    [0.408, 0.483, 0.508]
    """

    family: str = parameter("poisson", *FAMILIES)
    alpha: float = 0.0
    _: KW_ONLY
    power: float = parameter(1.5, number(above=1, below=2))
    offset: str | None = parameter(None, TEXT)
    exposure: str | None = parameter(None, TEXT)
    reference: Mapping[str, Any] | None = None
    max_iter: int = 100
    tol: float = 1e-10
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {"coef_": array("p", finite=True), "intercept_": finite}

    def _check_together(self) -> None:
        if self.offset is not None and self.exposure is not None:
            raise DataError(Argument("offset"), " and ", Argument("exposure"), " stand for the same part; keep one")
        if self.exposure is not None and self.family == "gaussian":
            raise DataError(Argument("exposure", self.exposure), " needs a logarithmic link; use ", Argument("offset"))

    @property
    def _family(self) -> Family:
        return Family.of(self.family, self.power)

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        return {name: as_numbers(values) for name, values in super()._attached_targets(y).items()}

    def _solve(self) -> None:
        target = self._targets[0]
        if self._moments.schema[target].form == "category":
            raise DataError(
                f"family {self.family!r} needs numbers, and target {target.strip('()')!r} holds classes; use "
                "LogisticRegression, or name a column of numbers"
            )
        aim = aim_of(self._moments, [target], target_type="continuous")
        problem = regression_of(self._moments, self._regressors, aim, in_rows=False)
        centre = float(self.moments_.mean(target)[0])
        if self._family.name != "gaussian" and centre <= 0:
            raise DataError(
                f"target {target.strip('()')!r} has mean {centre:g}, and family {self.family!r} takes numbers above 0"
            )
        endless = cells_without_rows(problem) if self._family.unbounded and self.alpha == 0 else []
        self._fit_one(problem, endless)
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family != "gaussian"
        return tags

    def _formula(self, method: str) -> Formula | None:
        if method != "predict":
            return None
        link = () if self.family == "gaussian" else (Apply("exp"),)
        return Formula(self.projection_, link, self.exposure)

    def predict(self, X: Any) -> Array:
        """Return the expected target of rows in memory, (n_rows,)."""
        return self._family.mean(self._linear(X)[:, 0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D^2, the share of the deviance of the mean that the model explains."""
        values = as_numbers(target_values(y)).to_numpy(zero_copy_only=False)
        weights = row_weights(sample_weight, len(values))
        centre = np.average(values, weights=weights)
        link = centre if self.family == "gaussian" else np.log(centre)
        left, whole_ = (
            np.average(self._family.deviance(values, eta), weights=weights)
            for eta in (self._linear(X)[:, 0], np.full(len(values), link))
        )
        return float(1 - left / whole_)


@dataclass(eq=False, repr=False)
class LogisticRegression(Classifier, WeightedModel):
    """Logistic regression by weighted passes over rows or files of any size, for two classes and for several.

    Every step of the iteration is one pass of the kind that collects moments, on the engine where the rows are: local, Dask or
    Spark. Rows that fit into memory are encoded once. Two classes start from Fisher's discriminant, which the first pass gives.

    Parameters
    ----------
    alpha : float
        The penalty, 1 / C of scikit-learn: alpha / 2 times the sum of squared coefficients is added to the negative
        log-likelihood; the intercept has none. 0, which alone has standard errors, by default.
    reference : dict, optional
        The reference level of a category in `inference`, by column. By default the first by name.
    max_iter : int
        Passes at most.
    tol : float
        Squared length of the last step, in standard errors, at which the iteration ends.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    classes_ : array
    coef_ : (c, p) array, for two classes (1, p)
        Over `design_names_`. They sum to zero over the levels of each category, and for several classes over these;
        `inference` compares with a reference level instead.
    intercept_ : (c,) array, for two classes (1,)
    deviance_ : float
    n_iter_ : int
        Passes over the rows; of several classes each of them takes one per pair of classes.
    projection_ : Projection
        From rows to `decision_function`.
    moments_ : Moments
        Of the first pass. A model file does not hold it.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    GLM : counts and positive numbers.
    FisherDiscriminant : a classifier from moments, in one pass.

    Notes
    -----
    A missing number counts as the mean of its column, and a level never seen adds nothing. A weight means repeated rows. Where
    a level has rows of one class only, its coefficient has no finite value without a penalty: a warning names it.

    References
    ----------
    .. [1] McCullagh, P. and Nelder, J. A. (1989). Generalized Linear Models. Chapman and Hall.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"page": ["home", "shop"] * 4, "minutes": [1.0, 2.0, 4.0, 3.0, 6.0, 8.0, 2.0, 5.0],
    ...                        "bought": ["no", "no", "yes", "no", "no", "yes", "no", "yes"]})
    >>> model = gm.LogisticRegression().fit(visits, "bought")
    >>> model.predict_proba(visits)[:, 1].round(2).tolist()
    [0.03, 0.14, 0.26, 0.26, 0.64, 0.95, 0.06, 0.65]
    >>> model.anova()["df"].tolist()
    [1, 1]
    """

    alpha: float = 0.0
    _: KW_ONLY
    reference: Mapping[str, Any] | None = None
    max_iter: int = 100
    tol: float = 1e-10
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "classes_": classes("c"),
        "coef_": array(decisions, "p", finite=True),
        "intercept_": array(decisions, finite=True),
        "projection_": projection("p", decisions),
    }

    _target_is_class = True

    @property
    def _family(self) -> Family:
        return Family.of("binomial")

    def _solve(self) -> None:
        target = self._targets[0]
        moments = self._classes_of(target)
        aim = aim_of(moments, [target], target_type="multiclass")
        labels = aim.classes[0]
        self.classes_ = exact_array(labels)
        cells = regression_of(moments, self._regressors, aim, in_rows=False)
        endless = cells_without_rows(cells) if self.alpha == 0 else []
        if len(labels) > 2:
            self._fit_several(cells, endless)
            return
        problem = regression_of(moments, self._regressors, aim.one_per_class(), in_rows=False)
        # A copy of its own: what a solver forms of it is not kept during the passes.
        self._fit_one(problem, endless, fisher_start(replace(problem), float(self.alpha)))

    def _fit_several(self, problem: Regression, endless: list[tuple[int, int]]) -> None:
        """Fit a predictor per class by the multinomial model, and set the attributes."""
        count, design, passes = len(self.classes_), self._read_design(), self._passes
        free, reader = self._free(design), self._reader(design)
        wide = (problem.width + 1) * (count - 1)
        if wide > DENSE:
            raise DataError(
                f"{problem.width:,} design columns times {count - 1} classes are {wide:,} coefficients, and the "
                f"multinomial model takes {DENSE:,} at most; pool rare levels or classes first, or use FisherDiscriminant"
            )
        start = self._from_earlier(design, count)
        if start is None:
            start = np.zeros((count, 1 + problem.width))
            start[:, 0] = np.log(problem.aim_mean)
        found = fit_multinomial(
            lambda here, *pair: passes.moments(reader, ClassWeights(_projected(design, free, here), *pair)),
            self._regressors,
            means=design.mean,
            spread=_spread(problem),
            start=start,
            alpha=float(self.alpha),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._warn(found, endless, problem)
        self._set_predictors(found.theta, design, problem)
        self.n_iter_, self.deviance_ = found.n_passes, found.deviance

    def _all_alike(self, label: int) -> str:
        if len(self.classes_) == 2:
            return f"all of its rows have class {shown(self.classes_[1 - label])}"
        return f"none of its rows has class {shown(self.classes_[label])}"

    def _estimated(self, robust: bool) -> Estimate:
        if len(self.classes_) > 2:
            raise DataError("errors are those of two classes; fit one class against another, or against all others")
        return super()._estimated(robust)

    def _formula(self, method: str) -> Formula | None:
        return classified(Formula(self.projection_), self.classes_, method)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log odds of the second class, (n,); for several classes a predictor for each, (n, c)."""
        found = self._linear(X)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class, (n, c)."""
        found = self._linear(X)
        if len(self.classes_) > 2:
            return np.asarray(softmax(found, axis=1))
        return np.column_stack([expit(-found[:, 0]), expit(found[:, 0])])

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        found = self._linear(X)
        every = found if len(self.classes_) > 2 else np.pad(found, ((0, 0), (1, 0)))
        return np.asarray(log_softmax(every, axis=1))

    def predict(self, X: Any) -> npt.NDArray:
        """Return the most probable class of each row."""
        found = self._linear(X)
        best = (found[:, 0] > 0).astype(np.intp) if len(self.classes_) == 2 else found.argmax(axis=1)
        return np.asarray(self.classes_[best])
