"""The loop of a recurrent reservoir: one step after the other, sparse rows of weights with as many entries each.

    x(t) = (1 - a) x(t - 1) + a f(W x(t - 1) + W_in u(t) + b)

W is stored as (n, d) columns and values, d entries a unit: neither row pointers nor branches, so that a step is
n (d + channels) multiplications and n activations. Of 500 units with 10 entries each a step takes about 3 microseconds: 1.9 for
W x, which is three loads an entry, and 0.8 for the activations. `weights` is W_in transposed, (channels, n).
"""

from __future__ import annotations

from numba import njit, types

from gramian.compiling import kernel

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
