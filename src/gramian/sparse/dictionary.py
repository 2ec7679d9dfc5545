"""Dictionary learning: code a batch, add up its sums, improve the atoms, replace those of no use.

The state is a dictionary and the sums of all codes so far, each made with the dictionary of its time (Mairal et al.
2009). Older codes are worse ones; `fit` therefore forgets at a rate that keeps one pass over the data in the sums.

*Sums.* For fixed codes C of signals X the squared error of a dictionary D is

    ||X - C D||^2 = tr(X^T X) - 2 tr(D^T B) + tr(D^T A D),   A = C^T C,   B = C^T X,

so A (k x k), B (k x p) and one number hold all that an update of the atoms needs, whatever the number of signals. They are
sums over rows, as moments are: sums of two parts add, a part can be taken off again, and a factor below 1 forgets.

*The best atoms for given codes* are found by block coordinate descent on their sums, atom by atom. With ``A = C^T C`` and ``B
= C^T X`` (`CodeSums`) half the squared error is, up to a constant, ``1/2 tr(D^T A D) - tr(D^T B)``. In one atom alone it is
``A_jj/2 ||d||^2 - d.u`` with ``u = B_j - sum_{i != j} A_ji d_i``, so the atom's best value is

- ``u / A_jj`` where its length is free (vector quantisation: the mean of its signals);
- the same, drawn back to length 1 where it is longer, where it lies in the unit ball (Mairal et al. 2009), as it must where
  coefficients are penalised: longer atoms would buy smaller coefficients;
- ``u / ||u||`` where its length is 1, as where non-zero coefficients are counted and their size costs nothing.

Each is exact, so the error never rises. In the ball the problem is convex in all atoms together.

Incoherence adds ``strength w/2 sum_{i != j} (d_i.d_j)^2``, w the mean of the A_jj. The part of one atom is bounded
above by its tangent plus ``w strength L ||d - d_j||^2`` for L the largest eigenvalue of D D^T, so the same three
formulas hold with ``A_jj + c`` in place of A_jj and ``u + c d_j - 2 w strength sum_i (d_i.d_j) d_i`` in place of u, c
= 2 w strength L: still no rise.

*K-SVD* refits an atom and the coefficients that use it together, one atom after the other. Take atom j out of the
reconstruction of the signals that use it: ``E = X_S - C_S D + c d^T``. The best rank-one fit of E replaces ``c d^T``: it is
E's first singular pair, found here by one step of its power iteration from where it stands (Rubinstein et al. 2008): ``d <-
E^T c / ||E^T c||``, ``c <- E d``. Both halves are exact minimisers, so the error never rises, and no coefficient that was zero
becomes anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import Argument, DataError
from gramian.sparse.atoms import largest_eigenvalue, lengths_of, unit_rows
from gramian.sparse.coders.choice import Coder

LENGTHS = {"omp": "sphere", "l0": "sphere", "dim": "sphere", "vq": "free"}
"""What atoms' lengths may be with each coder; at most 1 where coefficients are penalised by their size."""

IDLE = 20.0
"""Mean uses of an atom from which one without any is dead: by chance that happens once in exp(20) times."""

SETTLED = 1e-6
"""Move of an atom at which those solved from sums have settled."""

PASSES = 100
"""Passes over the atoms, at most, where they are solved from sums that stay."""


@dataclass(frozen=True)
class Rules:
    """How a dictionary is learned.

    Attributes
    ----------
    coder : Coder
    ksvd : bool
        Whether atoms and coefficients are refitted together before codes are added up.
    incoherence : float
    positive : bool
        Whether atoms are not negative.
    """

    coder: Coder
    ksvd: bool = False
    incoherence: float = 0.0
    positive: bool = False

    @property
    def length(self) -> str:
        """What an atom's length may be."""
        return LENGTHS.get(self.coder.algorithm, "ball")


@dataclass(frozen=True)
class Learned:
    """A dictionary and the sums behind it.

    Attributes
    ----------
    atoms : (k, p) array
    sums : CodeSums
    replaced : int
        Dead atoms that were replaced so far.
    error : float
        Mean squared error of the last batch, with the atoms it was coded with.
    """

    atoms: Array
    sums: CodeSums
    replaced: int = 0
    error: float = field(default=float("nan"))


