"""`MDSFDA`: discriminant coordinates and a classifier for labelled objects known by their distances."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from gramian.arrays.types import Array
from gramian.distances import mds
from gramian.distances.mdsfda import Labels, NearestMean, Path, draw_folds, solve_gram
from gramian.distances.mdsfda_large import FeatureDiscriminant, FoldSums, krylov_map, solve_features
from gramian.distances.metrics.gower import split_column
from gramian.distances.objects import FeatureMap, SomeObjects, Training, landmark_map
from gramian.distances.saturation import RATES, choose_rate, sample_objects, saturated, saturated_rows, typical_square
from gramian.errors import Argument, DataError, DroppedClassWarning, shown
from gramian.estimators.spine.distance_estimator import DistanceTransformer, in_range
from gramian.estimators.spine.estimator import Classifier, Tags, rng_of
from gramian.estimators.spine.fields import Fields, array, classes, finite, such_that, table
from gramian.estimators.spine.training import target_column
from gramian.parameters import NUMBERS, number, parameter

Places = npt.NDArray[np.int64]
Options = dict[str, Any]
"""How many coordinates there are, and the regularisation, None where it is to be chosen: what every solver is given."""


@dataclass(eq=False, repr=False)
class MDSFDA(Classifier, DistanceTransformer):
    """Fisher's discriminant coordinates of objects known only by their distances (MDS-FDA).

    The objects' inner products come from the distances by double centring; a few coordinates separate the classes in the
    space they span; new objects are placed by their distances to the training objects and classified by the nearest class
    mean. Regularisation is relative to the largest eigenvalue and by default chosen by cross-validation, from the one
    decomposition that the solution needs anyway.

    Parameters
    ----------
    n_components : int
        Coordinates, strongest first. There are at most as many as classes less one: more than that are not given.
        `predict` works in these coordinates, so ask for all of them where classes are to be predicted.
    metric : "precomputed", str or callable
        `fit` takes a square matrix of distances, or objects and the name of a metric of `gramian.pairwise_distances`, or a
        function of two objects.
    metric_params : mapping, optional
        Parameters of the metric; ``{"power": 0.5}`` takes the root of every distance, which suits counts of edits;
        ``{"window": None}`` lets `dtw` shift series freely, where it allows a tenth of the longer one by default.
    n_landmarks : int, optional
        Use only the distances to so many objects: n x L of them, never held at once.
    landmarks : "random" or "k-means++"
        How they are drawn: all objects equally likely, or each as likely as its squared distance to the nearest so far.
    n_jobs : int, optional
        Threads of the metric.
    dtype : "float32", "float64" or None
        Of the algebra; None: that of the matrix.
    random_state : int, RandomState or None
        Draws folds and landmarks.
    regularization : "cv" or float
        A number is relative to the largest eigenvalue of the Gram matrix.
    saturation : "auto", "cv", float or None
        Let distances d saturate, ``1 - exp(-rate d^2 / typical)`` in place of d^2 (typical: the median): then far objects
        are all equally far, as for a machine with a Gaussian kernel. "cv" chooses between none and three rates, on at most
        700 of the objects; "auto" does so where the regularisation is chosen too, and leaves distances as they are where
        that is a number.
    priors : array, optional
        Class probabilities, in the order of `classes_`; by default those observed.
    singletons : "raise" or "drop"
        A class of one object has no spread. `"drop"` leaves such classes out with a warning, so that cross-validation, whose
        parts may hold one object of a rare class, goes on; they are never predicted. `"raise"` is an error.
    solver : "auto", "exact" or "iterative"
        One full decomposition, or Lanczos over blocks of rows, which also serves memory-mapped distances; "auto": the
        latter above 5,000 objects.

    Attributes
    ----------
    embedding_ : (n, k) array
        Of the training objects, without those of dropped classes; `fit_transform` returns it, and places dropped ones as new.
    kept_ : array or None
        Positions of the objects that were kept, where classes were dropped.
    eigenvalues_ : (k,) array
        Share of each axis' regularised total scatter that lies between classes, descending.
    classes_, priors_ : (c,) arrays
    class_codes_ : (n,) array
        The class of each object of `embedding_`, as an index into `classes_`.
    means_ : (c, k) array
        Class means that `predict` uses, drawn in towards the centre as far as held-out objects say.
    class_distances_ : (c, c) array
        Mean distance between training objects, or landmarks, of every two classes, as given or measured, over at most
        400 of them; NaN within a class of one.
    regularization_ : float
    saturation_ : float or None
    saturation_scale_ : float
        The typical squared distance; 1 where nothing saturates.
    saturation_results_ : dict of arrays
        `saturation`, 0 for none, and held-out `accuracy` of each rate tried; empty where none was.
    cv_results_ : dict of arrays
        `regularization`, held-out `accuracy` and `log_probability`, one entry a value tried.
    negative_share_ : float
        Share of negative eigenvalues in the absolute sum of those computed. They count by their size, as the positive do.
    weights_ : (n or L, k) array
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
    The source's own call, `MDSFDA(n_components=2).fit(D, y).embedding_`, works as it stands; where its equations are loose or
    wrong, those of `gramian.distances.mdsfda` are used instead (element-wise square, 1/N_i, strongest axis first).

    See Also
    --------
    ClassicalMDS : coordinates without classes.
    FisherDiscriminant : the same for rows of a table.

    References
    ----------
    .. [1] MDS-FDA: extending Fisher discriminant analysis to non-vector data; the article and the program of that name.
    .. [2] Mika, S., Ratsch, G., Weston, J., Scholkopf, B. and Muller, K.-R. (1999). Fisher discriminant analysis with kernels.
       IEEE Neural Networks for Signal Processing IX.
    .. [3] Gower, J. C. (1968). Adding a point to vector diagrams in multivariate analysis. Biometrika 55(3).

    Examples
    --------
    >>> from gramian.estimators.mdsfda import MDSFDA
    >>> words = ["aab", "aba", "baa", "aabb", "xyz", "yxz", "zyx", "xyyz"]
    >>> model = MDSFDA(1, metric="levenshtein", metric_params={"power": 0.5}).fit(words, list("aaaaxxxx"))
    >>> model.predict(["abab", "zzxy"]).tolist()
    ['a', 'x']
    """

    _: KW_ONLY
    regularization: float | str = parameter("cv", number(least=0, words="a share of the largest eigenvalue"))
    saturation: float | str | None = parameter("auto", None, "auto", "cv", number(above=0, words="a rate"))
    priors: npt.ArrayLike | None = parameter(None, NUMBERS)
    singletons: str = parameter("raise", "drop")
    solver: str = parameter("auto", "exact", "iterative")

    _fields: ClassVar[Fields] = {
        "classes_": classes("c"),
        "priors_": array("c", finite=True, least=0),
        "means_": array("c", "k", finite=True),
        "_whiten": array("k", None, finite=True),
        "eigenvalues_": array("k"),
        "class_distances_": array("c", "c"),
        "_codes": array("n", dtype="i8", least=0, below="c"),
        "embedding_": array("n", "k", dtype="f", finite=True),
        "kept_": (
            None,
            array("n", dtype="i8", least=0, below=lambda model: model.n_features_in_ if model._precomputed() else None),
        ),
        "saturation_": (None, such_that(finite, lambda rate, model: rate > 0, "a rate")),
        "saturation_scale_": such_that(finite, lambda scale, model: scale >= 0, "a squared distance"),
        "saturation_results_": table("saturation", "accuracy"),
        "regularization_": float,
        "cv_results_": table("regularization", "accuracy", "log_probability"),
    }

    _tags: ClassVar[Tags] = {"target_tags.required": True}

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to distances or objects, and their classes.

        Parameters
        ----------
        X : (n, n) array, or objects
            As `metric` says.
        y : (n,) array, or str
            Classes, at least two, each of at least two objects (but see `singletons`); with `metric="gower"` also the name of
            a column of X.
        """
        return self._fit(X, y)

    def _learn(self, X: Any, y: Any) -> None:
        if isinstance(y, str):
            if self.metric != "gower":
                raise DataError(
                    Argument("y", y),
                    " names a column, which only the tables of ",
                    Argument("metric", "gower"),
                    " have; pass the classes",
                )
            X, y = split_column(X, y)
        opened = self._open(X)
        labels = self._labels(y, opened.n)
        training: Training = opened if self.kept_ is None else SomeObjects(opened, self.kept_)
        options = {
            "n_components": min(int(self.n_components), len(self.classes_) - 1),
            "regularization": None if isinstance(self.regularization, str) else float(self.regularization),
        }
        # A stream each, so that what one draws does not depend on whether another was asked.
        fold_rng, landmark_rng, rate_rng, start_rng = rng_of(self.random_state).spawn(4)
        folds = draw_folds(labels.codes, fold_rng)
        landmarks = self._choose_landmarks(training, landmark_rng)
        self.landmarks_, self.objects_ = landmarks, training.reference(landmarks)
        D, owned = training.matrix() if landmarks is None else (training.between(landmarks), True)
        self._saturate(D, labels if landmarks is None else labels.at(landmarks), options, rate_rng)
        self._codes, known = labels.codes, labels.codes if landmarks is None else labels.codes[landmarks]
        # Steps through the objects in the order of their classes: each class by its share.
        some = np.argsort(known, kind="stable")[mds.some_objects(len(known))]
        self.class_distances_ = mds.class_distances(D[np.ix_(some, some)], known[some], len(self.classes_))
        if landmarks is not None:
            path = self._fit_landmarks(training, landmarks, D, labels, folds, options)
        elif self.solver == "iterative" or (self.solver == "auto" and training.n > mds.MAX_EXACT):
            path = self._fit_iterative(D, labels, folds, start_rng, options)
        else:
            path = self._fit_exact(self._adjusted(D), owned or self.saturation_ is not None, labels, folds, options)
        self.regularization_ = path.chosen
        self.cv_results_ = {
            "regularization": path.regularization,
            "accuracy": path.accuracy,
            "log_probability": path.log_probability,
        }
        self.embedding_ = self.embedding_.astype(training.dtype, copy=False)

    def _saturate(self, D: Array, labels: Labels, options: Options, rng: np.random.Generator) -> None:
        """Set the rate of saturation: the one given, or the best on a sample of the objects."""
        rate: Any = self.saturation
        by_cv = rate == "cv" or (rate == "auto" and options["regularization"] is None)
        self.saturation_ = None if isinstance(rate, str) or rate is None else float(rate)
        self.saturation_scale_ = typical_square(D) if by_cv or self.saturation_ is not None else 1.0
        self.saturation_results_ = {"saturation": np.empty(0), "accuracy": np.empty(0)}
        if by_cv:
            some = sample_objects(labels.codes, rng)
            self.saturation_, accuracy = choose_rate(
                np.asarray(D[np.ix_(some, some)]), labels.only(some), typical=self.saturation_scale_, rng=rng, **options
            )
            rates = np.array([rate or 0.0 for rate in RATES])
            self.saturation_results_ = {"saturation": rates, "accuracy": accuracy}

    def _adjusted(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return saturated(rows, self.saturation_, self.saturation_scale_)

    def _labels(self, y: Any, n: int) -> Labels:
        if y is None:
            raise DataError("requires y to be passed, but the target y is None: MDSFDA needs the objects' classes")
        values = target_column(y)
        if values.dtype == object and any(value is None for value in values):
            raise DataError("Input y contains NaN or None; every object needs a class")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity; every object needs a class")
        check_classification_targets(values)
        check_consistent_length(range(n), values)
        values = self._without_singletons(values)
        self.classes_, codes = np.unique(values, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"there is one class, {shown(self.classes_[0])}; discriminant coordinates need at least two"
            )
        counts = np.bincount(codes)
        if counts.min() < 2:
            single = self.classes_[counts.argmin()]
            raise DataError(
                f"class {shown(single)} has one object, and no spread; give it a second, or leave such classes out with ",
                Argument("singletons", "drop"),
            )
        labels = Labels.of(codes.astype(np.int64), len(self.classes_), self.priors)
        self.priors_ = labels.priors
        return labels

    def _without_singletons(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the classes of the objects that are kept, and set which these are."""
        self.kept_: npt.NDArray[np.int64] | None = None
        classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        if self.singletons == "raise" or counts.min() > 1:
            return values
        single = [shown(label) for label in classes[counts == 1]]
        more = f" and {len(single) - 3} more" if len(single) > 3 else ""
        warnings.warn(
            f"classes of one object are left out: {', '.join(single[:3])}{more}", DroppedClassWarning, stacklevel=5
        )
        self.kept_ = np.flatnonzero(counts[codes] > 1)
        if not len(self.kept_):
            raise DataError("every class has one object; discriminant coordinates need classes of several")
        return values[self.kept_]

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[Any]:
        """Fit, and return `embedding_`; objects of dropped classes are placed as new ones are."""
        self.fit(X, y)
        if self.kept_ is None:
            return self.embedding_
        placed = self.transform(X)
        placed[self.kept_] = self.embedding_
        return placed

    def _fit_exact(self, D: Array, own: bool, labels: Labels, folds: Places, options: Options) -> Path:
        G, self.mean_squares_ = mds.gram(D, overwrite=own)
        solution = solve_gram(G, labels, folds=folds, **options)
        self.negative_share_ = solution.negative_share
        self.weights_, self.embedding_, self.eigenvalues_ = solution.weights, solution.embedding, solution.eigenvalues
        self.means_, self._whiten = solution.classifier.means, solution.classifier.whiten
        return solution.path

    def _fit_iterative(
        self, D: Array, labels: Labels, folds: Places, rng: np.random.Generator, options: Options
    ) -> Path:
        features, X = krylov_map(saturated_rows(D, self.saturation_, self.saturation_scale_), rng)
        sums = FoldSums(labels, folds, X.shape[1])
        sums.add(slice(0, len(X)), X)
        # Inner products sum to zero over the training objects, so these features have mean zero and need no offset.
        solution = self._fit_features(features, sums, labels, options)
        self.embedding_ = X @ solution.coefficients
        return solution.path

    def _fit_landmarks(
        self, training: Training, landmarks: Places, D: Array, labels: Labels, folds: Places, options: Options
    ) -> Path:
        features = landmark_map(self._adjusted(D), training.n)
        sums = FoldSums(labels, folds, features.weights.shape[1])
        for part, rows in training.to(landmarks):
            sums.add(part, mds.project_rows(self._adjusted(rows), features.means, features.weights))
        solution = self._fit_features(features, sums, labels, options)
        self.means_ = self.means_ + solution.mean @ solution.coefficients
        blocks = (self._adjusted(rows) for _, rows in training.to(landmarks))
        self.embedding_ = np.concatenate([mds.project_rows(rows, self.mean_squares_, self.weights_) for rows in blocks])
        return solution.path

    def _fit_features(
        self, features: FeatureMap, sums: FoldSums, labels: Labels, options: Options
    ) -> FeatureDiscriminant:
        solution = solve_features(sums, labels, **options)
        self.mean_squares_, self.negative_share_ = features.means, mds.negative_share(features.values)
        self.weights_ = mds.centre_weights(features.weights @ solution.coefficients)
        self.eigenvalues_ = solution.eigenvalues
        self.means_, self._whiten = solution.classifier.means, solution.classifier.whiten
        return solution

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        return self.log_proba_at(self._embed(X))

    @property
    def class_codes_(self) -> npt.NDArray[np.int64]:
        """The class of each object of `embedding_`, as an index into `classes_`."""
        return self._codes

    def log_proba_at(self, Z: Array) -> npt.NDArray[np.float64]:
        """Return the logarithms of the probabilities of the classes at places in the embedding."""
        return in_range(NearestMean(self.means_, self._whiten, np.log(self.priors_), np.ones(Z.shape[1])).log_proba(Z))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of each class, (m, c), for Gaussian classes with a shared covariance."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class whose mean is nearest in the embedding, priors counted in."""
        nearest = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[nearest]
