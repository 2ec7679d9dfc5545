"""What every estimator with a design does: features through one `Projection`, the way back, loadings, unseen levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian.errors import DataError
from gramian.estimators.base.inputs import all_float32, is_path, open_rows, unseen_levels
from gramian.estimators.spine.outputs import MapsFrames
from gramian.maps.fitted_design import Design
from gramian.tables.returned import table as output_table


class KnowsLevels(MapsFrames):
    """An estimator that knows the levels it was fitted on."""

    def black_swans(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return which values of X are levels never seen in fit, boolean (n_rows, n_features_in_)."""
        check_is_fitted(self)
        return unseen_levels(self, X)

    @property
    def design_(self) -> Design:
        """What a fitted model reads: its columns, their levels and means."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'design_'")


def _has_way_back(model: Any) -> bool:
    # Not by attribute: `__getattr__` would solve.
    projection = model.__dict__.get("projection_")
    return bool(model._inverts if projection is None else projection.inverse is not None)


class ProjectionFeatures(KnowsLevels, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer whose features are one `Projection` of the rows.

    Attributes
    ----------
    projection_ : Projection
    """

    if TYPE_CHECKING:
        # Set by fitting, or a property: `projection_`, and `_frames`, the library that tables are given back in.
        def __getattr__(self, name: str) -> Any: ...

    _inverts = True
    """Whether a fitted projection has a way back; without one there is no `inverse_transform`."""

    @property
    def design_(self) -> Design:
        """What a fitted model reads: its columns, their levels and means."""
        return self.projection_.design

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.n_features)

    def transform(self, X: Any) -> Any:
        """Return the features of rows in memory, (n_rows, k).

        Unseen levels and missing numbers sit at the mean. Float32 where every number of X is.
        """
        check_is_fitted(self)
        projection = self.projection_
        table = open_rows(self, X, projection.design)
        dtype = np.float32 if all_float32(table, projection.design.origins) else np.float64
        return projection.apply(projection.design.rows(table), dtype, table.n_rows)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then return the features of the same rows."""
        if is_path(X):
            raise DataError("fit_transform takes rows in memory; for files call fit, then gramian.transform_file")
        return super().fit_transform(X, y, **fit_params)

    @available_if(_has_way_back)
    def inverse_transform(self, X: Any, design: bool = False) -> Any:
        """Return features mapped back.

        Parameters
        ----------
        X : (n, k) array
            Features.
        design : bool
            Return the expanded numbers, one column a design column, instead of source columns.

        Returns
        -------
        array or table
            An array for all-numeric input or `design=True`; otherwise a table with numbers and the most likely levels.
            Numbers are float32 where the features are.
        """
        check_is_fitted(self)
        projection = self.projection_
        features = np.asarray(X)
        if features.ndim != 2 or features.shape[1] != projection.n_features:
            raise DataError(
                f"inverse_transform takes (n, {projection.n_features}) features; got shape {features.shape}"
            )
        dtype = np.float32 if features.dtype == np.float32 else np.float64
        if design or not projection.design.categorical:
            return projection.to_design(features).astype(dtype, copy=False)
        return output_table(projection.to_columns(features, dtype), library=self._frames)

    def loadings(self) -> Any:
        """Return a table of weights: column, level (null for a number), feature, weight."""
        check_is_fitted(self)
        rows = self.projection_.loadings(self.get_feature_names_out())
        return output_table(rows, library=self._frames)
