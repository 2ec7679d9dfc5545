"""`FisherDiscriminant`: the axes that separate classes best (linear discriminant analysis)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import exact_array
from gramian.errors import DataError, shown
from gramian.estimators.column_importance import ColumnImportance
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.estimator import Classifier
from gramian.estimators.spine.fields import Fields, array, classes, constants, decisions, projection
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.estimators.spine.training import plain_target
from gramian.linear.fisher import fisher
from gramian.maps.formula import Formula, classified
from gramian.maps.projection import Design, Projection
from gramian.parameters import NUMBERS, number, parameter, whole


@dataclass(eq=False, repr=False)
class FisherDiscriminant(Plots, ColumnImportance, Classifier, ProjectionTransformer):
    """Fisher's discriminant axes and the Gaussian classifier that belongs to them, from moments.

    Also known as linear discriminant analysis (LDA). Within- and between-class scatters come from the joint moments of
    features and target: one pass, categories without a one-hot matrix.

    Parameters
    ----------
    n_components : int, optional
        Axes to keep, at most the number of classes less one. Features beyond the axes along which class means differ are always
        zero, and so is their J.
    shrinkage : None, float in [0, 1], "auto" or "cv"
        Of the within-class covariance towards its diagonal; `"auto"` is the oracle approximating shrinkage, `"cv"` is chosen
        from fold moments. `shrinkage_` holds the number, and fitting with that number gives the same model.
    priors : array, optional
        Class probabilities, in the order of `classes_`; by default those observed. Where they do not sum to 1 they are divided
        by their sum, with a warning.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    classes_ : array
    criterion_ : (k,) array
        Fisher's criterion J of each axis: the mean squared gap between the means of two classes over the sum of squares within
        classes, so that it falls as rows are added (see `gramian.fisher_criterion`).
    scalings_ : (p, k) array
        The axes, over `design_names_`; features are `(x - mean_) @ scalings_`.
    coef_, intercept_ : (c, p) and (c,) arrays, for two classes (1, p) and (1,)
        `decision_function` is `x @ coef_.T + intercept_`, x the columns of `design_names_`.
    mean_ : (p,) array
        Of the classes' means, by their priors: where features are zero.
    means_ : (c, p) array
        Of each class.
    priors_ : (c,) array
    explained_variance_ratio_ : (k,) array
        Share of each axis in the scatter between classes, within-class scatter taken as the unit.
    shrinkage_ : float
        The shrinkage used.
    decision_ : Projection
        From rows to `decision_function`.
    projection_ : Projection
        From rows to features; see `loadings`.
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

    Notes
    -----
    Directions in which nothing varies within the classes have no place in the model (the pseudo-inverse leaves them out, as
    scikit-learn's "svd" does), even where the classes differ along them: a level that one class alone has, and all of its
    rows, is ignored, unless there is nothing else. Shrinkage brings such a direction back where columns that vary within
    classes add up to it, for example the other levels of that column.

    scikit-learn shrinks towards the diagonal for `shrinkage="auto"`, and towards a multiple of the identity for a number.
    Here the target is the diagonal for both, because the identity depends on the units of the columns: a column in small
    units has a large variance, and a multiple of the identity of that size hides the other columns. To get scikit-learn's
    numbers, divide the columns by their within-class standard deviation first; there both targets are the same.

    See Also
    --------
    MahalanobisFeatures : features for any target, with a calibrated test.
    MDSFDA : the same for objects that are known by their distances.
    fisher_criterion : J of a direction of one's own.

    References
    ----------
    .. [1] Notes on feature extraction: linear discriminant analysis and Fisher's criterion.
    .. [2] Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7(2).
    .. [3] Chen, Y., Wiesel, A., Eldar, Y. C. and Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance estimation. IEEE
       Transactions on Signal Processing 58(10).

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [6.0, 5.0], [7.0, 8.0]]
    >>> model = gm.FisherDiscriminant().fit(X, [1, 1, 1, 2, 2])
    >>> float(model.criterion_[0].round(6)), model.predict([[2.0, 2.0]])
    (8.1, array([1]))
    """

    n_components: int | None = parameter(None, whole())
    _: KW_ONLY
    shrinkage: Any = parameter(None, "auto", "cv", number(least=0, most=1))
    priors: npt.ArrayLike | None = parameter(None, NUMBERS)
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("densities", "importance", "loadings", "predictions")
    _fields: ClassVar[Fields] = {
        "classes_": classes("c"),
        "criterion_ explained_variance_ratio_": array("k"),
        "scalings_": array("p", "k"),
        "priors_": array("c", finite=True),
        "coef_": array(decisions, "p", finite=True),
        "intercept_": constants(decisions),
        "shrinkage_": float,
        "means_": array("c", "p"),
        "decision_": projection("p", decisions),
    }

    _takes_target = True
    _needs_target = True
    _target_is_class = True
    _inverts = False

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        """Add more rows to what was seen; the solution is computed when it is first asked for.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            The classes that may occur; others in `y` raise. A class without rows has no place in the model.
        """
        if classes is not None and y is not None and not isinstance(y, str):
            strange = np.setdiff1d(np.asarray(plain_target(y)), np.asarray(plain_target(classes)))
            if len(strange):
                raise DataError(f"y holds {shown(strange[0])}, which is not in classes")
        return super().partial_fit(X, y, sample_weight)

    def _wants_folds(self) -> bool:
        return isinstance(self.shrinkage, str) and self.shrinkage == "cv"

    def _solve(self) -> None:
        target = self._targets[0]
        solution = fisher(
            self._classes_of(target),
            self._features,
            target,
            n_components=self.n_components,
            shrinkage=self.shrinkage,
            priors=self.priors,
        )
        self.classes_ = exact_array(solution.classes)
        self.criterion_ = solution.criterion
        self.scalings_ = solution.weights
        self.priors_ = solution.priors
        pair = len(solution.classes) == 2
        self.coef_ = solution.coef[1:] - solution.coef[:1] if pair else solution.coef
        intercept = solution.intercept[1:] - solution.intercept[:1] if pair else solution.intercept
        self.explained_variance_ratio_ = solution.explained_variance_ratio
        self.shrinkage_ = solution.shrinkage
        design = Design.of(self._moments, self._features)
        self.mean_ = design.as_given(solution.mean)
        self.means_ = design.as_given(solution.class_means)
        # The public intercept belongs to values as they are given, the decision below to values as they are read.
        self.intercept_ = intercept - self.coef_ @ design.as_given(np.zeros(len(design.mean)))
        # A projection starts from the overall mean; with priors of one's own the axes start from another.
        overall = np.nan_to_num(design.mean)
        self.projection_ = Projection(
            design, solution.weights, (overall - np.nan_to_num(solution.mean)) @ solution.weights
        )
        self.decision_ = Projection(design, self.coef_.T, intercept + self.coef_ @ overall)

    def _formula(self, method: str) -> Formula | None:
        known = super()._formula(method)
        return classified(Formula(self.decision_), self.classes_, method) if known is None else known

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-posterior of each class up to a constant, (n, c)."""
        check_is_fitted(self)
        table = open_rows(self, X, self.decision_.design, method="predict")
        scores = self.decision_.apply(self.decision_.design.rows(table))
        return np.pad(scores, ((0, 0), (1, 0))) if scores.shape[1] == 1 else scores

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log-posterior of each class up to a constant; for two classes the difference, (n,)."""
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray:
        """Return the most probable class of each row."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        scores = self._scores(X)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the posterior probability of each class, (n, c)."""
        return np.exp(self.predict_log_proba(X))
