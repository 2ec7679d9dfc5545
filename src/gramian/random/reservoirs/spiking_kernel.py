"""The loop of a spiking reservoir: leaky integrate-and-fire units, a step of time after the other.

Each step, for every unit: currents of synapses and the adaptation decay; spikes of the step before arrive; the membrane
follows its input, exactly for an input that is constant over the step; a unit whose membrane passes its threshold fires, is
reset and is silent for its refractory time. Only units that fired cost anything at the synapses.
"""

from __future__ import annotations

from numba import types

from gramian.compiling import kernel

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