def first_atoms(signals: Array, n_atoms: int, rng: np.random.Generator, *, length: str) -> Array:
    """Return atoms to begin with: signals drawn at random, of length 1; noise where there are too few.

    Parameters
    ----------
    signals : (n, p) array
    n_atoms : int
    rng : Generator
    length : {"free", "ball", "sphere"}
        With `"free"` signals are taken as they are.
    """
    usable = np.flatnonzero(np.any(signals != 0, axis=1))
    drawn = np.asarray(signals[rng.permutation(usable)[:n_atoms]], dtype=np.float64)
    missing = n_atoms - len(drawn)
    if missing:
        scale = float(lengths_of(drawn).mean()) if len(drawn) else 1.0
        noise = unit_rows(np.abs(rng.normal(size=(missing, signals.shape[1]))))
        drawn = np.concatenate([drawn, scale * noise])
    return drawn if length == "free" else unit_rows(drawn)


def learn_batch(
    state: Learned, signals: Array, rules: Rules, *, keep: float = 1.0, passes: int = PASSES, tol: float = SETTLED
) -> Learned:
    """Return a dictionary that has also seen a batch.

    Parameters
    ----------
    state : Learned
    signals : (n, p) array
    rules : Rules
    keep : float
        What earlier sums are multiplied by first.
    passes, tol
        Of the descent (see the top of this module).
    """
    atoms = state.atoms
    codes = rules.coder(signals, atoms, learning=True)
    residual = np.asarray(signals, dtype=np.float64) - codes @ atoms
    errors = np.square(residual).sum(axis=1)
    if rules.ksvd:
        atoms, codes = ksvd_sweep(signals, codes, atoms, positive=bool(rules.coder.settings.get("positive")))
    sums = state.sums * keep + CodeSums.of(signals, codes)
    atoms = solve(atoms, sums, rules, passes=passes, tol=tol)
    atoms, sums, count = _without_dead(atoms, sums, signals, errors, rules)
    return Learned(atoms, sums, state.replaced + count, float(errors.mean()))


def solve(atoms: Array, sums: CodeSums, rules: Rules, *, passes: int = PASSES, tol: float = SETTLED) -> Array:
    """Return the atoms that sums ask for, found from where they are."""
    return descend(
        atoms, sums, length=rules.length, positive=rules.positive, incoherence=rules.incoherence, passes=passes, tol=tol
    )


def learn_epochs(
    state: Learned, signals: Array, rules: Rules, rng: np.random.Generator, *, n_epochs: int, batch_size: int
) -> tuple[Learned, Array]:
    """Return a dictionary after some passes over signals in random batches, and each batch's mean squared error.

    Sums are kept of about half of what was seen, and of one pass at most: codes of the first, poor atoms fade.
    """
    n = len(signals)
    errors, seen = [], 0
    for _ in range(n_epochs):
        order = rng.permutation(n)
        for start in range(0, n, batch_size):
            batch = signals[order[start : start + batch_size]]
            seen += len(batch)
            keep = max(0.0, 1 - len(batch) / max(1.0, min(seen / 2, n)))
            state = learn_batch(state, batch, rules, keep=keep, passes=2, tol=0.0)
            errors.append(state.error)
    return replace(state, atoms=solve(state.atoms, state.sums, rules)), np.array(errors)


def _without_dead(
    atoms: Array, sums: CodeSums, signals: Array, errors: Array, rules: Rules
) -> tuple[Array, CodeSums, int]:
    """Return atoms and sums with each atom that nobody uses replaced by a signal that is badly explained."""
    if sums.uses.mean() < IDLE:
        return atoms, sums, 0
    # Forgetting leaves a trace of uses that ended long ago: less than half a signal counts as no use.
    dead = np.flatnonzero(sums.uses < 0.5)
    worst = np.argsort(-errors, kind="stable")[: len(dead)]
    worst = worst[errors[worst] > 0]
    dead = dead[: len(worst)]
    if not len(dead):
        return atoms, sums, 0
    fresh = np.asarray(signals[worst], dtype=np.float64)
    atoms = atoms.copy()
    atoms[dead] = fresh if rules.length == "free" else unit_rows(fresh)
    return atoms, sums.without(dead), len(dead)


