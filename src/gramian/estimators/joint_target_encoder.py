"""`JointTargetEncoder`: a target encoding whose columns are fitted together."""

from __future__ import annotations

from typing import Any

from gramian.estimators.mahalanobis import MahalanobisFeatures


class JointTargetEncoder(MahalanobisFeatures):
    """One number per column (and class), fitted over all columns at once, in the place of scikit-learn's TargetEncoder.

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
        By default text, booleans and integers of at most 20 distinct values are classes, other numbers continuous.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories; others enter as numbers.

    Attributes
    ----------
    components_ : (k, p) array
        Weights over `design_names_`: features are `(x - mean_) @ components_.T`.
    statistic_ : float
        n R^2 of the regression on all columns at ridge 0: the largest Mahalanobis distance there is.
    p_value_ : float
        Of the independence of features and target.
    p_value_moments_ : {"exact", "estimated", "chi-squared"}
        How the law of the p-value is known.
    r2_, r2_cv_ : float
        In-sample and cross-validated R^2, of the Brier kind for classes; `r2_cv_` is NaN where there are no folds.
    ridge_ : float
        The ridge used.
    selection_ : dict of arrays
        Held-out R^2 and its standard error for each ridge tried.
    component_r2_ : (0,) array
        Empty: features are per column here, not per direction.
    component_tests_ : dict of arrays
        For each canonical direction at ridge 0: `statistic`, `df` and `p_value`.
    n_components_ : int
        Number of features.
    mean_ : (p,) array
        Where features are zero.
    classes_ : array
        Only where a single target is read as classes.
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
    It takes the place of `sklearn.preprocessing.TargetEncoder` in a pipeline, with as many features under the same names. The
    values differ:

    - They are centred: 0 is the mean of the target, not the mean itself. An unseen level is 0. Of one column without shrinkage
      (`ridge=0`, `smooth=0`) they are scikit-learn's less that mean.
    - They are fitted jointly: what a level adds, given the other columns. scikit-learn encodes each column by itself.
    - A level of n rows shrinks by n / (n + ridge), one ridge for all columns; `smooth="auto"` shrinks each level by its
      variance.
    - Only categories are encoded, by `categorical_features`; scikit-learn takes every column for one. `"all"` does the same
      here.
    - `fit_transform` does not cross-fit numbers, nor categories of no more levels than the target has classes (of two levels,
      where it is a number): their values are those of `transform`. scikit-learn cross-fits every column.
    - Folds are drawn by position and the same in every run; scikit-learn shuffles, and stratifies classes.

    See Also
    --------
    MahalanobisFeatures : fewer features than columns.
    sklearn.preprocessing.TargetEncoder : each column by itself.

    References
    ----------
    .. [1] Mahalanobis Feature Extraction (MFE): mathematical formulation, of which this is the block-diagonal case.
    .. [2] Micci-Barreca, D. (2001). A preprocessing scheme for high-cardinality categorical attributes in classification and
       prediction problems. ACM SIGKDD Explorations 3(1).

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
