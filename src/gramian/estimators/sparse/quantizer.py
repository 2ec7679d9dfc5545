"""`VectorQuantizer`: each row by the one atom nearest to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.sparse.signals import SignalTransformer, counted_rows
from gramian.estimators.spine.estimator import rng_of
from gramian.estimators.spine.fields import Fields, array, finite
from gramian.parameters import OFTEN, declared, whole
from gramian.sparse.coders.nearest import move_atoms, nearest, nearest_atom, quantise


@dataclass(eq=False, repr=False)
class VectorQuantizer(Plots, SignalTransformer):
    """Each row as the one atom nearest to it: the dictionary model with one coefficient, equal to 1 (k-means).

    Parameters
    ----------
    n_components : int
        Atoms.
    n_init : int
        Starts of k-means, of which the best is kept.
    max_iter : int
        Iterations of each.
    random_state : int, RandomState or None

    Attributes
    ----------
    dictionary_ : (k, p) array
        The means of the rows that each atom stands for.
    uses_ : (k,) array
        How many rows, by weight.
    inertia_ : float
        Squared error of the rows of `fit`.
    n_iter_ : int
        Iterations of the best start.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    SparseCoder : `algorithm="vq"` is the same code over atoms that are given.

    References
    ----------
    J. MacQueen (1967), Some methods for classification and analysis of multivariate observations.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.VectorQuantizer(2).fit([[0.0, 0.0], [0.0, 2.0], [9.0, 9.0]])
    >>> model.inverse_transform(model.transform([[1.0, 1.0]]))
    array([[0., 1.]])
    """

    n_components: int = 8
    _: KW_ONLY
    n_init: int = 1
    max_iter: int = 300
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("cells", "atoms")
    _parameters = declared(n_components=whole(), n_init=OFTEN, max_iter=whole())

    _fields: ClassVar[Fields] = {
        "uses_": array("k", finite=True),
        "inertia_": finite,
        "n_iter_": int,
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find atoms for rows in memory.

        Parameters
        ----------
        X : array, frame, Arrow data or path(s)
            Rows of numbers.
        y : str or tuple of str, optional
            Columns of X that are not features. Values are ignored.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        signals, weights = self._training(X, y, sample_weight)
        self._refuse_few(signals)
        quantised = quantise(
            signals,
            self.n_components,
            row_weights=weights,
            n_init=self.n_init,
            max_iter=self.max_iter,
            seed=int(rng_of(self.random_state).integers(2**31 - 1)),
        )
        self.dictionary_, self.uses_, self.inertia_, self.n_iter_ = quantised

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Move each atom to the mean of all rows that it has stood for, this batch included.

        Parameters and result are those of `fit`; the first batch has at least as many rows as there are atoms.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        if "dictionary_" not in vars(self):
            self._learn(X, y, sample_weight)
            return
        signals, weights = self._training(X, y, sample_weight, more=True)
        self.dictionary_, self.uses_ = move_atoms(self.dictionary_, self.uses_, signals, weights)

    def predict(self, X: Any) -> Array:
        """Return the number of the atom nearest to each row, (n_rows,); of atoms equally near the first."""
        values, _ = self._rows(X)
        return nearest_atom(np.asarray(values, dtype=np.float64), self.dictionary_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the squared error of rows, each by its nearest atom, as scikit-learn's k-means does; higher is better.

        Parameters
        ----------
        X : rows in memory
        y : ignored
        sample_weight : array, optional
            One weight per row.
        """
        values = np.asarray(self._rows(X)[0], dtype=np.float64)
        errors = np.square(values - self.dictionary_[nearest_atom(values, self.dictionary_)]).sum(axis=1)
        weights = counted_rows(sample_weight, len(values))
        return -float(errors.sum() if weights is None else weights @ errors)

    def _refuse_few(self, signals: Array) -> None:
        if len(signals) < self.n_components:
            raise DataError(
                f"VectorQuantizer finds {self.n_components} atoms in at least as many rows; got n_samples = {len(signals)}"
            )

    def _codes(self, signals: Array) -> Array:
        return nearest(np.asarray(signals, dtype=np.float64), self.dictionary_)
