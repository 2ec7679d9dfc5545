r"""Echo state networks: a fixed recurrent reservoir whose states are features of a sequence.

    x(t) = (1 - a) x(t - 1) + a tanh(W x(t - 1) + W_in u(t) + b),      x(0) = 0

W is sparse: each unit listens to as many others, weights uniform, scaled such that the largest |eigenvalue| of W is the
*spectral radius*. Below 1 the influence of the initial state dies out for all but contrived inputs (the echo state property):
states are functions of the recent inputs alone.

Pooled, a sequence is one row:

- `"last"`: x(T); `"mean"`: the mean of x(t) after the washout;
- `"model"`: the sequence's own model, the coefficients of a ridge regression of u(t + 1) on x(t) with their intercept
  (model space: Chen, Tino, Rodan and Yao, 2014). With Z the centred states (m, n) and Y the centred targets it is
  B = Z^T (Z Z^T + l I)^-1 Y, an m x m system; l = |Z|^2 / m, the mean squared length of a row, so that it has no unit.

H. Jaeger (2001), GMD report 148; M. Lukosevicius (2012), A practical guide to applying echo state networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError
from gramian.random.kernels import writable
from gramian.random.reservoirs.reservoir_kernel import LINEAR, RELU, TANH, pool_reservoir, run_freely, run_reservoir

ACTIVATIONS = {"tanh": TANH, "relu": RELU, None: LINEAR}
POOLS = ("last", "mean", "model", None)
CHUNK_STEPS = 4096
"""States that are held at a time where only what comes after them is wanted."""
ALL_EIGENVALUES = 300
"""Units up to which all eigenvalues are found; beyond, Krylov steps towards the largest take less."""


@dataclass(frozen=True, eq=False)
class Reservoir:
    """Fixed weights of a recurrent network.

    Attributes
    ----------
    columns : (n, d) uint32 array
        The units that each unit listens to.
    values : (n, d) array
        With which weights.
    input_weights : (n, channels) array
    bias : (n,) array
    leak : float
    activation : str or None
    """

    columns: npt.NDArray[np.uint32]
    values: Array
    input_weights: Array
    bias: Array
    leak: float
    activation: str | None

    @classmethod
    def drawn(
        cls,
        n_units: int,
        channels: int,
        rng: np.random.Generator,
        *,
        spectral_radius: float,
        connectivity: int,
        input_scaling: float,
        bias_scaling: float,
        leak: float,
        activation: str | None,
    ) -> Reservoir:
        """Return a reservoir of random weights."""
        degree = min(connectivity, n_units)
        columns = np.array([rng.choice(n_units, degree, replace=False) for _ in range(n_units)], dtype=np.uint32)
        values = rng.uniform(-1.0, 1.0, (n_units, degree))
        radius = spectral_radius_of(columns, values)
        return cls(
            columns=np.ascontiguousarray(columns),
            values=values * (spectral_radius / radius if radius > 0 else 0.0),
            input_weights=rng.uniform(-input_scaling, input_scaling, (n_units, channels)),
            bias=rng.uniform(-bias_scaling, bias_scaling, n_units),
            leak=float(leak),
            activation=activation,
        )

    @property
    def n_units(self) -> int:
        """Units."""
        return len(self.bias)

    def check(self, n_units: int, channels: int) -> None:
        """Raise where parts that were read from a file do not fit each other: the loops follow `columns` wherever they lead."""
        degree = self.columns.shape[-1]
        wanted = {
            "columns": (self.columns, np.uint32, (n_units, degree)),
            "values": (self.values, np.float64, (n_units, degree)),
            "input_weights": (self.input_weights, np.float64, (n_units, channels)),
            "bias": (self.bias, np.float64, (n_units,)),
        }
        for name, (array, kind, shape) in wanted.items():
            if array.dtype != kind or array.shape != shape:
                raise DataError(f"the {name} of its {n_units} units have another shape or type")
        if self.columns.size and int(self.columns.max()) >= n_units:
            raise DataError(f"a unit listens to one outside the {n_units} there are")
        if not all(np.isfinite(array).all() for array in (self.values, self.input_weights, self.bias)):
            raise DataError("its weights are not all numbers")

    def _arguments(self) -> tuple[object, ...]:
        # What is read from a file or mapped into memory may be read-only, which is another type to a compiled loop.
        arrays = [writable(a) for a in (self.columns, self.values, self.input_weights.T, self.bias)]
        return (*arrays, self.leak, ACTIVATIONS[self.activation])

    def states(self, sequence: Array, start: Array | None = None, which: int = 0) -> Array:
        """Return the state after each step of a sequence, (time, n).

        Parameters
        ----------
        sequence : (time, channels) array
        start : (n,) array, optional
            The state before the first step; by default 0.
        which : int
            The number of the sequence, for the message where its states explode.
        """
        out = np.empty((len(sequence), self.n_units))
        begin = np.zeros(self.n_units) if start is None else writable(start)
        _refuse_explosion(run_reservoir(sequence, *self._arguments(), begin, out), f"of sequence {which}")
        return out

    def walk(self, sequence: Array, which: int = 0) -> Iterator[tuple[int, Array]]:
        """Yield the states of a sequence a few thousand steps at a time, with the number of the first of them."""
        state = None
        for start in range(0, len(sequence), CHUNK_STEPS):
            states = self.states(sequence[start : start + CHUNK_STEPS], state, which)
            state = states[-1]
            yield start, states

    def pooled(self, sequence: Array, washout: int, which: int = 0) -> tuple[Array, Array]:
        """Return the last state and the mean state after a washout, without keeping the others."""
        state, total = np.zeros(self.n_units), np.zeros(self.n_units)
        place = f"of sequence {which}"
        if washout:
            _refuse_explosion(pool_reservoir(sequence[:washout], *self._arguments(), state, total.copy()), place)
        _refuse_explosion(pool_reservoir(sequence[washout:], *self._arguments(), state, total), place)
        return state, total / (len(sequence) - washout)

    def free_run(
        self, n_steps: int, state: Array, inputs: Array, readout: Array, intercept: Array, direct: bool
    ) -> Array:
        """Return a forecast that is fed back as input, (n_steps, channels).

        Parameters
        ----------
        n_steps : int
        state, inputs : (n,) and (channels,) arrays
            After the last step that is known.
        readout : (channels, n) or (channels, n + channels) array
        intercept : (channels,) array
        direct : bool
            Whether the readout sees the inputs too.
        """
        out = np.empty((n_steps, len(inputs)))
        exploded = run_freely(
            inputs.copy(),
            *self._arguments(),
            state.copy(),
            writable(readout),
            writable(intercept),
            int(direct),
            out,
        )
        _refuse_explosion(exploded, "of the forecast")
        return out


def _refuse_explosion(step: int, place: str) -> None:
    if step >= 0:
        raise DataError(
            f"the reservoir exploded at step {step} {place}: its states are beyond 1e100; lower "
            "spectral_radius below 1 or input_scaling, or use ",
            Argument("activation", "tanh"),
        )


def spectral_radius_of(columns: npt.NDArray[np.uint32], values: Array) -> float:
    """Return the largest |eigenvalue| of a matrix stored as columns and values of each row.

    Examples
    --------
    >>> spectral_radius_of(np.array([[1], [0]], dtype=np.uint32), np.array([[2.0], [0.5]]))
    1.0
    """
    matrix = as_sparse(columns, values)
    n = len(columns)
    if n > ALL_EIGENVALUES:
        try:
            # Random matrices have no gap below the largest eigenvalue: several are sought, from a fixed start.
            eigenvalues = eigs(matrix, k=6, ncv=60, which="LM", v0=np.ones(n), tol=1e-6, return_eigenvectors=False)
            return float(np.abs(eigenvalues).max())
        except ArpackNoConvergence:
            pass
    with one_blas_thread():
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())


def as_sparse(columns: npt.NDArray[np.uint32], values: Array) -> sp.csr_array:
    """Return weights stored as columns and values of each row as a CSR array."""
    n, degree = columns.shape
    return sp.csr_array((values.ravel(), columns.ravel().astype(np.int32), np.arange(n + 1) * degree), shape=(n, n))


def sequence_features(reservoir: Reservoir, sequences: Sequence[Array], pool: str | None, washout: int) -> list[Array]:
    """Return the features of each sequence: a row, or a row a step where `pool` is None.

    Sequences are independent of each other, so each has a thread.
    """

    def one(k: int) -> Array:
        sequence = sequences[k]
        if pool in ("last", "mean"):
            last, mean = reservoir.pooled(sequence, washout, k)
            return last if pool == "last" else mean
        states = reservoir.states(sequence, which=k)[washout:]
        return states if pool is None else own_model(states, sequence[washout:])

    with one_blas_thread():
        return in_threads(one, range(len(sequences)))


def own_model(states: Array, sequence: Array) -> Array:
    """Return the coefficients of the next input on the state, and their intercepts, as one row."""
    past, future = states[:-1], sequence[1:]
    centre, middle = past.mean(axis=0), future.mean(axis=0)
    Z, Y = past - centre, future - middle
    gram = Z @ Z.T
    length = float(np.trace(gram)) / len(Z)
    if length > 0:
        gram[np.diag_indices_from(gram)] += length
        coefficients = Z.T @ scipy.linalg.solve(gram, Y, assume_a="pos", check_finite=False)
    else:
        coefficients = np.zeros((Z.shape[1], Y.shape[1]))
    return np.concatenate([coefficients.T.ravel(), middle - centre @ coefficients])