def check_updates(coder: Coder, update: str) -> None:
    """Raise where K-SVD cannot refit the codes of a coder."""
    if update == "ksvd" and coder.algorithm not in ("omp", "l0"):
        raise DataError(
            Argument("update", "ksvd"),
            f" refits coefficients freely, and algorithm {coder.algorithm!r} restricts them; use 'omp' or 'l0', or ",
            Argument("update", "online"),
        )


BOUNDS = {"free": 0, "ball": 1, "sphere": 2}
"""What the length of an atom may be."""


def descend(
    atoms: Array,
    sums: CodeSums,
    *,
    length: str,
    positive: bool = False,
    incoherence: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
) -> Array:
    """Return atoms improved for the codes behind some sums, (k, p).

    Parameters
    ----------
    atoms : (k, p) array
        Where to begin. Atoms that no code uses stay as they are.
    sums : CodeSums
    length : {"free", "ball", "sphere"}
        What the length of an atom may be: anything, at most 1, exactly 1.
    positive : bool
        Atoms are not negative.
    incoherence : float
        Strength with which atoms are kept apart; 0 is not at all.
    passes : int
        Over all atoms, at most.
    tol : float
        Move of an atom, relative to the longest, at which to stop.

    Notes
    -----
    O(k^2 p) per pass.

    Examples
    --------
    >>> codes = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> sums = CodeSums.of(np.array([[2.0, 2.0], [0.0, 3.0]]), codes)
    >>> descend(np.eye(2), sums, length="free")
    array([[1., 1.],
           [0., 3.]])
    """
    out = np.array(atoms, dtype=np.float64, order="C")
    diagonal = np.diag(sums.code_code)
    used = diagonal[diagonal > 0]
    if not len(used):
        return out
    weight = incoherence * float(used.mean())
    for _ in range(passes):
        extra = 2 * weight * largest_eigenvalue(out) if weight else 0.0
        moved = _pass(out, sums.code_code, sums.code_signal, BOUNDS[length], positive, weight, extra)
        if moved <= tol * float(np.sqrt(np.square(out).sum(axis=1).max())):
            break
    return out


@kernel("float64(float64[:,::1], float64[:,::1], float64[:,::1], int64, boolean, float64, float64)")
def _pass(atoms, code_code, code_signal, bound, positive, weight, extra):  # type: ignore[no-untyped-def]
    k, p = atoms.shape
    u = np.empty(p)
    largest = 0.0
    for j in range(k):
        own = code_code[j, j]
        if own <= 0:
            continue
        for t in range(p):
            u[t] = code_signal[j, t] + extra * atoms[j, t]
        for i in range(k):
            pull = code_code[j, i] if i != j else 0.0
            if weight > 0 and i != j:
                cosine = 0.0
                for t in range(p):
                    cosine += atoms[i, t] * atoms[j, t]
                pull += 2 * weight * cosine
            if pull != 0:
                for t in range(p):
                    u[t] -= pull * atoms[i, t]
        square = 0.0
        for t in range(p):
            if positive and u[t] < 0:
                u[t] = 0.0
            square += u[t] * u[t]
        size = np.sqrt(square)
        if bound == 2:
            if size == 0:
                continue
            scale = 1 / size
        else:
            scale = 1 / (own + extra)
            if bound == 1 and size * scale > 1:
                scale = 1 / size
        move = 0.0
        for t in range(p):
            new = u[t] * scale
            move += (new - atoms[j, t]) ** 2
            atoms[j, t] = new
        largest = max(largest, np.sqrt(move))
    return largest


