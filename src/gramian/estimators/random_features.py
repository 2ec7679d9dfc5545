"""`RandomFeatures`: rows mapped by fixed random weights, to fewer dimensions or to more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from gramian.design.encoder import Encoder
from gramian.design.schema import Schema
from gramian.errors import Argument, DataError
from gramian.estimators.spine import fields
from gramian.estimators.spine.estimator import RowTransformer, TableEstimator, Tags, seed_of
from gramian.estimators.spine.fields import Fields, Optional, size, texts
from gramian.estimators.spine.inputs import all_float32, open_rows
from gramian.estimators.spine.training import Training, note_columns, read
from gramian.maps.formula import Apply, Formula, Scale, Step
from gramian.maps.projection import Rows
from gramian.moments.advice import identifiers_among
from gramian.parameters import MATRIX, number, parameter, whole
from gramian.random.drawing import PROJECTIONS, THIRD, Drawing
from gramian.random.features import (
    ACTIVATIONS,
    FAST,
    DrawnWeights,
    GivenWeights,
    RandomMap,
    StructuredWeights,
    Weights,
    activate,
    count_rows,
    least_dimension,
    read_labels,
)


@dataclass(eq=False, repr=False)
class RandomFeatures(TableEstimator, ClassNamePrefixFeaturesOutMixin, RowTransformer, BaseEstimator):
    """Features of rows by a fixed random map, g(V x'), to fewer dimensions or to more.

    Down, random projections keep distances (Johnson and Lindenstrauss); up, with an activation, they make classes linearly
    separable that were not. A category needs no one-hot matrix: each level has a row of weights, drawn by its label, which is
    gathered and added.

    Parameters
    ----------
    n_components : int or "auto"
        Features, fewer or more than columns. `"auto"`: as many as keep all squared distances between the rows of fit to a share
        `eps`, by the bound of Johnson and Lindenstrauss; where that is more than there are design columns it raises.
    activation : None, "tanh", "sigmoid", "relu", "step" or "cos"
        `"cos"` makes random Fourier features: with the projections `"gaussian"` and `"hadamard"` their products estimate the
        Gaussian kernel ``exp(-scale^2 |x - y|^2 / (2 c))``, c the number of columns, with an error of
        1 / sqrt(n_components). The other projections estimate other kernels (see Notes).
    weights : (p, k) or (p + 1, k) array, optional
        Weights over `design_names_` instead of random ones; a last row more is the bias. `n_components` is then k.
    projection : {"gaussian", "uniform", "sparse", "hadamard"}
        How weights are drawn. `"hadamard"` is a structured matrix that multiplies in k log p steps.
    density : float or "auto"
        Of `"sparse"`: the share of weights that are not 0. At a third (Achlioptas) the bound of Johnson and Lindenstrauss holds
        for any rows; at `"auto"`, 1 / sqrt(p) (Li, Hastie and Church), for rows without heavy tails.
    scale : float
        With an activation: the standard deviation of net inputs, for columns of unit variance.
    eps : float
        See `n_components`.
    random_state : int, generator or None
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    weights_ : (p + 1, k) array
        Over `design_names_`, the bias last.
    n_components_ : int
    design_names_ : list of str
    projection_ : Projection
        From rows to net inputs.
    design_ : Design
        What is read of a row: source columns and their levels.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    ELMClassifier, ELMRegressor : the same features with outputs fitted to them.
    EchoStateFeatures : a fixed random map of sequences.

    Notes
    -----
    Numbers are taken as they are: scale them first where their units differ. A missing number and an unseen level add nothing.

    With `activation="cos"` and d_j = scale (x_j - y_j) / sqrt(c) over the design columns j, products of features estimate the
    product over j of sin(sqrt(3) d_j) / (sqrt(3) d_j) for `projection="uniform"` and of 1 - r + r cos(d_j / sqrt(r)), r the
    density, for `"sparse"`. Both are near the Gaussian kernel for many columns of small differences only.

    References
    ----------
    Achlioptas (2003), J. Comput. Syst. Sci. 66; Le, Sarlos and Smola (2013), ICML; Li, Hastie and Church (2006), KDD; Rahimi
    and Recht (2007), NIPS; Yu et al. (2016), NIPS.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> V = np.array([[0.5, -1.0], [0.25, 0.0], [-0.4, 0.1]])
    >>> gm.RandomFeatures(weights=V, activation="step").fit_transform([[0.0, 0.0], [1.0, 2.0]])
    array([[0., 1.],
           [1., 0.]])
    >>> gm.RandomFeatures(3).fit_transform([["red", 1.0], ["blue", 2.0]]).shape
    (2, 3)
    """

    n_components: Any = parameter(100, "auto", whole())
    _: KW_ONLY
    activation: str | None = parameter(None, *ACTIVATIONS)
    weights: npt.ArrayLike | None = parameter(None, MATRIX)
    projection: str = parameter("gaussian", *PROJECTIONS)
    density: float | str = parameter(THIRD, "auto", number(above=0, most=1, words="a share"))
    scale: float = parameter(1.0, number(above=0))
    eps: float = parameter(0.1, number(above=0, below=1))
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "projection_": fields.projection(),
        "design_names_": texts("p"),
        "n_components_": size("k"),
        "_drawn_from": int,
        "_normal_rows": Optional(bool),
    }

    _tags: ClassVar[Tags] = {"transformer_tags.preserves_dtype": ["float64", "float32"]}

    # Fitting

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the weights; of the rows only columns and levels are looked at.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s) or iterable of batches
        y : str or tuple of str, optional
            Columns of X that are not features. Values are ignored.
        """
        return self._fit(X, y)

    def _learn(self, X: Any, y: Any) -> None:
        training = read(self, X, y)
        columns = list(training.schema())
        note_columns(self, [column.origin for column in columns], named=training.named, library=training.library)
        coded = Schema(tuple(column for column in columns if column.form == "category"))
        labels, n_rows = read_labels(training.table, Encoder(coded)) if len(coded) else ([], self._rows_of(training))
        if n_rows == 0:
            raise DataError(f"{training.table.describe} has no rows: 0 sample(s) while a minimum of 1 is required")
        # Given weights are of all columns.
        aside = identifiers_among(columns, labels, n_rows) if self.weights is None else {}
        labels = [each for name, each in zip(coded.names, labels, strict=True) if name not in aside]
        columns = [column for column in columns if column.name not in aside]
        p = len(columns) - len(labels) + sum(map(len, labels))
        self._drawn_from = seed_of(self.random_state)
        source: Weights
        if self.weights is not None:
            source = GivenWeights(self.weights, columns, labels, called="weights")
            self.n_components_ = source.size
        else:
            self.n_components_ = self._dimension(p, n_rows)
            source = self._source(p, len(columns))
        map_of_rows = RandomMap.of(source, columns, labels, self.activation)
        self.projection_ = map_of_rows.projection
        self.design_names_ = list(map_of_rows.design.names)

    def _rows_of(self, training: Training) -> int:
        needed = isinstance(self.n_components, str) and self.weights is None
        return count_rows(training.table) if needed or training.table.n_rows is not None else 1

    def _dimension(self, p: int, n_rows: int) -> int:
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        least = least_dimension(n_rows, self.eps)
        if least > p:
            raise DataError(
                Argument("n_components", "auto"),
                f" needs {least} dimensions to keep the distances of {n_rows} rows to ",
                Argument("eps", self.eps),
                f", and there are {p} design columns; give a number, or a larger eps",
            )
        return least

    def _source(self, p: int, n_columns: int) -> Weights:
        density = 1 / np.sqrt(p) if isinstance(self.density, str) else float(self.density)
        if self.projection != "hadamard":
            drawing = Drawing(self.projection, self.n_components_, self._drawn_from, density=min(density, 1.0))
            return DrawnWeights(drawing, self.activation, float(self.scale), n_columns)
        self._normal_rows = self.activation == "cos"
        return self._structured(n_columns)

    def _structured(self, n_columns: int) -> StructuredWeights:
        drawing = Drawing("gaussian", self.n_components_, self._drawn_from)
        # A file of an older version does not say: its rows have one length with every activation.
        normal = bool(self.__dict__.get("_normal_rows", False))
        return StructuredWeights(drawing, self.activation, float(self.scale), n_columns, normal)

    # Transforming

    def transform(self, X: Any) -> Any:
        """Return the features of rows in memory, (n_rows, k). Float32 where every number of X is."""
        check_is_fitted(self)
        design = self.projection_.design
        table = open_rows(self, X, design)
        dtype = np.float32 if design.numeric and all_float32(table, design.origins) else np.float64
        rows = design.rows(table)
        structured = self.projection == "hadamard" and self.weights is None
        if structured and not design.categorical and len(design.columns) >= FAST:
            return self._transformed(rows, dtype)
        if self.activation is None:
            return self.projection_.apply(rows, dtype, table.n_rows)
        features = activate(self.activation, self.projection_.apply(rows, dtype, table.n_rows))
        return features if self._gain() == 1.0 else np.multiply(features, dtype(self._gain()), out=features)

    def _formula(self, method: str) -> Formula | None:
        if method != "transform":
            return None
        steps: tuple[Step, ...] = () if self.activation is None else (Apply(self.activation),)  # type: ignore[arg-type]
        return Formula(self.projection_, (*steps, Scale(self._gain())) if self._gain() != 1.0 else steps)

    def _gain(self) -> float:
        return float(np.sqrt(2 / self.n_components_)) if self.activation == "cos" and self.weights is None else 1.0

    def _transformed(self, rows: Iterable[Rows], dtype: Any) -> npt.NDArray:
        """Return the features of numbers by the fast transform, a block of rows at a time."""
        design, n_columns = self.projection_.design, len(self.projection_.design.columns)
        source = self._structured(n_columns)
        blocks = source.projection(n_columns)
        parts = []
        for part in rows:
            step = max(1, 2**20 // len(design.columns))
            for start in range(0, len(part), step):
                values = part.numbers[start : start + step]
                values = values.toarray() if sp.issparse(values) else np.asarray(values, dtype=np.float64)
                net = source.spread * blocks.apply(np.nan_to_num(values, nan=0.0)) + self.projection_.offset
                parts.append((self._gain() * activate(self.activation, net)).astype(dtype, copy=False))
        return np.concatenate(parts) if parts else np.empty((0, self.n_components_), dtype=dtype)

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """The weights over `design_names_`, the bias last."""
        check_is_fitted(self)
        return np.vstack([self.projection_.weights, self.projection_.offset])

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)
