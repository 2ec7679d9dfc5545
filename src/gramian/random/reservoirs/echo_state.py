r"""Echo state networks: a fixed recurrent reservoir whose states are features of a sequence.

    x(t) = (1 - a) x(t - 1) + a tanh(W x(t - 1) + W_in u(t) + b),      x(0) = 0

W is sparse: each unit listens to as many others, weights uniform, scaled such that the largest |eigenvalue| of W is the
*spectral radius*. Below 1 the influence of the initial state dies out for all but contrived inputs (the echo state property):
states are functions of the recent inputs alone.

W is stored as (n, d) columns and values, d entries per unit: neither row pointers nor branches, so that a step is n (d +
channels) multiplications and n activations. Of 500 units with 10 entries each a step takes about 3 microseconds: 1.9 for W x,
which is three loads per entry, and 0.8 for the activations. In the loops `weights` is W_in transposed, (channels, n).

Pooled, a sequence is one row:

- `"last"`: x(T); `"mean"`: the mean of x(t) after the washout;
- `"model"`: the sequence's own model, the coefficients of a ridge regression of u(t + 1) on x(t) with their intercept
  (model space: Chen, Tino, Rodan and Yao, 2014). With Z the centred states (m, n) and Y the centred targets it is
  B = Z^T (Z Z^T + l I)^-1 Y, an m x m system; l = |Z|^2 / m, the mean squared length of a row, so that it has no unit.

*Which ridge* lets a reservoir run on its own predictions is judged by doing so. A readout that predicts the next value best
may amplify its own small errors when it is fed back: one-step errors, and so cross-validation of any kind over steps, do not
see that. So every ridge of the path is run freely from a few states that the training sequences passed through, and judged by
how far it gets from what came next there. The error of a run is the mean squared error in units of the variance of the
sequence, at most 1, so that one run that is lost counts as one run lost; the score of a ridge is the mean over runs of its
logarithm, as errors of runs that succeed lie orders of magnitude apart.

H. Jaeger (2001), GMD report 148; M. Lukosevicius (2012), A practical guide to applying echo state networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from numba import njit, types
from scipy.sparse.linalg import ArpackNoConvergence, eigs

from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.errors import Argument, DataError
from gramian.random.drawing import writable
from gramian.random.readout import Readout

TANH, RELU, LINEAR = 0, 1, 2


@njit(inline="always")
def _tanh(net):  # type: ignore[no-untyped-def]
    # E / (E + 2) with E = exp(2 net) - 1, to a few units in the last place: a series for a 256th of the argument, then eight
    # times E <- E (E + 2), which doubles it and loses nothing near 0. No branch and no call, so that units go four at a time.
    s = min(max(2.0 * net, -40.0), 40.0) * 0.00390625
    e = s * (1 + s * (1 / 2 + s * (1 / 6 + s * (1 / 24 + s * (1 / 120 + s * (1 / 720 + s * (1 / 5040 + s * (
        1 / 40320 + s * (1 / 362880 + s * (1 / 3628800 + s * (1 / 39916800)))))))))))  # fmt: skip
    for _ in range(8):
        e = e * (e + 2.0)
    return e / (e + 2.0)


@njit(inline="always")
def _step(inputs, columns, values, weights, bias, leak, activation, before, after):  # type: ignore[no-untyped-def]
    """Write the next state to `after`; return False where it explodes."""
    n, degree, channels = columns.shape[0], columns.shape[1], weights.shape[0]
    for i in range(n):
        net = 0.0
        for k in range(degree):
            net += values[i, k] * before[columns[i, k]]
        after[i] = net
    # Unit after unit, a channel at a time: these go eight at a time, the sums above do not.
    for i in range(n):
        after[i] += bias[i]
    for c in range(channels):
        now = inputs[c]
        for i in range(n):
            after[i] += weights[c, i] * now
    if activation == 0:
        for i in range(n):
            after[i] = (1.0 - leak) * before[i] + leak * _tanh(after[i])
        # Bounded by 1, whatever the weights.
        return True
    fine = True
    for i in range(n):
        net = after[i] if activation == 2 or after[i] > 0 else 0.0
        after[i] = (1.0 - leak) * before[i] + leak * net
        fine = fine and abs(after[i]) < 1e100
    return fine


_arrays = (
    types.uint32[:, ::1],
    types.float64[:, ::1],
    types.float64[:, ::1],
    types.float64[::1],
    types.float64,
    types.int64,
)


@kernel(types.int64(types.float64[:, ::1], *_arrays, types.float64[::1], types.float64[:, ::1]))
def run_reservoir(sequence, columns, values, weights, bias, leak, activation, state, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the state after each step, from `state` on; return the step at which it explodes, -1 for none."""
    # A step between two rows of `out` could overlap for all the compiler knows, and goes one unit at a time: 9 microseconds a
    # step of 500 units, where one between two arrays of its own takes 3.
    before, after = state.copy(), state.copy()
    for t in range(sequence.shape[0]):
        fine = _step(sequence[t], columns, values, weights, bias, leak, activation, before, after)
        for i in range(before.shape[0]):
            before[i] = after[i]
            out[t, i] = after[i]
        if not fine:
            return t
    return -1


