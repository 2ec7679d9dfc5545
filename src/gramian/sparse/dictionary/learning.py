"""Dictionary learning: code a batch, add up its sums, improve the atoms, replace those of no use.

The state is a dictionary and the sums of all codes so far, each made with the dictionary of its time (Mairal et al.
2009). Older codes are worse ones; `fit` therefore forgets at a rate that keeps one pass over the data in the sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.sparse.atoms import lengths_of, unit_rows
from gramian.sparse.code_sums import CodeSums
from gramian.sparse.coders.choice import Coder
from gramian.sparse.dictionary.descent import descend
from gramian.sparse.dictionary.ksvd import ksvd_sweep

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
        Of the descent (see `gramian.sparse.dictionary.descent`).
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
    # Forgetting leaves a trace of uses that ended long ago: half a signal's worth is none.
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
