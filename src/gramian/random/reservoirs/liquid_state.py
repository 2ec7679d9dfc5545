r"""Liquid state machines: a reservoir of spiking units, whose filtered spike counts are features of a sequence.

A unit is leaky integrate-and-fire, in units of its resting threshold and milliseconds:

    tau_m dv/dt = -v + background + input + excitation - inhibition,        a spike and v <- 0 where v >= 1 + a,

silent for a refractory time after a spike. Each spike raises the threshold by `JUMP`, and a decays with `TAU_ADAPTATION`: the
more a unit fires, the harder it is to make it fire, which keeps rates where neurons have them over inputs of very different
size. With I the input of a unit that fires every T ms, T = refractory + tau_m log(I / (I - 1 - JUMP TAU_ADAPTATION / T)).

Units stand on a cubic lattice; one in five is inhibitory. Unit i is wired to j with probability C exp(-(d_ij / length)^2), C
by the kinds of both (Maass, Natschlaeger and Markram, 2002). A spike arrives one step later and leaves a current that decays
with the synapse's time constant. The background is drawn about the threshold, so that some units fire on their own, slowly.

*The loop* does, for every unit in each step: currents of synapses and the adaptation decay; spikes of the step before arrive;
the membrane follows its input, exactly for an input that is constant over the step; a unit whose membrane passes its threshold
fires, is reset and is silent for its refractory time. Only units that fired cost anything at the synapses.

What comes in, per channel:

- `"current"`: the value itself, with weights of both signs;
- `"spikes"`: numbers of spikes, each an excitatory synaptic current;
- `"poisson"`: a rate in units of 100 Hz, from which spikes are drawn. The draw is a function of the seed and of the sequence's
  own values, so that its features do not depend on its neighbours.

Features are traces r(t) = exp(-dt / tau_filter) r(t - 1) + spike(t): `"last"` is r(T), `"mean"` its mean after the washout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import types

from gramian.arrays.threads import in_threads
from gramian.arrays.types import Array
from gramian.compiling import kernel
from gramian.random.drawing import draw_uniform, writable

_f = types.float64


@kernel(
    types.void(
        _f[:, ::1],  # drive
        _f[:, ::1],  # pulses
        types.int64[::1],  # starts
        types.int64[::1],  # targets
        _f[::1],  # weights
        _f[::1],  # background
        types.int64[::1],  # silence
        types.boolean[::1],  # excites
        _f[::1],  # decays: membrane, excitatory, inhibitory, adaptation, trace
        _f,  # jump of the threshold
        _f[:, ::1],  # traces
        types.uint8[:, ::1],  # spikes
    )
)
def run_liquid(drive, pulses, starts, targets, weights, background, silence, excites, decays, jump, traces, spikes):  # type: ignore[no-untyped-def]
    """Fill `traces` with filtered spike counts after each step, and `spikes` with 1 where a unit fires."""
    n_steps, n = drive.shape
    # Local arrays: a call shares nothing with another.
    membrane = background * 0.0
    excitation, inhibition, raised, trace = membrane.copy(), membrane.copy(), membrane.copy(), membrane.copy()
    waiting = silence * 0
    keep, keep_e, keep_i, keep_a, keep_t = decays[0], decays[1], decays[2], decays[3], decays[4]
    for t in range(n_steps):
        for i in range(n):
            excitation[i] = keep_e * excitation[i] + pulses[t, i]
            inhibition[i] *= keep_i
            raised[i] *= keep_a
            trace[i] *= keep_t
        if t > 0:
            for j in range(n):
                if spikes[t - 1, j]:
                    for k in range(starts[j], starts[j + 1]):
                        if excites[j]:
                            excitation[targets[k]] += weights[k]
                        else:
                            inhibition[targets[k]] += weights[k]
        for i in range(n):
            spikes[t, i] = 0
            if waiting[i] > 0:
                waiting[i] -= 1
            else:
                current = background[i] + drive[t, i] + excitation[i] - inhibition[i]
                membrane[i] = keep * membrane[i] + (1.0 - keep) * current
                if membrane[i] >= 1.0 + raised[i]:
                    spikes[t, i] = 1
                    membrane[i] = 0.0
                    raised[i] += jump
                    trace[i] += 1.0
                    waiting[i] = silence[i]
            traces[t, i] = trace[i]


ENCODINGS = ("current", "spikes", "poisson")
POOLS = ("last", "mean", None)

TAU_MEMBRANE = 30.0
TAU_EXCITATION, TAU_INHIBITION = 3.0, 6.0
TAU_ADAPTATION, JUMP = 100.0, 0.3
REFRACTORY_E, REFRACTORY_I = 3.0, 2.0
POISSON_RATE = 0.1
"""Spikes a millisecond of a channel whose value is 1."""

WIRING = {(True, True): 0.3, (True, False): 0.2, (False, True): 0.4, (False, False): 0.1}
"""C by whether the sender and the receiver excite."""
STRENGTH = {(True, True): 1.0, (True, False): 2.0, (False, True): 1.5, (False, False): 1.5}
"""Currents of one spike: with the time constants above an excitatory one moves a membrane by a tenth of its threshold."""
INPUT_SHARE = 0.3
"""Of units that a channel reaches."""
INPUT_PULSE = 3.0
"""Current of an input spike, three tenths of a threshold."""


@dataclass(frozen=True, eq=False)
class Liquid:
    """Fixed wiring of a spiking reservoir.

    Attributes
    ----------
    positions : (n, 3) array
    excites : (n,) bool array
    starts, targets, weights : arrays
        Outgoing synapses of unit j: `targets[starts[j]:starts[j + 1]]`, with positive weights.
    background : (n,) array
    input_weights : (n, channels) array
        Of both signs for "current", else positive.
    encoding : {"current", "spikes", "poisson"}
    seed : int
        Of the Poisson spikes.
    dt, tau_filter : float
        Milliseconds of a step, and of the filter.
    """

    positions: Array
    excites: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    weights: Array
    background: Array
    input_weights: Array
    encoding: str
    seed: int
    dt: float
    tau_filter: float

    @classmethod
    def drawn(
        cls,
        n_units: int,
        channels: int,
        rng: np.random.Generator,
        *,
        inhibitory: float,
        connection_length: float,
        input_scaling: float,
        encoding: str,
        dt: float,
        tau_filter: float,
    ) -> Liquid:
        """Return a liquid of random wiring."""
        side = int(np.ceil(n_units ** (1 / 3) - 1e-9))
        lattice = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:n_units]
        excites = np.ones(n_units, dtype=bool)
        excites[rng.permutation(n_units)[: round(inhibitory * n_units)]] = False
        starts, targets, weights = _wired(lattice.astype(np.float64), excites, connection_length, rng)
        reached = rng.random((n_units, channels)) < INPUT_SHARE
        if encoding == "current":
            into = rng.uniform(-1.0, 1.0, (n_units, channels))
        else:
            into = rng.uniform(0.0, 2 * INPUT_PULSE, (n_units, channels))
        return cls(
            positions=lattice.astype(np.float64),
            excites=excites,
            starts=starts,
            targets=targets,
            weights=weights,
            background=rng.uniform(0.85, 1.05, n_units),
            input_weights=np.where(reached, input_scaling * into, 0.0),
            encoding=encoding,
            seed=int(rng.integers(2**31)),
            dt=float(dt),
            tau_filter=float(tau_filter),
        )

    @property
    def n_units(self) -> int:
        """Units."""
        return len(self.background)

    def run(self, sequence: Array) -> tuple[Array, npt.NDArray[np.uint8]]:
        """Return the traces and the spikes of each step, (time, n) both."""
        shape = (len(sequence), self.n_units)
        given = np.ascontiguousarray(self._incoming(sequence) @ self.input_weights.T)
        nothing = np.zeros(shape)
        drive, pulses = (given, nothing) if self.encoding == "current" else (nothing, given)
        traces, spikes = np.empty(shape), np.empty(shape, dtype=np.uint8)
        taus = np.array([TAU_MEMBRANE, TAU_EXCITATION, TAU_INHIBITION, TAU_ADAPTATION, self.tau_filter])
        # What is read from a file may be read-only, which is another type to a compiled loop.
        wiring = [writable(a) for a in (self.starts, self.targets, self.weights, self.background)]
        silence = np.where(self.excites, REFRACTORY_E, REFRACTORY_I) / self.dt
        run_liquid(
            drive,
            pulses,
            *wiring,
            np.maximum(np.rint(silence), 0).astype(np.int64),
            writable(self.excites),
            np.exp(-self.dt / taus),
            JUMP,
            traces,
            spikes,
        )
        return traces, spikes

    def _incoming(self, sequence: Array) -> Array:
        if self.encoding != "poisson":
            return sequence
        # A share of 1 - exp(-rate dt) of steps has a spike.
        chance = -np.expm1(-POISSON_RATE * self.dt * np.maximum(sequence, 0.0))
        digest = hashlib.blake2b(
            np.ascontiguousarray(sequence).tobytes(), digest_size=8, key=self.seed.to_bytes(8, "big")
        )
        key = np.frombuffer(digest.digest(), dtype="<u8").astype(np.uint64)
        draws = np.empty((1, sequence.size))
        draw_uniform(key, draws)
        return (draws.reshape(sequence.shape) <= chance).astype(np.float64)


def _wired(
    positions: Array, excites: npt.NDArray[np.bool_], length: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
    """Return outgoing synapses, drawn sender by sender."""
    n = len(positions)
    starts, targets, weights = [0], [], []
    for j in range(n):
        squared = np.square(positions - positions[j]).sum(axis=1)
        share = np.where(excites, WIRING[bool(excites[j]), True], WIRING[bool(excites[j]), False])
        chance = share * np.exp(-squared / length**2)
        chance[j] = 0.0
        chosen = np.flatnonzero(rng.random(n) < chance)
        strength = np.where(excites[chosen], STRENGTH[bool(excites[j]), True], STRENGTH[bool(excites[j]), False])
        targets.append(chosen)
        weights.append(strength * rng.uniform(0.5, 1.5, len(chosen)))
        starts.append(starts[-1] + len(chosen))
    return np.array(starts, dtype=np.int64), np.concatenate(targets).astype(np.int64), np.concatenate(weights)


def liquid_features(liquid: Liquid, sequences: Sequence[Array], pool: str | None, washout: int) -> list[Array]:
    """Return the features of each sequence: one row, or one row per step where `pool` is None. Each has a thread."""

    def one(sequence: Array) -> Array:
        traces, _ = liquid.run(sequence)
        if pool == "last":
            return traces[-1]
        return traces[washout:] if pool is None else traces[washout:].mean(axis=0)

    return in_threads(one, sequences)