def ksvd_sweep(signals: Array, codes: Array, atoms: Array, *, positive: bool = False) -> tuple[Array, Array]:
    """Return atoms of length 1 and codes on the same supports, each pair refitted once.

    Parameters
    ----------
    signals : (n, p) array
    codes : (n, k) array
    atoms : (k, p) array
    positive : bool
        Coefficients are not negative.

    Notes
    -----
    O(p) times the number of non-zero coefficients.

    References
    ----------
    M. Aharon, M. Elad, A. Bruckstein (2006), K-SVD: an algorithm for designing overcomplete dictionaries for sparse
    representation.

    Examples
    --------
    >>> atoms, codes = ksvd_sweep(np.array([[3.0, 4.0], [6.0, 8.0]]), np.array([[3.0], [6.0]]), np.array([[1.0, 0.0]]))
    >>> atoms.round(3), codes.round(3)
    (array([[0.6, 0.8]]), array([[ 5.],
           [10.]]))
    """
    atoms, codes = atoms.copy(), codes.copy()
    residual = np.asarray(signals, dtype=np.float64) - codes @ atoms
    for j in range(len(atoms)):
        users = np.flatnonzero(codes[:, j])
        coefficients = codes[users, j]
        without = residual[users] + np.outer(coefficients, atoms[j])
        direction = coefficients @ without
        size = float(np.linalg.norm(direction))
        if size == 0:
            continue
        atoms[j] = direction / size
        refitted = without @ atoms[j]
        codes[users, j] = np.maximum(refitted, 0.0) if positive else refitted
        residual[users] = without - np.outer(codes[users, j], atoms[j])
    return atoms, codes


@dataclass(frozen=True, eq=False)
class CodeSums:
    """Sums over signals and their codes.

    Attributes
    ----------
    weight : float
        How many signals.
    code_code : (k, k) array
    code_signal : (k, p) array
    signal_square : float
        Sum of squared lengths of the signals.
    uses : (k,) array
        How many signals use each atom.

    Examples
    --------
    >>> one = CodeSums.of(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]))
    >>> two = CodeSums.of(np.array([[0.0, 3.0]]), np.array([[0.5, 2.0]]))
    >>> (one + two).code_code
    array([[1.25, 1.  ],
           [1.  , 4.  ]])
    >>> (one + two - two).isclose(one)
    True
    """

    weight: float
    code_code: Array
    code_signal: Array
    signal_square: float
    uses: Array

    @classmethod
    def empty(cls, n_atoms: int, n_columns: int) -> CodeSums:
        """Return the sums of no signals."""
        return cls(0.0, np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, n_columns)), 0.0, np.zeros(n_atoms))

    @classmethod
    def of(cls, signals: Array, codes: Array) -> CodeSums:
        """Return the sums of signals (n, p) and their codes (n, k)."""
        signals = np.asarray(signals, dtype=np.float64)
        uses = np.count_nonzero(codes, axis=0).astype(np.float64)
        return cls(float(len(codes)), codes.T @ codes, codes.T @ signals, float(np.square(signals).sum()), uses)

    def __add__(self, other: CodeSums) -> CodeSums:
        return self._with(other, 1.0)

    def __sub__(self, other: CodeSums) -> CodeSums:
        if other.weight > self.weight * (1 + 1e-12):
            raise DataError(f"sums of {other.weight:g} signals cannot be part of sums of {self.weight:g}; swap them")
        return self._with(other, -1.0)

    def __mul__(self, factor: float) -> CodeSums:
        return CodeSums(*(part * factor for part in vars(self).values()))

    def _with(self, other: CodeSums, sign: float) -> CodeSums:
        if self.code_signal.shape != other.code_signal.shape:
            raise DataError(
                f"sums over {self.code_signal.shape} atoms x columns do not add to sums over {other.code_signal.shape}"
            )
        return CodeSums(*(a + sign * b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def isclose(self, other: CodeSums, tolerance: float = 1e-10) -> bool:
        """Whether both are the same to rounding, relative to the largest sum of each kind."""
        return all(
            np.shape(a) == np.shape(b)
            and bool(np.all(np.abs(a - b) <= tolerance * np.max(np.abs([a, b]), initial=0.0)))
            for a, b in zip(vars(self).values(), vars(other).values(), strict=True)
        )

    def without(self, atoms: Array) -> CodeSums:
        """Return the sums as if some atoms had never been used."""
        code_code, code_signal, uses = self.code_code.copy(), self.code_signal.copy(), self.uses.copy()
        code_code[atoms], code_code[:, atoms], code_signal[atoms], uses[atoms] = 0.0, 0.0, 0.0, 0.0
        return CodeSums(self.weight, code_code, code_signal, self.signal_square, uses)

    def squared_error(self, dictionary: Array) -> float:
        """Return the squared error of the summed codes over a dictionary."""
        twice = 2 * float(np.vdot(self.code_signal, dictionary))
        return max(0.0, self.signal_square - twice + float(np.vdot(self.code_code, dictionary @ dictionary.T)))
