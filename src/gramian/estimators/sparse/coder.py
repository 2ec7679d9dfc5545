"""`SparseCoder`: codes of rows over a dictionary that is given."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import DataError
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.sparse.signals import CodingTransformer, matrix_of, numbers_of
from gramian.estimators.spine.estimator import Tags
from gramian.estimators.spine.fields import Fields, Optional, array, design, size
from gramian.estimators.spine.inputs import is_path
from gramian.parameters import PATH, array_of, declared
from gramian.sparse.coders.choice import steps_of
from gramian.sparse.coders.dynamics import require_nonnegative
from gramian.tables import ArrayTable, open_table


@dataclass(eq=False, repr=False)
class SparseCoder(Plots, CodingTransformer):
    """Codes of rows over a dictionary that is given: ``x ~ code @ dictionary``, few coefficients not zero.

    Parameters
    ----------
    dictionary : (k, p) array-like, or path of a table
        One atom per row; it has to be given.
    algorithm : {"omp", "l0", "lasso", "lca", "feedback", "dim", "vq"}
        - `"omp"`: orthogonal matching pursuit, at most `n_nonzero` atoms of length 1, or until the squared error is `tol`;
        - `"l0"`: the best of all codes for ``||x - y D||^2 + penalty ||y||_0``, or of all with `n_nonzero` atoms, by
          exact search;
        - `"lasso"`: the least ``1/2 ||x - y D||^2 + penalty ||y||_1``;
        - `"lca"`: neurons in competition, with a soft (the Lasso's optimum) or hard `threshold` at `penalty`;
        - `"feedback"`: negative feedback on the residual in steps of `step`; with a `penalty` activities shrink;
        - `"dim"`: divisive input modulation with floor `epsilon`, for non-negative atoms and rows;
        - `"vq"`: the nearest atom, with coefficient 1.
    n_nonzero : int, optional
        Atoms a row, at most. By default a tenth of the columns, as in scikit-learn.
    penalty : float, optional
        Price of a coefficient: of its being there (`"l0"`) or of its size. 1 where the algorithm needs one.
    threshold : {"soft", "hard"}, optional
    step : float, optional
        By default half of what would diverge.
    max_iter : int, optional
        Steps, sweeps, or sets of atoms searched; it warns where they do not suffice and `tol` is not 0.
    tol : float, optional
        When to stop: a squared error (`"omp"`), or the change at which a row has settled.
    epsilon : float, optional
    positive : bool
        Coefficients are not negative; not for `"vq"`, always for `"dim"`.

    Attributes
    ----------
    dictionary_ : (k, p) array
        The atoms, checked.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    DictionaryLearner : learns the atoms.
    best_code : the best of some codes that are given.

    Notes
    -----
    Codes begin at zero. A setting that an algorithm has no use for is refused. There is nothing to fit: `transform` works
    at once, and `fit` checks the dictionary against the columns and learns their names.

    References
    ----------
    Y. C. Pati, R. Rezaiifar, P. S. Krishnaprasad (1993), Orthogonal matching pursuit. C. J. Rozell, D. H. Johnson, R. G.
    Baraniuk, B. A. Olshausen (2008), Sparse coding via thresholding and local competition in neural circuits. M. W. Spratling,
    K. De Meyer, R. Kompass (2009), Unsupervised learning of overlapping image components using divisive input modulation.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian as gm
    >>> atoms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> gm.SparseCoder(atoms, n_nonzero=1).transform([[3.0, 4.0], [2.0, 0.1]])
    array([[0., 0., 5.],
           [2., 0., 0.]])
    """

    dictionary: Any = None
    algorithm: str = "omp"
    _: KW_ONLY
    n_nonzero: int | None = None
    penalty: float | None = None
    threshold: str | None = None
    step: float | None = None
    max_iter: int | None = None
    tol: float | None = None
    epsilon: float | None = None
    positive: bool = False

    _plots: ClassVar[tuple[str, ...]] = ("atoms",)
    _parameters = declared(dictionary=(None, array_of("a matrix of atoms"), PATH))

    _fields: ClassVar[Fields] = {
        "n_features_in_": Optional(size("q"), "fit"),
        "_signal_design": Optional(design("q"), "fit"),
        "dictionary_": Optional(array("k", "q", finite=True), "fit"),
    }

    _tags: ClassVar[Tags] = {"requires_fit": False}

    def fit(self, X: Any, y: Any = None) -> Any:
        """Check the dictionary against the columns of rows.

        Parameters
        ----------
        X : array, frame, Arrow data or path(s)
            Rows of numbers.
        y : str or tuple of str, optional
            Columns of X that are not features. Values are ignored.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _learn(self, X: Any, y: Any = None) -> None:
        atoms = self._coder().checked(_given(self.dictionary))
        signals, _ = self._training(X, y)
        if self.n_features_in_ != atoms.shape[1]:
            raise DataError(
                f"X has {self.n_features_in_} features, but SparseCoder is expecting {atoms.shape[1]} features as input: atoms "
                f"and rows have the same columns"
            )
        if self.algorithm == "dim":
            require_nonnegative(
                signals, "Negative values in data: row {row} has {value:g}; 'dim' divides, and takes rows >= 0"
            )
        self.dictionary_ = atoms

    def trajectory(self, X: Any, n_steps: int = 100) -> Array:
        """Return the activities of competing neurons over time, (n_rows, n_steps + 1, k), from zero.

        For `"lca"`, `"feedback"` and `"dim"`, the algorithms that are dynamics.
        """
        values, _ = self._rows(X)
        return steps_of(self._coder(), values, self._atoms(), n_steps)

    def _check_together(self) -> None:
        # A table that is named is read when it is needed.
        if not is_path(self.dictionary):
            self._coder().checked(self.dictionary)

    def _take_up(self) -> None:
        """Raise where the fitted atoms of a file cannot be used by this coder."""
        if "dictionary_" in vars(self):
            self._coder().checked(self.dictionary_)

    def _atoms(self) -> Array:
        fitted: Array | None = vars(self).get("dictionary_")
        return self._coder().checked(_given(self.dictionary)) if fitted is None else fitted

    def _rows(self, X: Any) -> tuple[Array, Any]:
        if "_signal_design" in vars(self):
            return super()._rows(X)
        return SparseCoder(**self.get_params(deep=False)).fit(X)._rows(X)


def _given(dictionary: Any) -> Any:
    """Return a dictionary as it is given, or as the numbers of a file."""
    if not is_path(dictionary):
        return dictionary
    table = open_table(dictionary)
    if isinstance(table, ArrayTable):
        return np.concatenate([np.asarray(chunk) for chunk in table.chunks()])
    design = numbers_of(table, list(table.schema.names), "a dictionary")
    return matrix_of(design, design.rows(table))
