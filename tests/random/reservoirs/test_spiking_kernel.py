import numpy as np

from gramian.random.reservoirs.liquid_state import run_liquid


def defined(drive, pulses, W, background, silence, excites, decays, jump):
    """The same dynamics written out, with a dense matrix of synapses (to, from)."""
    T, n = drive.shape
    v, e, i, a, r = (np.zeros(n) for _ in range(5))
    wait = np.zeros(n, dtype=int)
    fired = np.zeros(n, dtype=bool)
    traces, spikes = [], []
    km, ke, ki, ka, kt = decays
    for t in range(T):
        e, i, a, r = ke * e + pulses[t], ki * i, ka * a, kt * r
        e = e + W[:, excites] @ fired[excites]
        i = i + W[:, ~excites] @ fired[~excites]
        fired = np.zeros(n, dtype=bool)
        for k in range(n):
            if wait[k]:
                wait[k] -= 1
                continue
            v[k] = km * v[k] + (1 - km) * (background[k] + drive[t, k] + e[k] - i[k])
            if v[k] >= 1 + a[k]:
                fired[k], v[k], wait[k] = True, 0.0, silence[k]
                a[k] += jump
                r[k] += 1
        traces.append(r.copy())
        spikes.append(fired)
    return np.array(traces), np.array(spikes)


def test_steps_are_their_definition(rng):
    n, T = 9, 300
    W = np.where(rng.random((n, n)) < 0.4, rng.uniform(0.5, 2, (n, n)), 0.0)
    excites = np.arange(n) % 4 != 0
    outgoing = [np.flatnonzero(W[:, j]) for j in range(n)]
    starts = np.cumsum([0, *map(len, outgoing)]).astype(np.int64)
    targets = np.concatenate(outgoing).astype(np.int64)
    weights = np.concatenate([W[rows, j] for j, rows in enumerate(outgoing)])
    drive, pulses = rng.normal(size=(T, n)), 3.0 * (rng.random((T, n)) < 0.05)
    background, silence = rng.uniform(0.8, 1.1, n), rng.integers(0, 4, n)
    decays = np.exp(-1 / np.array([30.0, 3.0, 6.0, 100.0, 30.0]))
    traces, spikes = np.empty((T, n)), np.empty((T, n), dtype=np.uint8)
    run_liquid(
        drive,
        pulses,
        starts,
        targets,
        weights,
        background,
        silence.astype(np.int64),
        excites,
        decays,
        0.3,
        traces,
        spikes,
    )
    expected, fired = defined(drive, pulses, W, background, silence, excites, decays, 0.3)
    assert fired.sum() > 30
    np.testing.assert_array_equal(spikes.astype(bool), fired)
    np.testing.assert_allclose(traces, expected, atol=1e-10)


def test_a_unit_alone_fires_at_the_rate_of_the_textbook():
    # Constant current I, no adaptation: T = refractory + tau log(I / (I - 1)), here to a step.
    tau, current, silence = 30.0, 2.0, 3
    decays = np.exp(-1 / np.array([tau, 3.0, 6.0, 100.0, 30.0]))
    traces, spikes = np.empty((3000, 1)), np.empty((3000, 1), dtype=np.uint8)
    none = np.zeros(0)
    run_liquid(
        np.zeros((3000, 1)), np.zeros((3000, 1)), np.zeros(2, np.int64), none.astype(np.int64), none,
        np.array([current]), np.array([silence]), np.array([True]), decays, 0.0, traces, spikes,
    )  # fmt: skip
    gaps = np.diff(np.flatnonzero(spikes[:, 0]))
    expected = silence + np.ceil(tau * np.log(current / (current - 1)))
    assert set(gaps.tolist()) == {int(expected)}
