"""The coders by name, the settings of each, and the activities of those that are dynamics after each step.

A setting that an algorithm does not use is refused: nobody should tune a number that does nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.parameters import TRUTH, check, declared, number, whole
from gramian.sparse.atoms import as_dictionary, require_unit
from gramian.sparse.coders import dynamics
from gramian.sparse.coders.lasso import lasso
from gramian.sparse.coders.nearest import nearest
from gramian.sparse.coders.omp import omp
from gramian.sparse.coders.subset import best_subset

SETTINGS = declared(
    n_nonzero=(None, whole()),
    penalty=(None, number(least=0)),
    threshold=(None, "soft", "hard"),
    step=(None, number(above=0)),
    max_iter=(None, whole()),
    tol=(None, number(least=0)),
    epsilon=(None, number(above=0)),
    positive=TRUTH,
)
"""Every setting that some coder has, and what it may be."""

ALGORITHMS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "omp": (omp, ("n_nonzero", "tol", "positive")),
    "l0": (best_subset, ("n_nonzero", "penalty", "max_iter", "positive")),
    "lasso": (lasso, ("penalty", "max_iter", "tol", "positive")),
    "lca": (dynamics.lca, ("penalty", "threshold", "step", "max_iter", "tol", "positive")),
    "feedback": (dynamics.feedback, ("penalty", "step", "max_iter", "tol", "positive")),
    "dim": (dynamics.dim, ("epsilon", "max_iter", "tol", "positive")),
    "vq": (nearest, ()),
}
"""The coder of each name and its settings."""

PENALTY = 1.0
"""The penalty of the Lasso and of competing neurons where none is given: scikit-learn's."""


@dataclass(frozen=True)
class Coder:
    """An algorithm with its settings, checked: call it with signals and atoms.

    Examples
    --------
    >>> import numpy as np
    >>> Coder.of("omp", n_nonzero=1)(np.array([[3.0, 1.0]]), np.eye(2))
    array([[3., 0.]])
    >>> Coder.of("vq", penalty=1.0)
    Traceback (most recent call last):
    gramian.errors.DataError: penalty has no meaning for algorithm 'vq'; leave it out
    """

    algorithm: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, algorithm: Any, **settings: Any) -> Coder:
        """Return a coder; settings that are None or False are those of the algorithm."""
        check("algorithm", algorithm, *ALGORITHMS)
        known = ALGORITHMS[algorithm][1]
        given = {name: value for name, value in settings.items() if value is not None and value is not False}
        for name in given:
            if name not in known:
                raise DataError(f"{name} has no meaning for algorithm {algorithm!r}; leave it out")
            check(name, given[name], *SETTINGS[name])
        return cls(algorithm, given)

    def checked(self, dictionary: Any) -> Array:
        """Return a dictionary as atoms that this coder can work with."""
        atoms = as_dictionary(dictionary, zero_atoms=self.algorithm == "vq")
        most = self.settings.get("n_nonzero")
        if most is not None and most > len(atoms):
            raise DataError(
                Argument("n_nonzero", most),
                f" is more than the {len(atoms)} atoms of the dictionary; ask for at most {len(atoms)}",
            )
        if self.algorithm == "omp":
            require_unit(atoms)
        elif self.algorithm == "dim":
            dynamics.require_nonnegative_atoms(atoms)
        elif self.algorithm in ("lca", "feedback"):
            dynamics.step_size(self.algorithm, atoms, self.settings.get("step"))
        return atoms

    def __call__(self, signals: Array, atoms: Array, *, learning: bool = False) -> Array:
        """Return the codes of signals, (n, k).

        Parameters
        ----------
        signals : (n, p) array
        atoms : (k, p) array
        learning : bool
            Whether the atoms are still to change. Codes that did not settle within a `max_iter` that was given are then as
            good as was asked for; otherwise they warn.
        """
        given = dict(self.settings)
        if self.algorithm in ("lasso", "lca"):
            given.setdefault("penalty", PENALTY)
        if self.algorithm == "omp" and "n_nonzero" not in given:
            # With a tolerance alone as many atoms as it takes; with nothing scikit-learn's tenth of the columns.
            given["n_nonzero"] = len(atoms) if "tol" in given else default_count(atoms)
        if self.algorithm == "l0" and not {"n_nonzero", "penalty"} & set(given):
            given["n_nonzero"] = default_count(atoms)
        if self.algorithm == "dim":
            given.pop("positive", None)
        function, _ = ALGORITHMS[self.algorithm]
        result = function(signals, atoms, **given)
        if not isinstance(result, tuple):
            return result
        codes, unsettled = result
        # Divisive steps approach zero ever more slowly and never arrive: after their usual number that is not a failure.
        late = self.algorithm == "dim" and given.get("max_iter", dynamics.DIVISIVE_STEPS) >= dynamics.DIVISIVE_STEPS
        # With a tolerance of 0 nobody expects them to settle: all steps are to be made.
        asked = given.get("tol") != 0 and not (learning and "max_iter" in given)
        if unsettled and asked and not late:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"{unsettled} of {len(codes)} signals had not settled when {self.algorithm!r} stopped; "
                f"give it a larger max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return codes


def default_count(atoms: Array) -> int:
    """Return how many atoms a signal gets where nothing is said: a tenth of its columns, as in scikit-learn."""
    return min(len(atoms), max(1, atoms.shape[1] // 10))


def steps_of(coder: Coder, signals: Array, atoms: Array, n_steps: int) -> Array:
    """Return the activities of signals from zero over so many steps, (n, n_steps + 1, k).

    Parameters
    ----------
    coder : Coder
        `"lca"`, `"feedback"` or `"dim"`.
    signals : (n, p) array
    atoms : (k, p) array
    n_steps : int

    Examples
    --------
    >>> steps_of(Coder.of("feedback", step=0.5), np.array([[1.0]]), np.array([[1.0]]), 3)[0, :, 0]
    array([0.   , 0.5  , 0.75 , 0.875])
    """
    if coder.algorithm not in ("lca", "feedback", "dim"):
        raise DataError(f"algorithm {coder.algorithm!r} has no steps in time; use 'lca', 'feedback' or 'dim'")
    check("n_steps", n_steps, whole())
    signals, settings = np.asarray(signals, dtype=np.float64), coder.settings
    out = np.zeros((len(signals), n_steps + 1, len(atoms)))
    if coder.algorithm == "dim":
        floors = dynamics.floors_of(signals, settings.get("epsilon"))
        floor, forward = np.where(floors > 0, floors, 1.0)[:, None], atoms / atoms.sum(axis=1, keepdims=True)
        for t in range(n_steps):
            out[:, t + 1] = dynamics.after_division(out[:, t], signals, atoms, forward, floor)
        return out
    step, positive = (
        dynamics.step_size(coder.algorithm, atoms, settings.get("step")),
        bool(settings.get("positive", False)),
    )
    if coder.algorithm == "feedback":
        for t in range(n_steps):
            penalty = settings.get("penalty", 0.0)
            out[:, t + 1] = dynamics.after_feedback(out[:, t], signals, atoms, step, penalty, positive=positive)
        return out
    penalty, hard = settings.get("penalty", PENALTY), settings.get("threshold") == "hard"
    potentials = np.zeros((len(signals), len(atoms)))
    for t in range(n_steps):
        active = out[:, t]
        potentials += step * ((signals - active @ atoms) @ atoms.T - potentials + active)
        out[:, t + 1] = dynamics.cut(potentials, penalty, hard=hard, positive=positive)
    return out
