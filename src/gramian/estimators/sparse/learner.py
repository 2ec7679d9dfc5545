"""`DictionaryLearner`: atoms of which rows are made, learned from them."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, shown
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.sparse.signals import CodingTransformer
from gramian.estimators.spine.estimator import rng_of
from gramian.estimators.spine.fields import Fields, array, finite
from gramian.parameters import OFTEN, array_of, declared, number, whole
from gramian.sparse.atoms import as_dictionary, unit_rows
from gramian.sparse.coders.choice import SETTINGS
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

    n_components: int | None = None
    _: KW_ONLY
    algorithm: str = "omp"
    update: str = "online"
    n_nonzero: int | None = None
    penalty: float | None = None
    threshold: str | None = None
    step: float | None = None
    max_iter: int | None = None
    tol: float | None = None
    epsilon: float | None = None
    positive: bool = False
    incoherence: float = 0.0
    n_epochs: int = 10
    batch_size: int = 512
    init: Any = None
    forgetting: float | None = None
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("atoms", "learning")
    _parameters = declared(
        n_components=(None, whole()),
        update=("online", "ksvd"),
        incoherence=number(least=0, most=1e150),
        n_epochs=OFTEN,
        batch_size=whole(),
        init=(None, array_of("a matrix of atoms")),
        forgetting=(None, number(least=0, below=1, words="a share")),
    )

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
