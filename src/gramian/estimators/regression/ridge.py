"""`Ridge`: least squares and ridge regression from moments; what every regression model says of its coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import stats
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.engines.base import CollectOptions
from gramian.engines.weighted import ErrorWeights, Passes, Reader
from gramian.errors import Argument, DataError, PythonOnly, type_words, unknown_column
from gramian.estimators.column_importance import ColumnImportance
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, array, finite, projection, table, texts
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import FromMoments, MomentsEstimator
from gramian.estimators.spine.training import (
    TARGET,
    single_weight,
    target_outputs,
    target_shape,
)
from gramian.linear.layout import Layout, LevelMeans, centre_of, layout_of
from gramian.linear.regression.glm import Family
from gramian.linear.regression.inference import Coding, Estimate, Inference, score_sums, summary_text
from gramian.linear.regression.inference_wide import eliminated
from gramian.linear.regression.problem import Regression, regression_of
from gramian.linear.regression.ridge import cross_validated, generalised, ridge_coefficients
from gramian.linear.regression.targets import aim_of
from gramian.linear.scatter.dense import matrix_of
from gramian.linear.scatter.wide import DENSE
from gramian.maps.formula import Formula
from gramian.maps.projection import Design, Projection, Rows
from gramian.moments.value import Moments
from gramian.parameters import OPTIONS, Kind, check, declared, number, parameter
from gramian.tables.returned import table as output_table

WEIGHTS = ("repeats", "precision")
HC = ("HC0", "HC1", "HC2", "HC3")
CLUSTERS = Kind(
    "{'cluster': column}",
    lambda value: isinstance(value, Mapping) and list(value) == ["cluster"] and isinstance(value["cluster"], str),
)
WITHOUT_MOMENTS = "this model was loaded from a file, which holds no moments; fit it again"


class RegressionModel(Plots, ColumnImportance, FromMoments):
    """A linear predictor with coefficients by level: prediction, errors of the coefficients, tests of columns.

    Attributes
    ----------
    projection_ : Projection
        From rows to the linear predictor.
    """

    _plots: ClassVar[tuple[str, ...]] = ("coefficients", "importance", "predictions")
    _fields: ClassVar[Fields] = {"projection_": projection("p", None)}

    _takes_target = True
    _needs_target = True
    _selected_by: str | None = None
    reference: Mapping[str, Any] | None

    _parameters = declared(reference=(None, OPTIONS))

    # What a subclass says

    def _estimated(self, robust: bool) -> Estimate:
        """Return the coefficients in reference coding, for errors of either kind; raise where they have none."""
        raise NotImplementedError

    @property
    def _family(self) -> Family:
        raise NotImplementedError

    def _free(self, design: Design) -> npt.NDArray[np.bool_]:
        """Return which design columns have coefficients that are found."""
        return np.ones(len(design.mean), dtype=bool)

    def _reader(self, design: Design, cluster: str | None = None) -> Reader:
        """Return what a pass reads of the rows of the fit."""
        classes = getattr(self, "classes_", None)
        labels = None if classes is None else list(classes.tolist())
        fill, family = np.nan_to_num(design.mean[design.number_places]), self._family
        exposure = getattr(self, "exposure", None)
        return Reader(design, fill, self._targets[0], labels, family.least, family.name, exposure, cluster)

    def _dispersion(self, estimate: Estimate, n: float) -> tuple[float, float]:
        """Return what the inverse information is multiplied by, and the degrees of freedom of t."""
        raise NotImplementedError

    def _facts(self, estimate: Estimate) -> list[tuple[str, str]]:
        """Return what a summary says of the fit."""
        raise NotImplementedError

    # What all share

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        given = sample_weight is None or isinstance(sample_weight, str) or single_weight(sample_weight) is not None
        self._weights_of_fit, self._selected_by = sample_weight if given else "(values)", None
        return super()._gather(X, y, sample_weight, like=like)

    def _linear(self, X: Any) -> Array:
        """Return the linear predictors of rows, (n, k)."""
        check_is_fitted(self)
        rows = self.projection_.design.rows(open_rows(self, X, self.projection_.design, method="predict"))
        return self.projection_.apply(map(self._as_read, rows))

    def _as_read(self, rows: Rows) -> Rows:
        """Return encoded rows as the predictor takes them."""
        return rows

    def _estimate_of(
        self, problem: Regression, beta: Array, at_mean: float, taken_off: Array, *, robust: bool
    ) -> Estimate:
        """Return the estimate of a predictor that is known, from the weighted scatter of a regression."""
        labels = dict(zip((c.name for c in self.design_.categorical), self.design_.labels, strict=True))
        coding = Coding.of(problem.layout, labels, problem.mean, self.reference)
        if problem.is_dense:
            matrix = problem.matrix
            return Estimate.of(coding, matrix, problem.mean, problem.weight, matrix @ beta, at_mean, taken_off)
        name, size = problem.layout.widest
        if robust or problem.width - size > DENSE:
            raise DataError(
                f"{problem.width:,} design columns, {size:,} of them of column {name!r}, are too many for "
                f"{'these errors' if robust else 'errors of every coefficient'}; leave it out, or pool its rare levels first"
            )
        return eliminated(problem, coding, beta, at_mean, taken_off)

    def _refuse_errors(self, alpha: float) -> None:
        """Raise where coefficients are shrunk, or those of columns that were selected on the same rows."""
        if self._selected_by is not None:
            raise DataError(
                f"{self._selected_by} selected these columns on the same rows, so that p-values of what stayed would be too "
                "small; fit to other rows"
            )
        if alpha > 0:
            raise DataError(
                f"coefficients have no p-values after a penalty (alpha={alpha:g} shrinks them towards 0); fit with ",
                Argument("alpha", 0),
            )

    def _estimate(self, *, robust: bool = False) -> Estimate:
        """Return the estimate, computed once for a fit."""
        check_is_fitted(self)
        if "moments_" not in self.__dict__:
            raise DataError(f"{WITHOUT_MOMENTS} to have errors of its coefficients")
        # Kept beside the fit that it belongs to.
        kept: Any = self.__dict__.get("_known_estimates", (None, None, {}))
        same = kept[0] is self.projection_ and kept[1] == self.reference
        known: dict[bool, Estimate] = kept[2] if same else {}
        if robust not in known:
            known[robust] = self._estimated(robust)
            self._known_estimates = self.projection_, self.reference, known
        return known[robust]

    def _observations(self, estimate: Estimate, weights: str) -> float:
        """Return n: the weight of all rows, or their number where weights are precisions."""
        check("weights", weights, *WEIGHTS)
        moments = self.moments_
        n = float(moments.total_weight) if weights == "repeats" else float(moments.n_rows)
        if n - estimate.rank < 1e-9 * n:
            raise DataError(
                f"{n:,.10g} rows and {estimate.rank:,} coefficients leave nothing to tell errors from; give more rows or "
                f"fewer columns",
                PythonOnly(", or shrink the coefficients with ", Argument("alpha", 1.0), ", which has no errors"),
            )
        return n

    def _inference(self, errors: Any, data: Any, weights: str) -> Inference:
        robust = not (isinstance(errors, str) and errors == "iid")
        if robust:
            check("errors", errors, "iid", *HC, CLUSTERS)
        estimate = self._estimate(robust=robust)
        n = self._observations(estimate, weights)
        factor, dof = self._dispersion(estimate, n)
        if not robust:
            return estimate.with_errors(None, factor, dof)
        if data is None:
            raise DataError(
                Argument("errors", errors),
                " needs the residuals of the rows; give the rows of the fit with ",
                Argument("data"),
            )
        if isinstance(errors, Mapping):
            return self._clustered(estimate, str(errors["cluster"]), data, n, dof, weights)
        power = {"HC2": 1, "HC3": 2}.get(errors, 0)
        weigh = self._scores(weights, power=power, estimate=estimate if power else None)
        moments = self._read_again(data, weigh)
        layout = layout_of(moments, self._regressors)
        middle = estimate.about_mean(
            float(moments.total_weight), centre_of(moments, layout), matrix_of(moments, layout, None)
        )
        return estimate.with_errors(middle, n / (n - estimate.rank) if errors == "HC1" else 1.0, dof)

    def _clustered(self, estimate: Estimate, cluster: str, data: Any, n: float, dof: float, weights: str) -> Inference:
        """Return the inference with errors that are alike within clusters."""
        moments = self._read_again(data, self._scores(weights, signed=True), cluster)
        column = f"({cluster})"
        known = moments.labels[moments.coded_at[column]].values
        if known.null_count:
            raise DataError(
                f"cluster column {cluster!r} has missing values, and rows without a cluster may depend on any other; give them "
                "one each, or leave those rows out of the fit too"
            )
        sums, totals = score_sums(moments, column, self._regressors)
        count = len(totals)
        if count < 2:
            raise DataError(
                f"cluster column {cluster!r} has one cluster, and errors need at least 2; name another column"
            )
        factor = count / (count - 1) * (n - 1) / (n - estimate.rank)
        return estimate.with_errors(
            estimate.about_clusters(sums, totals), factor, dof if np.isinf(dof) else float(count - 1)
        )

    @property
    def _regressors(self) -> list[str]:
        """The columns that have coefficients to be found."""
        return self._features

    def _scores(
        self, weights: str, *, power: int = 0, estimate: Estimate | None = None, signed: bool = False
    ) -> ErrorWeights:
        """Return what weighs rows by their scores."""
        form: tuple[Any, Any, float] = (None, None, 0.0)
        if estimate is not None:
            form = estimate.leverage_form(self._free(self.design_))
        return ErrorWeights(self._family, self.projection_, power, *form, signed, weights == "precision")

    def _read_again(self, data: Any, weigh: ErrorWeights, cluster: str | None = None) -> Moments:
        """Return the moments of the rows of the fit with other weights.

        Parameters
        ----------
        data : any source of `fit`, or a tuple (X, y) or (X, y, sample_weight)
            Where the target or weights were values.
        weigh : ErrorWeights
        cluster : str, optional
        """
        X, y, sample_weight = (
            (*data, None)[:3] if isinstance(data, tuple) and len(data) in (2, 3) else (data, None, None)
        )
        if y is None:
            if self._targets[0] == TARGET:
                raise DataError("the target of the fit was given as values; give it again: ", PythonOnly("data=(X, y)"))
            y = self._targets[0]
        if sample_weight is None:
            sample_weight = self.__dict__.get("_weights_of_fit")
            if sample_weight == "(values)" or (sample_weight is None and self.moments_.weighted):
                raise DataError(
                    "the weights of the fit are not known by name; give them again: ",
                    PythonOnly("data=(X, y, sample_weight)"),
                )
        design = self.design_
        training = self._opened(X, y, sample_weight, design.columns)
        if cluster is not None and cluster not in training.names:
            raise unknown_column(cluster, training.names, where="data")
        beside = [] if cluster is None else [cluster]
        categories = [column.name for column in design.categorical if column.part is None]
        options = CollectOptions(
            columns=list(dict.fromkeys([*design.origins, *training.targets, *beside])),
            targets=training.targets,
            categorical=list(dict.fromkeys([*categories, *self._class_targets(training.targets), *beside])),
            numeric=[] if training.named else training.integers,
            sample_weight=training.weight_column if training.weights is None else training.weights,
        )
        passes = Passes(training.table, training.attached, options, None, training.every_weight)
        every = float(training.every_weight or 1)
        weigh = replace(weigh, every=every)
        moments = passes.read(self._reader(design, cluster), weigh) * every
        if moments.n_rows != self.moments_.n_rows:
            raise DataError(
                f"data has {moments.n_rows:,} rows with a target and a weight, and the fit had {self.moments_.n_rows:,}; "
                "give the rows of the fit"
            )
        return moments

    def inference(self, errors: Any = "iid", data: Any = None, *, weights: str = "repeats") -> Any:
        """Return a table of coefficients with their standard errors, tests and 95% intervals.

        Parameters
        ----------
        errors : "iid", "HC0", "HC1", "HC2", "HC3" or dict
            How errors are computed. `"iid"`: from the moments of the fit, rows being independent and of one variance. `"HC0"`
            to `"HC3"`: whatever the variance of each row (heteroscedasticity). `{"cluster": column}`: rows with the same
            value of the column may depend on each other.
        data : any source of `fit`, optional
            The rows of the fit again, for errors other than `"iid"`, which need residuals; with a target or weights that were
            given as values `(X, y)` or `(X, y, sample_weight)`.
        weights : {"repeats", "precision"}
            What a weight of the fit means: how often a row was seen, or the inverse of its variance (as in WLS of
            statsmodels and `lm` of R).

        Returns
        -------
        table
            Columns `column, level, coefficient, std_error, statistic, p_value, lower, upper`; the intercept first. Levels are
            compared with the reference level of their category. Columns that others explain have NaN.
        """
        return output_table(self._inference(errors, data, weights).table(), library=self._frames)

    def anova(self, errors: Any = "iid", data: Any = None, *, weights: str = "repeats") -> Any:
        """Return a table with one row per column: the joint test of its coefficients (F, or chi-squared of a known dispersion).

        Parameters are those of `inference`.
        """
        return output_table(self._inference(errors, data, weights).anova(), library=self._frames)

    def compare_levels(
        self, column: str, first: Any, second: Any, *, errors: Any = "iid", data: Any = None, weights: str = "repeats"
    ) -> Any:
        """Return the difference between the coefficients of two levels, with its error, as a table of one row.

        Parameters
        ----------
        column : str
            A category.
        first, second : labels
        errors, data, weights
            As in `inference`.
        """
        found = self._inference(errors, data, weights).compare(column, first, second)
        return output_table(found, library=self._frames)

    def summary(self, errors: Any = "iid", data: Any = None, *, weights: str = "repeats") -> str:
        """Return the fit as text: facts, the table of coefficients, reference levels and what was dropped.

        Parameters are those of `inference`.
        """
        found = self._inference(errors, data, weights)
        kind = errors if isinstance(errors, str) else f"cluster {errors['cluster']}"
        facts = [*self._facts(found.estimate), ("errors", kind)]
        return summary_text(f"{type(self).__name__}: {self._target_name}", facts, found.table(), found)

    @property
    def _target_name(self) -> str:
        return ", ".join(name.strip("()") for name in self._targets)


def sum_to_zero(layout: Layout, mean: Array, coefficients: Array) -> Array:
    """Return coefficients (p, m) that sum to zero over the levels of each category that have rows, and are 0 for the others.

    Parameters
    ----------
    layout : Layout
    mean : (p,) array
        Shares of the levels.
    coefficients : (p, m) array
    """
    present = np.where(layout.is_level & (mean == 0), 0.0, 1.0)
    shares = present.copy()
    for span in layout.category_spans:
        shares[span] /= max(present[span].sum(), 1.0)
    out = LevelMeans(layout.category_spans, layout.width, shares).removed(coefficients)
    return out * present[:, None]


@dataclass(eq=False, repr=False)
class Ridge(RegressorMixin, RegressionModel, MomentsEstimator):
    """Least squares and ridge regression from moments, with standard errors.

    One pass over rows or files, or none where moments exist. A category has one design column per level, all of them, and no
    one-hot matrix is formed: the coefficients are those of scikit-learn's `Ridge` on the one-hot matrix with every level.

    Parameters
    ----------
    alpha : float, "auto" or "cv"
        The penalty on squared coefficients, as in scikit-learn; the intercept has none. 0 is least squares, which alone has
        standard errors. `"auto"` is chosen by generalised cross-validation, `"cv"` by five folds of the same pass.
    reference : dict, optional
        The reference level of a category in `inference`, by column: `{"color": "red"}`. By default the first by name.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    coef_ : (p,) array, of several targets (t, p)
        Over `design_names_`. They sum to zero over the levels of each category, which is what the penalty makes of them;
        `inference` compares with a reference level instead.
    intercept_ : float or (t,) array
    alpha_ : float
        The penalty used.
    selection_ : dict of arrays
        The curve behind a penalty that was chosen.
    projection_ : Projection
        From rows to predictions.
    moments_ : Moments
        What was collected; other methods can be fitted from it without reading data again. A model file does not hold it.
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
    MahalanobisFeatures : a few features for any target, with a calibrated test.
    LassoSelector : the columns that a regression needs.

    Notes
    -----
    A missing number counts as the mean of its column, in fit and in predict, and a level never seen adds nothing. A weight
    means repeated rows. With `alpha=0` and columns that others explain, predictions are unique and `coef_` is one of several
    solutions; `inference` names what it drops.

    References
    ----------
    .. [1] Hoerl, A. E. and Kennard, R. W. (1970). Ridge regression: biased estimation for nonorthogonal problems.
       Technometrics 12(1).
    .. [2] Golub, G. H., Heath, M. and Wahba, G. (1979). Generalized cross-validation as a method for choosing a good ridge
       parameter. Technometrics 21(2).

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> rent = pd.DataFrame({"city": ["Bonn", "Kiel", "Bonn", "Kiel", "Ulm", "Ulm"], "rooms": [1.0, 2.0, 3.0, 4.0, 2.0, 5.0],
    ...                      "rent": [510.0, 640.0, 930.0, 1010.0, 790.0, 1420.0]})
    >>> model = gm.Ridge(alpha=0).fit(rent, "rent")
    >>> found = model.inference()
    >>> found["column"].tolist()
    ['(intercept)', 'city', 'city', 'rooms']
    >>> found["coefficient"].round(2).tolist(), found["std_error"].round(2).tolist()
    ([311.76, -99.12, 78.82, 204.12], [21.54, 23.11, 24.59, 7.5])
    >>> model.compare_levels("city", "Ulm", "Kiel")["difference"].round(3).tolist()
    [177.941]
    """

    alpha: float | str = parameter(1.0, "auto", "cv", number(least=0))
    _: KW_ONLY
    reference: Mapping[str, Any] | None = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "_output_names": texts(),
        "coef_": lambda model: array("p") if not model._output_names else array(len(model._output_names), "p"),
        "intercept_": lambda model: finite if not model._output_names else array(len(model._output_names)),
        "alpha_": float,
        "selection_": table(),
    }

    _several_targets = True

    def _wants_folds(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha == "cv"

    def _attached_targets(self, y: Any) -> dict[str, Any]:
        return {name: as_numbers(values) for name, values in target_outputs(y).items()}

    def _gather(self, X: Any, y: Any, sample_weight: Any, *, like: Moments | None = None) -> Moments:
        moments = super()._gather(X, y, sample_weight, like=like)
        if like is None:
            self._output_names = several_names(y, self._targets)
        return moments

    def _solve(self) -> None:
        moments, features = self._moments, self._features
        problem = self._problem()
        aim = self._aim
        alphas = path_of(problem)
        if self.alpha == "cv":
            curve = cross_validated(moments, features, aim, problem, alphas)
            best = int(np.argmax(curve["r2"]))
        elif self.alpha == "auto":
            curve = generalised(aim, problem, alphas)
            best = int(np.argmin(curve["gcv"]))
        if isinstance(self.alpha, str):
            self.alpha_ = float(alphas[best])
            self.selection_ = {"alpha": curve.pop("ridge"), **curve}
        else:
            self.alpha_, self.selection_ = float(self.alpha), {}
        weights = sum_to_zero(problem.layout, problem.mean, ridge_coefficients(problem, self.alpha_))
        design = Design.of(moments, features)
        centre = self.moments_.mean(self._targets)
        self.projection_ = Projection(design, weights, centre)
        intercept = centre - np.nan_to_num(design.as_given(design.mean)) @ weights
        single = not self._output_names
        self.coef_ = np.ascontiguousarray(weights[:, 0] if single else weights.T)
        self.intercept_ = float(intercept[0]) if single else intercept

    @property
    def _aim(self) -> Any:
        for name in self._targets:
            if self._moments.schema[name].form == "category":
                raise DataError(
                    f"Ridge needs numbers, and target {name!r} is a category; name a number",
                    PythonOnly(", or make numbers of it"),
                )
        return aim_of(self._moments, self._targets, target_type="continuous")

    def _problem(self) -> Regression:
        return regression_of(self._moments, self._features, self._aim, in_rows=False)

    def _formula(self, method: str) -> Formula | None:
        return Formula(self.projection_) if method == "predict" else None

    def predict(self, X: Any) -> Array:
        """Return the predictions of rows in memory, (n_rows,) or (n_rows, targets)."""
        found = self._linear(X)
        return found[:, 0] if not self._output_names else found

    # Adding and taking away

    def __add__(self, other: Any) -> Any:
        return self._combined(other, "+") if isinstance(other, Ridge) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, "-") if isinstance(other, Ridge) else NotImplemented

    def _combined(self, other: Ridge, sign: str) -> Any:
        for side in (self, other):
            check_is_fitted(side)
            if "moments_" not in side.__dict__:
                raise DataError(f"{WITHOUT_MOMENTS} to add or subtract")
        if self._offered != other._offered or self._targets != other._targets:
            raise DataError(
                f"these models are of other columns or targets: {self._offered[:5]} and {other._offered[:5]}, "
                f"{self._targets} and {other._targets}"
            )
        if self.alpha != other.alpha:
            different = Argument("alpha", self.alpha), " and ", Argument("alpha", other.alpha)
            raise DataError("these models have ", *different, "; fit both with the same")
        moments = self.moments_ + other.moments_ if sign == "+" else self.moments_ - other.moments_

        def combine(result: Any) -> None:
            result.moments_ = moments
            result._finish()

        result = copy(self)
        result._learn_on_copy(combine, called="fit")
        return result

    # Errors

    @property
    def _family(self) -> Family:
        return Family.of("gaussian")

    def _estimated(self, robust: bool) -> Estimate:
        self._refuse_errors(self.alpha_)
        if self._output_names:
            raise DataError("errors are those of one target; fit one model per target")
        problem = self._problem()
        taken = self.design_.as_given(np.zeros(problem.width))
        return self._estimate_of(problem, self.projection_.weights[:, 0], self._centre, taken, robust=robust)

    @property
    def _centre(self) -> float:
        return float(self.moments_.mean(self._targets)[0])

    def _squares(self, estimate: Estimate) -> tuple[float, float]:
        """Return the residual and the total sum of squares."""
        problem = self._problem()
        total = float(problem.own[0, 0])
        return max(total - float(estimate.coefficients @ problem.cross[estimate.kept, 0]), 0.0), total

    def _dispersion(self, estimate: Estimate, n: float) -> tuple[float, float]:
        dof = n - estimate.rank
        return self._squares(estimate)[0] / dof, dof

    def _facts(self, estimate: Estimate) -> list[tuple[str, str]]:
        n, k = float(self.moments_.total_weight), estimate.rank
        residual, total = self._squares(estimate)
        share = 1 - residual / total
        ratio = (total - residual) / (k - 1) / (residual / (n - k)) if k > 1 and residual > 0 else np.nan
        likelihood = -n / 2 * (np.log(2 * np.pi * residual / n) + 1) if residual > 0 else np.inf
        return [
            ("rows", f"{self.moments_.n_rows:,}"),
            ("residual df", f"{n - k:,.10g}"),
            ("model df", f"{k - 1:,}"),
            ("R-squared", f"{share:.4f}"),
            ("adj. R-squared", f"{1 - (1 - share) * (n - 1) / (n - k):.4f}"),
            ("F", f"{ratio:.4g}"),
            ("P(F)", f"{stats.f.sf(ratio, k - 1, n - k):.3g}"),
            ("log-likelihood", f"{likelihood:.5g}"),
            ("AIC", f"{2 * k - 2 * likelihood:.5g}"),
            ("BIC", f"{k * np.log(n) - 2 * likelihood:.5g}"),
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def path_of(problem: Regression) -> Array:
    """Return the penalties that are tried, ascending: from a hundredth of a row to all rows, for each column's own unit."""
    varies = problem.diagonal > 0
    unit = np.where(problem.layout.is_level, 1.0, problem.diagonal / problem.weight)[varies]
    low, high = (float(unit.min()), float(unit.max())) if len(unit) else (1.0, 1.0)
    bottom, top = np.floor(2 * np.log10(0.01 * low)), np.ceil(2 * np.log10(max(problem.weight, 1.0) * high))
    step = max(1, int(np.ceil((top - bottom) / 60)))
    return 10.0 ** (np.arange(bottom, top + 1, step) / 2)


def as_numbers(values: pa.Array) -> pa.Array:
    """Return target values as floats, or raise."""
    try:
        return values.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"y holds {type_words(values.type)}, and a regression needs numbers") from None


def several_names(y: Any, targets: list[str]) -> list[str]:
    """Return the names of several targets, none where there is one."""
    if isinstance(y, str | tuple):
        return list(targets) if len(targets) > 1 else []
    shape = getattr(y, "shape", None) or (target_shape(y) if y is not None else ())
    if len(shape) < 2 or shape[1] < 2:
        return []
    return [str(name) for name in getattr(y, "columns", range(shape[1]))]
