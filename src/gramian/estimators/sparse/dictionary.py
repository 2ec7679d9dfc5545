"""Rows made of atoms that are given, learned from rows, or the one nearest to each.

`SparseCoder` finds codes of rows over a dictionary, `DictionaryLearner` learns the atoms as well, and `VectorQuantizer`
replaces each row by the one atom nearest to it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, shown
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.sparse.signals import CodingTransformer, SignalTransformer, counted_rows, matrix_of, numbers_of
from gramian.estimators.spine.estimator import Tags, rng_of
from gramian.estimators.spine.fields import Fields, Optional, array, design, finite, size
from gramian.estimators.spine.inputs import is_path
from gramian.parameters import OFTEN, PATH, array_of, number, parameter, whole
from gramian.sparse.atoms import as_dictionary, unit_rows
from gramian.sparse.coders.choice import SETTINGS, steps_of
from gramian.sparse.coders.dynamics import require_nonnegative
from gramian.sparse.coders.nearest import move_atoms, nearest, nearest_atom, quantise
from gramian.sparse.dictionary import (
    CodeSums,
    Learned,
    Rules,
    check_updates,
    first_atoms,
    learn_batch,
    learn_epochs,
    solve,
)
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

    dictionary: Any = parameter(None, array_of("a matrix of atoms"), PATH)
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


@dataclass(eq=False, repr=False)
class DictionaryLearner(Plots, CodingTransformer):
    """Atoms of which rows are made, few to a row: a dictionary learned from the rows, in memory or in a stream.

    Parameters
    ----------
    n_components : int, optional
        Atoms; by default as many as columns.
    algorithm : {"omp", "l0", "lasso", "lca", "feedback", "dim", "vq"}
        The coder (see `SparseCoder`). With `"omp"` and `"l0"` atoms have length 1, with `"lasso"` and `"lca"` at most 1.
    update : {"online", "ksvd"}
        How atoms are improved: from the sums of codes (Mairal), or after atoms and coefficients were refitted together.
    n_nonzero, penalty, threshold, step, max_iter, tol, epsilon, positive
        Of the coder (see `SparseCoder`). With `"dim"` atoms are not negative.
    incoherence : float
        Strength with which atoms are kept apart; 0 is not at all.
    n_epochs : int
        Passes of `fit` over the rows.
    batch_size : int
        Rows coded between two improvements.
    init : (k, p) array, optional
        Atoms to begin with; by default rows drawn at random.
    forgetting : float, optional
        Share of what was seen that each `partial_fit` forgets, however many rows it brings.
    random_state : int, RandomState or None

    Attributes
    ----------
    dictionary_ : (k, p) array
    start_ : (k, p) array
        Atoms it began with.
    history_ : array
        Mean squared error of each batch, before the atoms saw it.
    n_iter_ : int
        Passes of `fit`, or batches of `partial_fit`.
    n_replaced_ : int
        Dead atoms that were replaced by a badly explained row.
    sums_ : CodeSums
        Code x code and code x signal sums: all that the atoms are solved from. They add, subtract and scale like moments.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    SparseCoder : codes over atoms that are given.
    VectorQuantizer, NMF : the two extreme constraints of the same model.

    Notes
    -----
    Learners of the same coder that began with the same atoms add: ``a + b`` has the sums of both and the atoms that these ask
    for. ``a - b`` forgets what b has seen. Where each has seen one batch, `update` is `"online"` and no atom was replaced,
    ``a + b`` is the learner that has seen both batches as one. With `"ksvd"` it is not, to a few hundredths: K-SVD refits the
    coefficients of a row to atoms that depend on all rows of its batch, and sums do not tell what other rows would have made of
    them. The atoms of ``a + b`` are then those with the least error for the coefficients of each part.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce, G. Sapiro (2009), Online dictionary learning for sparse coding.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian as gm
    >>> rng = np.random.default_rng(0)
    >>> atoms = np.eye(3)[[0, 2]]
    >>> rows = rng.normal(size=(200, 1)) * atoms[rng.integers(0, 2, 200)]
    >>> learner = gm.DictionaryLearner(2, n_nonzero=1).fit(rows)
    >>> np.abs(learner.dictionary_).sum(axis=0).round(6)
    array([1., 0., 1.])
    """

    n_components: int | None = parameter(None, whole())
    _: KW_ONLY
    algorithm: str = "omp"
    update: str = parameter("online", "ksvd")
    n_nonzero: int | None = None
    penalty: float | None = None
    threshold: str | None = None
    step: float | None = None
    max_iter: int | None = None
    tol: float | None = None
    epsilon: float | None = None
    positive: bool = False
    incoherence: float = parameter(0.0, number(least=0, most=1e150))
    n_epochs: int = parameter(10, OFTEN)
    batch_size: int = parameter(512, whole())
    init: Any = parameter(None, array_of("a matrix of atoms"))
    forgetting: float | None = parameter(None, number(least=0, below=1, words="a share"))
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("atoms", "learning")

    _fields: ClassVar[Fields] = {
        "start_ _code_signal": array("k", "q", finite=True),
        "history_": array(None),
        "n_iter_ n_replaced_": int,
        "_weight _signal_square": finite,
        "_code_code": array("k", "k", finite=True),
        "_uses": array("k", finite=True),
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from rows in memory, in several passes over random batches.

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

    def _learn(self, X: Any, y: Any) -> None:
        signals, _ = self._training(X, y)
        rules, rng = self._rules(), rng_of(self.random_state)
        state, errors = learn_epochs(
            self._begin(signals, rules, rng), signals, rules, rng, n_epochs=self.n_epochs, batch_size=self.batch_size
        )
        self._keep(state, errors)
        self.n_iter_ = int(self.n_epochs)

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Learn from one more batch of rows; what was seen stays in the sums, less what is forgotten.

        Parameters and result are those of `fit`.
        """
        return self._fit_more(X, y)

    def _learn_more(self, X: Any, y: Any) -> None:
        more = "dictionary_" in vars(self)
        signals, _ = self._training(X, y, more=more)
        rules = self._rules()
        state = self._state() if more else self._begin(signals, rules, rng_of(self.random_state))
        keep = 1.0 - (0.0 if self.forgetting is None else float(self.forgetting))
        state = learn_batch(state, signals, rules, keep=keep)
        self._keep(state, np.append(self.history_ if more else [], state.error))
        self.n_iter_ = 1 + (self.n_iter_ if more else 0)

    def __add__(self, other: Any) -> Any:
        return self._merged(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._merged(other, -1)

    @property
    def sums_(self) -> CodeSums:
        """The sums that the atoms are solved from."""
        check_is_fitted(self)
        return self._state().sums

    def _merged(self, other: Any, sign: int) -> Any:
        if not isinstance(other, DictionaryLearner):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        if self.start_.shape != other.start_.shape or not np.array_equal(self.start_, other.start_):
            raise DataError(
                "these learners began with different atoms: atom 0 of one is not atom 0 of the other; give both the same init"
            )
        if self._signal_design.origins != other._signal_design.origins:
            raise DataError("these learners have different columns; fit them on the same")
        for name in ("algorithm", *SETTINGS, "update", "incoherence"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise DataError(
                    f"these learners differ in {name}: {shown(mine)} and {shown(theirs)}; sums add where rows are coded alike"
                )
        out = copy(self)
        sums = self.sums_ + other.sums_ if sign > 0 else self.sums_ - other.sums_
        state = Learned(solve(self.start_, sums, self._rules()), sums, self.n_replaced_ + sign * other.n_replaced_)
        out._keep(state, np.concatenate([self.history_, other.history_]) if sign > 0 else self.history_)
        return out

    def _begin(self, signals: Array, rules: Rules, rng: np.random.Generator) -> Learned:
        n_atoms = signals.shape[1] if self.n_components is None else self.n_components
        if self.init is None:
            atoms = first_atoms(signals, n_atoms, rng, length=rules.length)
        else:
            atoms = as_dictionary(self.init, zero_atoms=rules.length == "free")
            if (self.n_components is not None and len(atoms) != self.n_components) or atoms.shape[1] != signals.shape[
                1
            ]:
                raise DataError(
                    f"init has shape {atoms.shape}; {(n_atoms, signals.shape[1])} is needed, one atom per row"
                )
            atoms = atoms if rules.length == "free" else unit_rows(atoms)
        rules.coder.checked(atoms)
        self.start_ = atoms
        return Learned(atoms, CodeSums.empty(*atoms.shape))

    def _keep(self, state: Learned, errors: Array) -> None:
        self.dictionary_ = state.atoms
        self.history_ = np.asarray(errors, dtype=np.float64)
        self.n_replaced_ = int(state.replaced)
        sums = state.sums
        self._weight, self._signal_square = float(sums.weight), float(sums.signal_square)
        self._code_code, self._code_signal, self._uses = sums.code_code, sums.code_signal, sums.uses

    def _state(self) -> Learned:
        sums = CodeSums(self._weight, self._code_code, self._code_signal, self._signal_square, self._uses)
        return Learned(self.dictionary_, sums, self.n_replaced_)

    def _rules(self) -> Rules:
        return Rules(self._coder(), self.update == "ksvd", float(self.incoherence), self.algorithm == "dim")

    def _check_together(self) -> None:
        check_updates(self._coder(), self.update)
        if self.n_components is not None and self.n_nonzero is not None and self.n_nonzero > self.n_components:
            raise DataError(
                Argument("n_nonzero", self.n_nonzero), f" is more than the {self.n_components} atoms; ask for fewer"
            )


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

    n_components: int = parameter(8, whole())
    _: KW_ONLY
    n_init: int = parameter(1, OFTEN)
    max_iter: int = parameter(300, whole())
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("cells", "atoms")

    _fields: ClassVar[Fields] = {"uses_": array("k", finite=True), "inertia_": finite, "n_iter_": int}

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
