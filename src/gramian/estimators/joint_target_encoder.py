"""`JointTargetEncoder`: a target encoding whose columns are fitted together."""

from __future__ import annotations

from typing import Any

from gramian.estimators.mahalanobis import MahalanobisFeatures


class JointTargetEncoder(MahalanobisFeatures):
    """One number a column (and class), fitted over all columns at once: a drop-in for scikit-learn's TargetEncoder.

    A target encoder gives each level its own mean of the target, so two columns that say the same are counted twice. Here the
    numbers are the coefficients of one ridge regression on all levels of all columns: what a level adds to the prediction,
    given the others, in units of the target and zero on average. It is `MahalanobisFeatures(structure="columns")` under the
    name people look for.

    Numbers, and categories of no more levels than the target has classes (of two levels, where it is a number), need no
    encoding: their features are the column itself, turned by what it adds, in `fit_transform` as in `transform`. Other
    columns are cross-fitted.

    Parameters
    ----------
    ridge : "auto", "cv" or float
        Counted in rows: a level of n rows shrinks by n / (n + ridge); chosen by cross-validation.
    cv : int, splitter or None
        Of `fit_transform`, which is cross-fitted.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories; others enter as numbers.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"color": ["red", "blue"] * 50, "shape": ["box", "box", "disc", "disc"] * 25})
    >>> encoder = gm.JointTargetEncoder(ridge=0.0).fit(frame, [1.0, 3.0, 2.0, 4.0] * 25)
    >>> encoder.transform(frame[:2])
    array([[-1. , -0.5],
           [ 1. , -0.5]])
    """

    def __init__(
        self,
        *,
        ridge: float | str = "auto",
        cv: Any = 5,
        target_type: str = "auto",
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.ridge = ridge
        self.cv = cv
        self.target_type = target_type
        self.categorical_features = categorical_features

    # What the general form leaves open is fixed here, and is no parameter.
    _n_components = None
    _structure = "columns"
    _influence = "auto"
    _solver = "exact"
    _sgd_options = {}  # noqa: RUF012