@kernel(types.int64(types.float64[:, ::1], *_arrays, types.float64[::1], types.float64[::1]))
def pool_reservoir(sequence, columns, values, weights, bias, leak, activation, state, total):  # type: ignore[no-untyped-def]
    """Replace `state` by the last one and add every state to `total`; return the step at which it explodes, -1 for none."""
    spare = state.copy()
    for t in range(sequence.shape[0]):
        if not _step(sequence[t], columns, values, weights, bias, leak, activation, state, spare):
            return t
        for i in range(state.shape[0]):
            state[i] = spare[i]
            total[i] += spare[i]
    return -1


@kernel(
    types.int64(
        types.float64[::1],
        *_arrays,
        types.float64[::1],
        types.float64[:, ::1],
        types.float64[::1],
        types.int64,
        types.float64[:, ::1],
    )
)
def run_freely(inputs, columns, values, weights, bias, leak, activation, state, readout, intercept, direct, out):  # type: ignore[no-untyped-def]
    """Fill `out` with a forecast that feeds on itself; `state` and `inputs` are replaced by the last ones.

    `readout` is (channels, units) or, where `direct` is 1, (channels, units + channels). Return the step at which it explodes,
    -1 for none.
    """
    n, channels = state.shape[0], inputs.shape[0]
    spare = state.copy()
    for t in range(out.shape[0]):
        for c in range(channels):
            output = intercept[c]
            for i in range(n):
                output += readout[c, i] * state[i]
            if direct == 1:
                for other in range(channels):
                    output += readout[c, n + other] * inputs[other]
            out[t, c] = output
            if not abs(output) < 1e100:
                return t
        for c in range(channels):
            inputs[c] = out[t, c]
        if not _step(inputs, columns, values, weights, bias, leak, activation, state, spare):
            return t
        for i in range(n):
            state[i] = spare[i]
    return -1


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
    """Return the features of each sequence: one row, or one row per step where `pool` is None.

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


RUNS = 10
"""Stretches that are run."""
STEPS = 100
"""Their length at most; a quarter of what there is to learn from where that is less."""


@dataclass(eq=False)
class FreeRun:
    """A stretch of a sequence to be forecast.

    Attributes
    ----------
    sequence : int
        Which one.
    step : int
        The last step that is known.
    inputs : (channels,) array
        The value there.
    future : (steps, channels) array
        What came next.
    spread : (channels,) array
        Variance of the sequence.
    state : (n,) array
        Of the reservoir after that step, once it has been there.
    """

    sequence: int
    step: int
    inputs: Array
    future: Array
    spread: Array
    state: Array = field(default_factory=lambda: np.zeros(0))


def free_runs_of(sequences: Sequence[Array], washout: int) -> list[FreeRun]:
    """Return stretches spread evenly over what a readout learns from, none where sequences are too short."""
    total = sum(len(part) - washout for part in sequences)
    share = [max(1, round(RUNS * (len(part) - washout) / total)) for part in sequences]
    runs = []
    for k, (part, count) in enumerate(zip(sequences, share, strict=True)):
        steps = min(STEPS, (len(part) - washout) // 4)
        if steps < 1:
            continue
        spread = part.var(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        for step in np.unique(np.linspace(washout, len(part) - 1 - steps, count + 1)[1:].astype(int)):
            runs.append(FreeRun(k, int(step), part[step].copy(), part[step + 1 : step + 1 + steps], spread))
    return runs


def best_running(reservoir: Reservoir, path: Sequence[Readout], runs: Sequence[FreeRun], direct: bool) -> Readout:
    """Return the readout of the path that runs best, with the scores of all.

    Parameters
    ----------
    reservoir : Reservoir
    path : sequence of Readout
        One per ridge.
    runs : sequence of FreeRun
        With their states.
    direct : bool
        Whether the readout sees the inputs too.
    """
    scores = np.array([_score(reservoir, readout, runs, direct) for readout in path])
    selection = {"ridge": np.array([readout.ridge for readout in path]), "log_error": scores}
    return replace(path[int(np.argmin(scores))], selection=selection)


def _score(reservoir: Reservoir, readout: Readout, runs: Sequence[FreeRun], direct: bool) -> float:
    """Return the mean over runs of the logarithm of the squared error."""
    weights = np.ascontiguousarray(readout.coefficients.T)
    total = 0.0
    for run in runs:
        try:
            forecast = reservoir.free_run(len(run.future), run.state, run.inputs, weights, readout.intercept, direct)
            error = float((np.square(forecast - run.future) / run.spread).mean())
        except DataError:
            error = 1.0
        total += float(np.log(min(max(error, 1e-30), 1.0)))
    return total / len(runs)
