"""`Whitening`: features with identity covariance."""

from __future__ import annotations

from typing import Any, ClassVar

from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, array
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.linear.whitening import whitening
from gramian.parameters import declared, number


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

    _plots: ClassVar[tuple[str, ...]] = ("loadings",)
    _parameters = declared(method=("pca", "zca", "cholesky"), ddof=number(least=0))

    _fields: ClassVar[Fields] = {
        "rank_": int,
        "whitening_": array("p", "k", finite=True),
    }

    def __init__(self, method: str = "pca", *, ddof: int = 1, categorical_features: Any = "from_dtype") -> None:
        self.method = method
        self.ddof = ddof
        self.categorical_features = categorical_features

    def _solve(self) -> None:
        solution = whitening(self._moments, self._features, method=self.method, ddof=self.ddof)
        self.rank_ = solution.rank
        self.whitening_ = solution.weights
        self.projection_ = self._project(solution.weights, solution.inverse)
        self.mean_ = self.projection_.design.as_given(solution.mean)
