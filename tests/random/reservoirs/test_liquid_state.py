import numpy as np
import pytest

from gramian.random.reservoirs import liquid_state
from gramian.random.reservoirs.liquid_state import Liquid, liquid_features


def drawn(rng, n=200, channels=3, **changes):
    settings = {
        "inhibitory": 0.2,
        "connection_length": 2.0,
        "input_scaling": 1.0,
        "encoding": "current",
        "dt": 1.0,
        "tau_filter": 30.0,
        **changes,
    }
    return Liquid.drawn(n, channels, rng, **settings)


@pytest.mark.parametrize("encoding", liquid_state.ENCODINGS)
@pytest.mark.parametrize("scaling", [0.1, 1.0, 10.0])
def test_rates_stay_where_neurons_have_them(rng, encoding, scaling):
    liquid = drawn(rng, encoding=encoding, input_scaling=scaling)
    sequence = {
        "current": np.sin(np.arange(1500)[:, None] / [7.0, 20.0, 60.0]),
        "spikes": (rng.random((1500, 3)) < 0.02) * 1.0,
        "poisson": np.full((1500, 3), 0.3),
    }[encoding]
    rates = 1000 * liquid.run(sequence)[1].mean(axis=0)
    assert 0.5 < rates.mean() < 100
    # Half of the refractory limit, 1000 / 2 ms.
    assert rates.max() < 250
    assert (rates > 0).mean() > 0.5


def test_wiring_falls_off_with_distance_and_depends_on_kinds(rng):
    liquid = drawn(rng, 1000)
    assert (~liquid.excites).sum() == 200
    assert (liquid.weights > 0).all()
    sender = np.repeat(np.arange(1000), np.diff(liquid.starts))
    squared = np.square(liquid.positions[sender] - liquid.positions[liquid.targets]).sum(axis=1)
    assert (squared > 0).all()
    every = np.square(liquid.positions[:, None] - liquid.positions[None]).sum(axis=2)
    for a in (True, False):
        for b in (True, False):
            pairs = np.outer(liquid.excites == a, liquid.excites == b)
            met = (liquid.excites[sender] == a) & (liquid.excites[liquid.targets] == b)
            for d in (1, 4):
                possible = np.count_nonzero(pairs & (every == d))
                expected = liquid_state.WIRING[a, b] * np.exp(-d / 4.0)
                found = np.count_nonzero(met & (squared == d)) / possible
                assert abs(found - expected) < 4.5 * np.sqrt(expected / possible)


def test_poisson_spikes_have_the_rate_and_belong_to_the_sequence(rng):
    liquid = drawn(rng, 20, encoding="poisson")
    sequence = np.column_stack([np.full(4000, 0.5), np.linspace(0, 1, 4000), np.full(4000, -1.0)])
    spikes = liquid._incoming(sequence)
    assert set(np.unique(spikes)) == {0.0, 1.0}
    share = -np.expm1(-0.1 * 0.5)
    assert abs(spikes[:, 0].mean() - share) < 4 * np.sqrt(share / 4000)
    assert spikes[2000:, 1].sum() > 2 * spikes[:2000, 1].sum()
    assert spikes[:, 2].sum() == 0
    np.testing.assert_array_equal(liquid._incoming(sequence.copy()), spikes)
    assert (liquid._incoming(sequence + 1e-9) != spikes).any()


def test_pools_are_those_of_the_traces(rng):
    liquid = drawn(rng, 40)
    sequences = [rng.standard_normal((t, 3)) * 3 for t in (60, 25)]
    traces = [liquid.run(sequence)[0] for sequence in sequences]
    for pool, expected in {
        "last": [part[-1] for part in traces],
        "mean": [part[5:].mean(axis=0) for part in traces],
        None: [part[5:] for part in traces],
    }.items():
        for found, wanted in zip(liquid_features(liquid, sequences, pool, 5), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
