"""`PCA`: principal components (the Karhunen-Loeve transform) of numbers, categories, or both; and `Whitening`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.estimators.pca_tables import ComponentTables
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, array, size, table
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.linear.layout import RULES
from gramian.linear.pca import GaussianModel, pca
from gramian.linear.whitening import whitening
from gramian.parameters import SHARE, TRUTH, number, parameter, whole


@dataclass(eq=False, repr=False)
class PCA(Plots, ComponentTables):
    """Principal component analysis from moments: one pass, any size, categories without a one-hot matrix.

    On all-numeric input this is scikit-learn's PCA. Where a column is categorical, `scale="auto"` takes numbers at unit
    variance and levels in the chi-squared metric: multiple correspondence analysis (MCA) and its mixed form (FAMD). A
    row's features never depend on its neighbours.

    Parameters
    ----------
    n_components : None, int, float in (0, 1), "elbow", "mle", "parallel", "cv" or "cv-target"
        None keeps the rank; an int that many, those beyond the rank without variance; a share as many as explain that share
        of the variance. `"parallel"` keeps what exceeds the largest eigenvalue that independent columns would show, in 95 of
        100 tables, each component after those before it; with `scale=False` every column keeps its own variance, so that what
        stands out is shared. It keeps at least one component, also of noise: there `selection_["explained_variance"][0]` does
        not exceed `selection_["noise_threshold"][0]`. `"cv"` keeps what columns share on rows left out as well, `"cv-target"`
        what best predicts `y` there. `"elbow"` is the knee of the scree, `"mle"` Minka's choice, the rank where numbers
        repeat each other. Every rule keeps at least one.
    scale : {"auto"}, bool
        False: covariance. True: correlation. `"auto"`: False where every column is numeric.
    whiten : bool
        Features of unit variance.
    ddof : int
        The covariance divides by n - ddof; 0 is the lecture's Karhunen-Loeve transform.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    components_ : (k, p) array
        Over `design_names_`.
    explained_variance_, explained_variance_ratio_, singular_values_ : (k,) arrays
    mean_ : (p,) array
    metric_ : (p,) array
        What each centred design column is multiplied by before it is rotated.
    noise_variance_ : float
        Mean variance of the directions left out: of the isotropic rest of probabilistic PCA.
    n_components_ : int
    n_samples_ : int
        Rows that were seen.
    selection_ : dict of arrays
        One entry per criterion, each with one value per number of components.
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

    See Also
    --------
    Whitening : features of identity covariance, by other rotations.
    FisherDiscriminant : axes that separate classes.
    DensityEmbedding : the directions of least variance.

    References
    ----------
    .. [1] Lecture notes on data preprocessing and on feature extraction: principal components and the Karhunen-Loeve transform.
    .. [2] Jolliffe, I. T. (2002). Principal Component Analysis, 2nd edition. Springer.
    .. [3] Pages, J. (2014). Multiple Factor Analysis by Example Using R. CRC Press (MCA and FAMD).
    .. [4] Minka, T. P. (2000). Automatic choice of dimensionality for PCA. NIPS 13.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[1, 2, 1], [2, 3, 1], [3, 5, 1], [2, 2, 1]]
    >>> gm.PCA(n_components=2, ddof=0).fit(X).explained_variance_.round(6)
    array([1.901388, 0.098612])
    """

    n_components: Any = parameter(None, whole(), SHARE, *RULES)
    _: KW_ONLY
    scale: bool | str = parameter("auto", *TRUTH)
    whiten: bool = parameter(False, *TRUTH)
    ddof: int = parameter(1, number(least=0))
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("scree", "loadings", "biplot")

    _fields: ClassVar[Fields] = {
        "components_": array("k", "p"),
        "metric_": array("p"),
        "explained_variance_ explained_variance_ratio_ singular_values_": array("k"),
        "noise_variance_": float,
        "n_components_": size("k"),
        "n_samples_": int,
        "selection_": table("n_components", "explained_variance", "cumulative_ratio", ragged=True),
    }

    @property
    def _takes_target(self) -> bool:  # type: ignore[override]
        return self.n_components == "cv-target"

    @property
    def _needs_target(self) -> bool:  # type: ignore[override]
        return self.n_components == "cv-target"

    def _wants_folds(self) -> bool:
        return self.n_components in ("cv", "cv-target")

    def _take_up(self) -> None:
        # Files of wide tables once listed all numbers of components beside the variances that were computed.
        columns: dict[str, Any] = vars(self)["selection_"]
        shortest = min(map(len, columns.values()))
        self.selection_ = {name: values[:shortest] for name, values in columns.items()}

    def _solve(self) -> None:
        solution = pca(
            self._moments,
            self._features,
            n_components=self.n_components,
            scale=self.scale,
            whiten=self.whiten,
            ddof=self.ddof,
            target=self._targets[0] if self._takes_target else None,
        )
        self.components_ = solution.components
        self.metric_ = solution.metric
        self.explained_variance_ = solution.explained_variance
        self.explained_variance_ratio_ = solution.explained_variance_ratio
        self.singular_values_ = solution.singular_values
        self.noise_variance_ = solution.noise_variance
        self.n_components_ = len(solution.components)
        self.n_samples_ = self.moments_.n_rows
        self.selection_ = solution.selection
        self.projection_ = self._project(solution.weights, solution.inverse)
        self.mean_ = self.projection_.design.as_given(solution.mean)

    # The probabilistic model

    def _model(self) -> GaussianModel:
        check_is_fitted(self)
        design = self.projection_.design
        return GaussianModel(design, self.components_, self.metric_, self.explained_variance_, self.noise_variance_)

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the log density of each row under probabilistic PCA, (n_rows,).

        Numbers in their own units, levels in the metric; unseen levels and missing numbers sit at the mean. Where
        `noise_variance_` is 0, rows off the span of the components have density zero, and -inf.
        """
        model, unit = self._model(), np.sqrt(self.explained_variance_) if self.whiten else 1.0
        parts = [
            model.log_density(rows, self.projection_.apply([rows]) * unit)
            for rows in model.design.rows(open_rows(self, X, model.design))
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of the rows, by which a grid search can choose."""
        return float(np.asarray(self.score_samples(X)).mean())

    def get_covariance(self) -> npt.NDArray[np.float64]:
        """Return the covariance of the design columns under probabilistic PCA, (p, p)."""
        return self._model().covariance()

    def get_precision(self) -> npt.NDArray[np.float64]:
        """Return its inverse, (p, p), among the directions in which rows can differ."""
        return self._model().precision()


@dataclass(eq=False, repr=False)
class Whitening(Plots, ProjectionTransformer):
    """Linear features whose covariance on the training rows is the identity.

    Parameters
    ----------
    method : {"pca", "zca", "cholesky"}
        Along the principal axes; as close as possible to the data; triangular. Where columns are linearly dependent (the
        levels of a category always are) the rank is kept: `"pca"` and `"cholesky"` give `rank_` features, `"zca"` one a
        design column.
    ddof : int
        The covariance divides by n - ddof.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    rank_ : int
    mean_ : (p,) array
    whitening_ : (p, k) array
        Features are `(x - mean_) @ whitening_`.
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

    See Also
    --------
    PCA : the same axes, each with its own variance.
    DensityEmbedding : whitened features, those of least variance first.

    References
    ----------
    .. [1] Notes on feature extraction: the whitening transform.
    .. [2] Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. The American Statistician 72(4).

    Examples
    --------
    >>> import numpy as np
    >>> import gramian as gm
    >>> Z = gm.Whitening().fit_transform(np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 3.0]]))
    >>> np.cov(Z, rowvar=False).round(9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    method: str = parameter("pca", "zca", "cholesky")
    _: KW_ONLY
    ddof: int = parameter(1, number(least=0))
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("loadings",)
    _fields: ClassVar[Fields] = {"rank_": int, "whitening_": array("p", "k", finite=True)}

    def _solve(self) -> None:
        solution = whitening(self._moments, self._features, method=self.method, ddof=self.ddof)
        self.rank_ = solution.rank
        self.whitening_ = solution.weights
        self.projection_ = self._project(solution.weights, solution.inverse)
        self.mean_ = self.projection_.design.as_given(solution.mean)
