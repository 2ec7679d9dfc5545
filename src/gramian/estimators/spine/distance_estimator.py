"""Objects or distances in, coordinates out: what `ClassicalMDS` and `MDSFDA` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.arrays.threads import usable_cores
from gramian.distances.mds import project_rows
from gramian.distances.metrics.gower import MixedMetric
from gramian.distances.metrics.metric import as_matrix, check_rows
from gramian.distances.metrics.pairwise import Measure, check_metric, is_vectors
from gramian.distances.metrics.vectors import VectorMetric
from gramian.distances.objects import CHOICES, GivenDistances, MeasuredObjects, Training, choose_landmarks
from gramian.errors import DataError
from gramian.estimators.plots.drawings import PlotsEmbedding
from gramian.estimators.spine.estimator import Estimator, Tags
from gramian.estimators.spine.fields import Fields, Optional, array, size, such_that
from gramian.estimators.spine.inputs import check_numbers
from gramian.estimators.spine.outputs import Outputs, Reading
from gramian.parameters import FUNCTION, JOBS, OPTIONS, TEXT, Kind, parameter, whole
from gramian.tables import ArrowTable
from gramian.tables.memory.arrays import column_names

Blocks = Iterator[npt.NDArray[Any]]


def _is_float(value: Any) -> bool:
    try:
        return value is not None and np.dtype(value) in (np.float32, np.float64)
    except (TypeError, ValueError):
        return False


_FLOATS = Kind("'float32', 'float64'", _is_float)


def in_range(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what was computed from distances, or raise where it is beyond floating point."""
    if not np.isfinite(values.sum()) and np.isnan(values).any():
        raise DataError(
            "the distances are too large or too small for floating point to compute with; rescale the objects"
        )
    return values


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Rows of numbers whose columns are matched to those of fit already."""

    values: npt.NDArray[Any]

    @property
    def dtype(self) -> Any:
        """Of the numbers."""
        return self.values.dtype


class ObjectOutputs(Outputs):
    """Of a model of distances: the objects of every batch are picked out of the columns that hold them."""

    def reading(self, table: ArrowTable, columns: Sequence[str] | None = None) -> Reading:
        """Return the columns that hold the objects, and a function from a batch to what `transform` takes."""
        return Reading(*self.model._object_reader(table, columns))


@dataclass(eq=False, repr=False)
class DistanceTransformer(PlotsEmbedding, Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates of objects from distances to reference objects, which are the training objects or landmarks.

    Attributes
    ----------
    embedding_ : (n, k) array
    weights_ : (n or L, k) array
        On centred rows of squared distances.
    mean_squares_ : (n or L,) array
        Column means of the squared distances between the reference objects.
    landmarks_ : (L,) array or None
        Positions of the landmarks among the training objects.
    objects_ : reference objects, None where distances are given
    """

    n_components: int = parameter(2, whole())
    _: KW_ONLY
    metric: str | Callable[..., float] = parameter(
        "precomputed", "precomputed", Kind("the name of a metric", TEXT.accepts), FUNCTION
    )
    metric_params: Mapping[str, Any] | None = parameter(None, OPTIONS)
    n_landmarks: int | None = parameter(None, whole(2))
    landmarks: str = parameter("random", *CHOICES)
    n_jobs: int | None = parameter(None, *JOBS)
    dtype: Any = parameter(None, _FLOATS, None)
    random_state: Any = 0

    _fields: ClassVar[Fields] = {
        "n_features_in_": Optional(size("q")),
        "_vectors": lambda model: Optional(bool) if model._precomputed() else bool,
        "_metric_state": dict,
        "weights_": array("l", "k", finite=True),
        "mean_squares_": array("l", finite=True),
        "embedding_": array("n", "k", dtype="f", finite=True),
        "landmarks_": such_that(
            (None, array("l", dtype="i8", least=0, below="n")),
            lambda marks, model: marks is not None or len(model.embedding_) == len(model.weights_),
            "positions of landmarks, or None without them",
        ),
        "objects_": object,
        "eigenvalues_": array(None),
        "negative_share_": float,
    }

    row_outputs = ObjectOutputs

    _tags: ClassVar[Tags] = {
        "input_tags.pairwise": lambda model: model._precomputed(),
        "input_tags.positive_only": lambda model: model._precomputed(),
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    # Fitting

    def _open(self, X: Any) -> GivenDistances | MeasuredObjects:
        """Return the training objects, checked."""
        wanted = None if self.dtype is None else np.dtype(self.dtype)
        if self._precomputed():
            D = as_matrix(self._plain(X), what="the distance matrix")
            validate_data(self, X if hasattr(X, "shape") else D, reset=True, skip_check_array=True)
            self._metric_state: dict[str, Any] = {}
            training: GivenDistances | MeasuredObjects = GivenDistances(
                D if wanted is None else D.astype(wanted, copy=False)
            )
        else:
            self._vectors = is_vectors(X)
            measure = self._measure()
            X = self._checked(measure, X, reset=True)
            measure.metric = measure.metric.learn(X)
            if isinstance(measure.metric, MixedMetric):
                measure.metric = measure.metric.without_identifiers(X)
            objects = measure.metric.prepare(X)
            self._metric_state = measure.metric.state()
            training = MeasuredObjects(measure, objects, usable_cores(self.n_jobs), wanted or self._output_type(X))
        if training.n < 2:
            raise DataError(f"{type(self).__name__} needs at least 2 objects; got n_samples = {training.n}")
        return training

    def _check_together(self) -> None:
        if not self._precomputed():
            check_metric(self.metric)

    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _plain(self, X: Any) -> Any:
        if hasattr(X, "toarray"):
            raise DataError("sparse data is not supported: a matrix of distances has few zeros; pass X.toarray()")
        return X

    def _checked(self, measure: Measure, X: Any, *, reset: bool) -> Any:
        """Return objects as scikit-learn would check them where they are vectors."""
        if not isinstance(measure.metric, VectorMetric):
            return X
        if isinstance(X, NumberRows):
            return check_array(X.values, dtype=[np.float64, np.float32])
        return check_numbers(self, X, reset=reset, dtype=[np.float64, np.float32])

    def _measure(self) -> Measure:
        return Measure(self.metric, self.metric_params, vectors=self._vectors)

    def _choose_landmarks(self, training: Training, rng: np.random.Generator) -> npt.NDArray[np.int64] | None:
        if self.n_landmarks is None:
            return None
        return choose_landmarks(training, self.n_landmarks, rng, how=self.landmarks)

    # Transforming

    def _rows(self, X: Any) -> Blocks:
        """Yield blocks of rows of distances from objects to the reference objects."""
        if not self._precomputed():
            measure = self._measure()
            measure.metric.restore(self._metric_state)
            objects = measure.metric.prepare(self._checked(measure, X, reset=False))
            for _, rows in measure.stream(objects, self.objects_, usable_cores(self.n_jobs)):
                check_rows(rows, what="the distances")
                yield rows
            return
        matched = isinstance(X, NumberRows)
        D = as_matrix(X.values if matched else self._plain(X), what="the rows of distances")
        check_rows(D, what="the matrix of distances")
        if D.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {D.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                f"input: a row holds the distances of one object to the {self.n_features_in_} training objects"
            )
        if not matched:
            validate_data(self, X if hasattr(X, "shape") else D, reset=False, skip_check_array=True)
        if len(D) == 0:
            raise DataError(f"0 sample(s) (shape={D.shape}) while a minimum of 1 is required")
        kept = vars(self).get("kept_")
        D = D if kept is None else D[:, kept]
        yield D if self.landmarks_ is None else D[:, self.landmarks_]

    def _embed(self, X: Any) -> npt.NDArray[np.float64]:
        check_is_fitted(self)
        parts = [project_rows(rows, self.mean_squares_, self.weights_) for rows in map(self._adjusted, self._rows(X))]
        if not parts:
            raise DataError("0 sample(s) while a minimum of 1 is required: there are no objects")
        return in_range(np.concatenate(parts))

    def _adjusted(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return rows

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Return the coordinates of objects.

        Parameters
        ----------
        X : (m, n) array, or objects
            With `metric="precomputed"` rows of distances to the n training objects; otherwise new objects.

        Returns
        -------
        (m, k) array
            Float32 where the distances are given in float32.
        """
        return self._embed(X).astype(self._output_type(X), copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[Any]:
        """Fit, and return `embedding_`."""
        return self.fit(X, y).embedding_

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to distances or objects.

        Parameters
        ----------
        X : (n, n) array, or objects
            As `metric` says.
        y : ignored
        """
        return self._fit(X, y)

    def _take_up(self) -> None:
        """Raise where the reference objects of a file are not what the metric compares: it is given them."""
        if self._precomputed():
            if vars(self).get("kept_") is None and self.n_features_in_ != len(self.embedding_):
                raise DataError("n_features_in_ is not the number of its objects")
            return
        measure = self._measure()
        measure.metric.restore(self._metric_state)
        if isinstance(measure.metric, MixedMetric):
            measure.metric.check_levels()
        if len(self.objects_) != len(self.mean_squares_):
            raise DataError("objects_ are not as many as mean_squares_")
        for _, rows in measure.stream(self.objects_[:1], self.objects_, 1):
            check_rows(rows, what="the distances")

    # Objects in the columns of a table

    def _object_columns(self, table: ArrowTable) -> list[str]:
        """Return the columns that hold the objects, which no other column of the table can be mistaken for."""
        names, own = table.schema.names, type(self).__name__
        if self._precomputed() or isinstance(self._measure().metric, VectorMetric):
            if "feature_names_in_" in vars(self):
                return [str(name) for name in self.feature_names_in_]
            if len(names) == self.n_features_in_:
                return list(names)
            what = "distances to the training objects" if self._precomputed() else "numbers"
            raise DataError(
                f"{own} was fitted on rows of {self.n_features_in_} {what}, and {table.describe} has {len(names)} columns; "
                f"pass a table of those {self.n_features_in_} columns alone"
            )
        if isinstance(self._measure().metric, MixedMetric):
            learned = list(self._metric_state["names"])
            by_position = learned == column_names(len(learned)) and len(names) == len(learned)
            return list(names) if by_position else learned
        if len(names) != 1:
            listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            raise DataError(
                f"{own} measures objects, which stand in one column, and {table.describe} has {len(names)}: {listed}; pass a "
                f"table of the objects' column alone, or use gramian transform --column"
            )
        return list(names)

    def _object_reader(
        self, table: ArrowTable, columns: Sequence[str] | None = None
    ) -> tuple[list[str], Callable[[pa.RecordBatch], Any]]:
        """Return the columns that hold the objects, and a function from a batch of them to what `transform` takes.

        Parameters
        ----------
        table : ArrowTable
        columns : sequence of str, optional
            Those of the objects where that is known; otherwise they are the only ones that can be meant.
        """
        check_is_fitted(self)
        names = self._object_columns(table) if columns is None else list(columns)
        table.require(names)
        if self._precomputed() or isinstance(self._measure().metric, VectorMetric):
            for name in names:
                kind = table.schema.field(name).type
                if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                    raise DataError(
                        f"column {name!r} of {table.describe} holds {kind}; rows of numbers are needed here"
                    )
            single = all(table.schema.field(name).type == pa.float32() for name in names)
            return names, lambda batch: NumberRows(_matrix(batch.select(names), np.float32 if single else np.float64))
        if isinstance(self._measure().metric, MixedMetric):
            return names, lambda batch: batch.select(names)
        return names, lambda batch: _column_objects(batch, names[0])

    def _output_type(self, X: Any) -> Any:
        return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _matrix(batch: pa.RecordBatch, dtype: Any) -> npt.NDArray[Any]:
    return np.column_stack([column.to_numpy(zero_copy_only=False).astype(dtype) for column in batch.columns])


def _column_objects(batch: pa.RecordBatch, name: str) -> list[Any]:
    objects: list[Any] = batch.column(name).to_pylist()
    if None in objects:
        raise DataError(f"column {name!r} has a row without a value; every object needs one: drop such rows")
    return objects
