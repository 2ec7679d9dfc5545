"""`ClassicalMDS`: coordinates from distances, for new objects too."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramian.distances.mds import classical_scaling, corrected, correction_constant, project_rows, some_objects, stress
from gramian.errors import Argument, DataError
from gramian.estimators.spine.distance_estimator import DistanceTransformer
from gramian.estimators.spine.estimator import rng_of
from gramian.estimators.spine.fields import Fields
from gramian.parameters import parameter


@dataclass(eq=False, repr=False)
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
        Parameters of the metric; ``{"power": 0.5}`` takes the root of every distance; ``{"window": None}`` lets `dtw` shift
        series freely, where it allows a tenth of the longer one by default.
    n_landmarks : int, optional
        Embed so many objects and place the others by their distances to these.
    landmarks : "random" or "k-means++"
        How they are drawn: all objects equally likely, or each as likely as its squared distance to the nearest so far.
    n_jobs : int, optional
        Threads of the metric.
    dtype : "float32", "float64" or None
        Of the algebra; None: that of the matrix.
    random_state : int, RandomState or None
        Draws the landmarks.
    correction : None, "lingoes" or "cailliez"
        Add the least constant to the squared distances, or to the distances, that makes them Euclidean.

    Attributes
    ----------
    embedding_ : (n, n_components) array
    eigenvalues_ : array
        Of the Gram matrix, descending: all of them, the negative too; above 5,000 objects the largest and the least.
    negative_share_ : float
        Share of negative eigenvalues in the absolute sum: how far the distances are from Euclidean ones. Negative
        eigenvalues belong to no coordinate and are left out.
    stress_ : float
        Kruskal's stress-1 of the coordinates, over at most 400 of the objects: 0 where they keep every distance.
    correction_constant_ : float
        What the correction adds; 0 without one.
    weights_ : (n or L, n_components) array
        On centred rows of squared distances.
    mean_squares_ : (n or L,) array
        Column means of the squared distances between the reference objects.
    landmarks_ : (L,) array or None
        Positions of the landmarks among the training objects.
    objects_ : list, array or None
        The reference objects, None where distances are given.
    n_features_in_ : int
        Only for rows of distances or of numbers: how many.
    feature_names_in_ : array of str
        Only for rows with named columns: their names.

    Notes
    -----
    New objects are placed by Gower's formula; training objects land on `embedding_`. With a correction objects at distance
    exactly 0 are taken to be one object: the constant stands between different ones.

    See Also
    --------
    MDSFDA : coordinates that separate classes.
    pairwise_distances : the distances themselves.

    References
    ----------
    .. [1] Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17(4).
    .. [2] Gower, J. C. (1968). Adding a point to vector diagrams in multivariate analysis. Biometrika 55(3).
    .. [3] de Silva, V. and Tenenbaum, J. B. (2004). Sparse multidimensional scaling using landmark points. Stanford University.

    Examples
    --------
    >>> from gramian.estimators.mds import ClassicalMDS
    >>> model = ClassicalMDS(n_components=1, metric="levenshtein").fit(["aa", "aab", "aabb"])
    >>> model.embedding_.round(6) + 0
    array([[ 1.],
           [ 0.],
           [-1.]])
    >>> model.transform(["aabbb"]).round(6)
    array([[-2.]])
    """

    _: KW_ONLY
    correction: str | None = parameter(None, "lingoes", "cailliez")

    _fields: ClassVar[Fields] = {"correction_constant_ stress_": float}

    def _learn(self, X: Any, y: Any) -> None:
        training = self._open(X)
        landmarks = self._choose_landmarks(training, rng_of(self.random_state))
        D, owned = training.matrix() if landmarks is None else (training.between(landmarks), True)
        if self.n_components > len(D):
            raise DataError(
                Argument("n_components", self.n_components), f" is more than the {len(D)} objects; ask for fewer"
            )
        self.correction_constant_ = 0.0
        if self.correction is not None:
            self.correction_constant_ = correction_constant(D, self.correction)
            D, owned = corrected(D, self.correction, self.correction_constant_), True
        some = some_objects(len(D))
        given = np.array(D[np.ix_(some, some)])
        scaling = classical_scaling(D, self.n_components, overwrite=owned)
        self.stress_ = stress(given, scaling.embedding[some])
        self.landmarks_, self.objects_ = landmarks, training.reference(landmarks)
        self.eigenvalues_, self.negative_share_ = scaling.eigenvalues, scaling.negative_share
        self.weights_, self.mean_squares_ = scaling.weights, scaling.means
        embedding = scaling.embedding
        if landmarks is not None and len(landmarks) < training.n:
            blocks = (self._adjusted(rows) for _, rows in training.to(landmarks))
            embedding = np.concatenate([project_rows(rows, scaling.means, scaling.weights) for rows in blocks])
            embedding[landmarks] = scaling.embedding
        self.embedding_ = embedding.astype(training.dtype, copy=False)

    def _adjusted(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.correction is None:
            return rows
        return corrected(rows, self.correction, self.correction_constant_)
