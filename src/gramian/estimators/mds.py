"""`ClassicalMDS`: coordinates from distances, for new objects too; and what it shares with `MDSFDA`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.arrays import usable_cores
from gramian.distances.centring import project_rows
from gramian.distances.checks import as_matrix, check_rows
from gramian.distances.landmarks import choose_landmarks
from gramian.distances.mds import classical_scaling, corrected, correction_constant
from gramian.distances.pairwise import Measure, is_vectors
from gramian.distances.training import GivenDistances, MeasuredObjects, Training
from gramian.distances.vectors import VectorMetric
from gramian.errors import DataError

Blocks = Iterator[npt.NDArray[Any]]


class DistanceTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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

    n_components: int
    metric: str | Callable[..., float]
    metric_params: Mapping[str, Any] | None
    n_landmarks: int | None
    n_jobs: int | None
    dtype: Any
    random_state: Any
    embedding_: npt.NDArray[Any]
    weights_: npt.NDArray[np.float64]
    mean_squares_: npt.NDArray[np.float64]
    landmarks_: npt.NDArray[np.int64] | None

    # Fitting

    def _open(self, X: Any) -> Training:
        """Return the training objects, checked."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self._check_components()
        wanted = None if self.dtype is None else np.dtype(self.dtype)
        if wanted not in (None, np.dtype("float32"), np.dtype("float64")):
            raise DataError(f"dtype is {self.dtype!r}; use 'float32', 'float64' or None")
        if self._precomputed():
            D = as_matrix(self._plain(X), what="the distance matrix")
            validate_data(self, X if hasattr(X, "shape") else D, reset=True, skip_check_array=True)
            self._metric_state: dict[str, Any] = {}
            training: Training = GivenDistances(D if wanted is None else D.astype(wanted, copy=False))
        else:
            self._vectors = is_vectors(X)
            measure = self._measure()
            X = self._checked(measure, X, reset=True)
            measure.metric = measure.metric.learn(X)
            objects = measure.metric.prepare(X)
            self._metric_state = measure.metric.state()
            training = MeasuredObjects(measure, objects, usable_cores(self.n_jobs), wanted or self._output_type(X))
        if training.n < 2:
            raise DataError(f"{type(self).__name__} needs at least 2 objects; got n_samples = {training.n}")
        return training

    def _check_components(self) -> None:
        k = self.n_components
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"n_components must be a whole number of at least 1; got {k!r}")

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
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=1)

    def _measure(self) -> Measure:
        return Measure(self.metric, self.metric_params, vectors=self._vectors)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _choose_landmarks(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64] | None:
        return None if self.n_landmarks is None else choose_landmarks(n, self.n_landmarks, rng)

    # Transforming

    def _rows(self, X: Any) -> Blocks:
        """Yield stretches of rows of distances from objects to the reference objects."""
        if not self._precomputed():
            measure = self._measure()
            measure.metric.restore(self._metric_state)
            objects = measure.metric.prepare(self._checked(measure, X, reset=False))
            for _, rows in measure.stream(objects, self.objects_, usable_cores(self.n_jobs)):
                check_rows(rows, what="the distances")
                yield rows
            return
        D = as_matrix(self._plain(X), what="the rows of distances")
        check_rows(D, what="the matrix of distances")
        if D.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {D.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                f"input: a row holds the distances of one object to the {self.n_features_in_} training objects"
            )
        validate_data(self, X if hasattr(X, "shape") else D, reset=False, skip_check_array=True)
        if len(D) == 0:
            raise DataError(f"0 sample(s) (shape={D.shape}) while a minimum of 1 is required")
        yield D if self.landmarks_ is None else D[:, self.landmarks_]

    def _embed(self, X: Any) -> npt.NDArray[np.float64]:
        check_is_fitted(self)
        parts = [project_rows(rows, self.mean_squares_, self.weights_) for rows in map(self._adjusted, self._rows(X))]
        if not parts:
            raise DataError("0 sample(s) while a minimum of 1 is required: there are no objects")
        return np.concatenate(parts)

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
        """Fit to distances or objects."""
        raise NotImplementedError

    def _output_type(self, X: Any) -> Any:
        return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        tags.input_tags.positive_only = self._precomputed()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ClassicalMDS(DistanceTransformer):
    """Classical multidimensional scaling (Torgerson, principal coordinates), with a place for new objects.

    Parameters
    ----------
    n_components : int
        Coordinates; those beyond the number of positive eigenvalues are zero.
    metric : "precomputed", str or callable
        `fit` takes a square matrix of distances, or objects and the name of a metric of `gramian.pairwise_distances`, or
        a function of two objects.
    metric_params : mapping, optional
        Parameters of the metric; ``{"power": 0.5}`` takes the root of every distance.
    correction : None, "lingoes" or "cailliez"
        Add the least constant to the squared distances, or to the distances, that makes them Euclidean.
    n_landmarks : int, optional
        Embed so many objects, drawn at random, and place the others by their distances to these.
    n_jobs : int, optional
        Threads of the metric.
    dtype : "float32", "float64" or None
        Of the algebra; None: that of the matrix.
    random_state : int, RandomState or None
        Draws the landmarks.

    Attributes
    ----------
    embedding_ : (n, n_components) array
    eigenvalues_ : array
        Of the Gram matrix, descending: all of them, the negative too; above 5,000 objects the largest and the least.
    negative_share_ : float
        Share of negative eigenvalues in the absolute sum: how far the distances are from Euclidean ones. Negative
        eigenvalues belong to no coordinate and are left out.
    correction_constant_ : float
    weights_, mean_squares_, landmarks_, objects_
        What places new objects; see `docs/distances.md`.

    Notes
    -----
    New objects are placed by Gower's formula; training objects land on `embedding_`. With a correction objects at distance
    exactly 0 are taken to be one object: the constant stands between different ones.

    Examples
    --------
    >>> from gramian.estimators.mds import ClassicalMDS
    >>> model = ClassicalMDS(n_components=1, metric="levenshtein").fit(["aa", "aab", "aabb"])
    >>> model.embedding_.round(6)
    array([[ 1.],
           [ 0.],
           [-1.]])
    >>> model.transform(["aabbb"]).round(6)
    array([[-2.]])
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str | Callable[..., float] = "precomputed",
        metric_params: Mapping[str, Any] | None = None,
        correction: str | None = None,
        n_landmarks: int | None = None,
        n_jobs: int | None = None,
        dtype: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.correction = correction
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to distances or objects.

        Parameters
        ----------
        X : (n, n) array, or objects
            As `metric` says.
        y : ignored
        """
        training = self._open(X)
        if self.correction not in (None, "lingoes", "cailliez"):
            raise DataError(f"correction is {self.correction!r}; use None, 'lingoes' or 'cailliez'")
        landmarks = self._choose_landmarks(training.n, self._rng())
        D, owned = training.matrix() if landmarks is None else (training.between(landmarks), True)
        if self.n_components > len(D):
            raise DataError(f"n_components={self.n_components} is more than the {len(D)} objects; ask for fewer")
        self.correction_constant_ = 0.0
        if self.correction is not None:
            self.correction_constant_ = correction_constant(D, self.correction)
            D, owned = corrected(D, self.correction, self.correction_constant_), True
        found = classical_scaling(D, self.n_components, overwrite=owned)
        self.landmarks_, self.objects_ = landmarks, training.reference(landmarks)
        self.eigenvalues_, self.negative_share_ = found.eigenvalues, found.negative_share
        self.weights_, self.mean_squares_ = found.weights, found.means
        embedding = found.embedding
        if landmarks is not None and len(landmarks) < training.n:
            blocks = (self._adjusted(rows) for _, rows in training.to(landmarks))
            embedding = np.concatenate([project_rows(rows, found.means, found.weights) for rows in blocks])
            embedding[landmarks] = found.embedding
        self.embedding_ = embedding.astype(training.dtype, copy=False)
        return self

    def _adjusted(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.correction is None:
            return rows
        return corrected(rows, self.correction, self.correction_constant_)
