"""`TSNEMap` and `UMAPMap`: pictures that keep neighbours together, by the libraries people use, from this package's features.

Both start from principal components (for tables with categories those of MCA and FAMD): their distances are what neighbours
are found by, and the first of them is where the points start, so that the large shape of the picture is that of the data and
the same seed gives the same picture. Nothing of t-SNE or UMAP is written here.

What the libraries build is not kept in the estimator: a fitted map is its features and its picture. Where new rows are to be
placed, the library's part is built again from these, once.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import DataError, optional
from gramian.estimators.pca import PCA
from gramian.estimators.plots.drawings import PlotsEmbedding
from gramian.estimators.spine.estimator import TableEstimator, Tags, seed_of
from gramian.estimators.spine.fields import Fields, array, projection, texts
from gramian.estimators.spine.inputs import is_path, open_rows
from gramian.estimators.spine.outputs import SerialOutputs
from gramian.estimators.spine.training import note_columns
from gramian.maps.projection import Projection
from gramian.moments.value import Moments
from gramian.parameters import GENERATOR, MOST, declared, number, parameter, whole
from gramian.tables import open_table

_PLACERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The library's part of fitted maps: it cannot be saved, and can always be built again."""


class NeighbourMap(PlotsEmbedding, TableEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows in a picture: principal components, then a library's map of them.

    Attributes
    ----------
    embedding_ : (n, n_components) array
        Where the training rows lie.
    features_ : (n, k) array
        The principal components they were placed by.
    projection_ : Projection
        From rows to these components.
    """

    _fields: ClassVar[Fields] = {
        "_columns_in": texts("q"),
        "projection_": projection("p", "f"),
        # Their squares are numbers too.
        "features_": array("n", "f", least=-1e150, below=1e150),
        "embedding_": array("n", "k", dtype="f", finite=True),
    }

    n_components: int
    n_features: int
    random_state: Any
    categorical_features: Any

    # The libraries take seeds of 31 bits.
    _parameters = declared(
        n_components=whole(), n_features=whole(), random_state=(None, whole(0, MOST, words="a seed"), GENERATOR)
    )

    _least_rows = 4
    row_outputs = SerialOutputs
    # A new row is placed among the training rows, so fit_transform is not fit().transform(): see `transform`.
    _tags: ClassVar[Tags] = {"non_deterministic": True}

    # What a subclass says

    def _fit_map(self, features: Array, start: Array, seed: int) -> tuple[Array, Any]:
        """Return the picture, and the library's object."""
        raise NotImplementedError

    def _restored(self, seed: int) -> Any:
        """Return the library's object of a picture that is there already."""
        raise NotImplementedError

    def _place(self, placer: Any, features: Array, seed: int) -> Array:
        """Return where new rows lie."""
        raise NotImplementedError

    # What all share

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array, frame, Arrow data or path(s)
            Rows; moments have none.
        y : str or tuple of str, optional
            Columns of X that are not features. Values are ignored.

        Returns
        -------
        self
        """
        placer = self._fit_by(lambda copy: copy._learn(X, y))
        _PLACERS[self] = placer
        return self

    def _learn(self, X: Any, y: Any) -> Any:
        if isinstance(X, Moments):
            raise DataError(f"{type(self).__name__} places rows, and Moments have none; pass rows")
        # Known beforehand but for files and batches: components of one row would be refused under their own name.
        self._refuse_few(X.shape[0] if getattr(X, "shape", ()) else self._least_rows)
        pca = PCA(categorical_features=self.categorical_features)
        pca.fit(X, y if isinstance(y, str | tuple) else None)
        self._refuse_few(pca.n_samples_)
        whole = pca.projection_
        k = min(self.n_features, whole.n_features)
        note_columns(self, pca._columns_in, named=hasattr(pca, "feature_names_in_"), library=pca._frames)
        self.projection_ = Projection(whole.design, whole.weights[:, :k], whole.offset[:k])
        self.features_ = self._features_of(pca, X)
        seed = seed_of(self.random_state)
        self.embedding_, placer = self._fit_map(self.features_, self._start(seed), seed)
        return placer

    def _refuse_few(self, n: int) -> None:
        if n < self._least_rows:
            raise DataError(f"{type(self).__name__} needs at least {self._least_rows} rows; got n_samples = {n}")

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then return where the rows lie, `embedding_`."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Any:
        """Return where new rows lie among the training rows, (n_rows, n_components).

        A training row that is given again comes out near its place and not on it: it is placed as a stranger.
        """
        check_is_fitted(self)
        features = self._features_of(self, X)
        seed = seed_of(self.random_state)
        if self not in _PLACERS:
            _PLACERS[self] = self._restored(seed)
        return self._place(_PLACERS[self], features, seed)

    def _features_of(self, estimator: Any, X: Any) -> Array:
        projection = self.projection_
        table = open_table(X) if is_path(X) else open_rows(estimator, X, projection.design)
        return np.asarray(projection.apply(projection.design.rows(table)), dtype=np.float64)

    def _start(self, seed: int) -> Array:
        """Return the first components, of unit spread; seeded noise stands in for those that are not there."""
        start = np.random.default_rng(seed).normal(scale=1e-2, size=(len(self.features_), self.n_components))
        known = min(self.n_components, self.features_.shape[1])
        spread = self.features_[:, :1].std()
        start[:, :known] = self.features_[:, :known] / (spread if spread > 0 else 1.0)
        return start

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


@dataclass(eq=False, repr=False)
class TSNEMap(NeighbourMap):
    """A picture of rows by t-SNE (openTSNE), started from principal components.

    Parameters
    ----------
    n_components : int
        Dimensions of the picture.
    perplexity : float
        How many neighbours a row is held to, about.
    n_features : int
        Principal components that neighbours are found by, at most.
    random_state : int, generator or None
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    embedding_ : (n, n_components) array
        Where the training rows lie.
    features_ : (n, k) array
        The principal components they were placed by.
    projection_ : Projection
        From rows to these components.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    UMAPMap : the other library's picture.
    PCA : the components it starts from.

    References
    ----------
    .. [1] Lecture notes on data preprocessing: pictures that keep neighbourhoods, not distances.
    .. [2] van der Maaten, L. and Hinton, G. (2008). Visualizing data using t-SNE. Journal of Machine Learning Research 9.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.estimators.neighbour_maps import TSNEMap
    >>> rows = [[0.0, 0.1], [0.1, 0.0], [0.0, 0.0], [9.0, 9.1], [9.1, 9.0], [9.0, 9.0]] * 4
    >>> TSNEMap(perplexity=5, random_state=0).fit_transform(rows).shape
    (24, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    perplexity: float = parameter(30.0, number(least=1))
    n_features: int = 50
    random_state: Any = None
    categorical_features: Any = "from_dtype"

    def _affinities(self, features: Array, seed: int) -> Any:
        # A perplexity beyond a third of the other rows has no solution.
        perplexity = max(1.0, min(float(self.perplexity), (len(features) - 1) / 3))
        library = _open_tsne()
        return library.affinity.PerplexityBasedNN(features, perplexity=perplexity, random_state=seed)

    def _fit_map(self, features: Array, start: Array, seed: int) -> tuple[Array, Any]:
        library = _open_tsne()
        model = library.TSNE(n_components=self.n_components, random_state=seed)
        # The spread of the first axis at which gradients are largest; the library's own choice for a start of components.
        placer = model.fit(affinities=self._affinities(features, seed), initialization=1e-4 * start)
        return np.array(placer, dtype=np.float64), placer

    def _restored(self, seed: int) -> Any:
        library = _open_tsne()
        return library.TSNEEmbedding(self.embedding_, self._affinities(self.features_, seed), random_state=seed)

    def _place(self, placer: Any, features: Array, seed: int) -> Array:
        n = len(self.features_)
        placed = placer.transform(features, perplexity=min(5.0, (n - 1) / 3), k=min(25, n - 1))
        return np.array(placed, dtype=np.float64)


@dataclass(eq=False, repr=False)
class UMAPMap(NeighbourMap):
    """A picture of rows by UMAP (umap-learn), started from principal components.

    Parameters
    ----------
    n_components : int
        Dimensions of the picture.
    n_neighbors : int
        Neighbours that a row is held to.
    min_dist : float
        How close points may lie.
    n_features : int
        Principal components that neighbours are found by, at most.
    random_state : int, generator or None
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    embedding_ : (n, n_components) array
        Where the training rows lie.
    features_ : (n, k) array
        The principal components they were placed by.
    projection_ : Projection
        From rows to these components.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    TSNEMap : the other library's picture.
    PCA : the components it starts from.

    References
    ----------
    .. [1] Lecture notes on data preprocessing: pictures that keep neighbourhoods, not distances.
    .. [2] McInnes, L., Healy, J. and Melville, J. (2018). UMAP: uniform manifold approximation and projection.
       arXiv:1802.03426.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.estimators.neighbour_maps import UMAPMap
    >>> rows = np.random.default_rng(0).normal(size=(30, 4))
    >>> UMAPMap(n_neighbors=5, random_state=0).fit_transform(rows).shape
    (30, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = parameter(15, whole(2))
    min_dist: float = parameter(0.1, number(least=0, most=1))
    n_features: int = 50
    random_state: Any = None
    categorical_features: Any = "from_dtype"

    def _model(self, start: Array, seed: int, **options: Any) -> Any:
        return _umap().UMAP(
            n_components=self.n_components,
            n_neighbors=min(int(self.n_neighbors), len(start) - 1),
            min_dist=float(self.min_dist),
            init=start,
            random_state=seed,
            # A seed holds the library to one thread; saying so spares its warning.
            n_jobs=1,
            **options,
        )

    def _fit_map(self, features: Array, start: Array, seed: int) -> tuple[Array, Any]:
        placer = self._model(10 * start, seed).fit(features)
        return np.array(placer.embedding_, dtype=np.float64), placer

    def _restored(self, seed: int) -> Any:
        # The graph of the neighbours, and not one step: the picture is there. Steps are for new rows.
        placer = self._model(self.embedding_, seed, n_epochs=0).fit(self.features_)
        placer.n_epochs = None
        placer.embedding_ = self.embedding_.astype(np.float32)
        return placer

    def _place(self, placer: Any, features: Array, seed: int) -> Array:
        # The library keeps the state of its generator: without this a second call would differ from the first.
        placer.transform_seed = seed
        return np.array(placer.transform(features), dtype=np.float64)


def _open_tsne() -> Any:
    return optional("openTSNE", "t-SNE", "openTSNE", extra="views")


def _umap() -> Any:
    with warnings.catch_warnings():
        # It says on import that a part of it that is not used here needs another package.
        warnings.simplefilter("ignore", ImportWarning)
        return optional("umap", "UMAP", "umap-learn", extra="views")
