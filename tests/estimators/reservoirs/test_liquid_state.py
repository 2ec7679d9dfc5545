import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError


def test_two_classes_of_equal_rate_are_told_apart_by_the_liquid_alone(rng):
    """Two fixed patterns with as many spikes in every channel; each sample moves its spikes by a few milliseconds."""
    times = [[np.sort(rng.choice(300, 6, replace=False)) for _ in range(8)] for _ in range(2)]

    def sample(label):
        train = np.zeros((300, 8))
        for channel, pattern in enumerate(times[label]):
            moved = np.clip(pattern + np.rint(rng.normal(0, 3, 6)).astype(int), 0, 299)
            np.add.at(train[:, channel], moved, 1.0)
        return train

    labels = rng.integers(0, 2, 120)
    trains = np.array([sample(label) for label in labels])
    counts = trains.sum(axis=1)
    assert (counts == 6).all()
    features = gm.LiquidStateFeatures(150, encoding="spikes", pool="mean").fit_transform(trains)
    machine = gm.FisherDiscriminant(shrinkage=0.5)
    assert machine.fit(features[:60], labels[:60]).score(features[60:], labels[60:]) > 0.95
    # A readout of rates sees the same numbers for every sample.
    assert np.ptp(counts, axis=0).max() == 0


@pytest.mark.parametrize("encoding", ["current", "spikes", "poisson"])
def test_features_do_not_depend_on_order_or_batch(rng, encoding):
    sequences = [np.abs(rng.standard_normal((t, 2))).round() for t in (80, 1, 50)]
    model = gm.LiquidStateFeatures(30, encoding=encoding).fit(sequences)
    whole = model.transform(sequences)
    np.testing.assert_array_equal(model.transform(sequences[::-1]), whole[::-1])
    for k, part in enumerate(sequences):
        np.testing.assert_array_equal(model.transform([part]), whole[k : k + 1])


def test_the_raster_the_rates_and_the_wiring(rng):
    model = gm.LiquidStateFeatures(30, dt=0.5).fit(rng.standard_normal((2, 100)))
    X = rng.standard_normal((2, 100))
    spikes = model.spikes(X)
    np.testing.assert_allclose(model.firing_rates(X), [2000 * part.mean(axis=0) for part in spikes])
    W = model.reservoir_.toarray()
    inhibits = (W < 0).any(axis=0)
    assert inhibits.sum() <= 6
    assert (W[:, inhibits] <= 0).all()
    assert (W[:, ~inhibits] >= 0).all()
    assert model.get_feature_names_out()[0] == "liquidstatefeatures0"


def test_a_model_file_answers_to_the_bit(rng, tmp_path):
    X = rng.standard_normal((3, 60))
    model = gm.LiquidStateFeatures(20, encoding="poisson").fit(X)
    gm.save(model, tmp_path / "l.model")
    np.testing.assert_array_equal(gm.load(tmp_path / "l.model").transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"encoding": "rank"}, "encoding is 'current', 'spikes' or 'poisson'"),
        ({"pool": "model"}, "pool is 'last', 'mean' or None"),
        ({"inhibitory": 1.5}, "inhibitory is a number from 0 to 1"),
        ({"connection_length": 0}, "connection_length is a number above 0"),
        ({"dt": 0}, "dt is a number above 0 and at most 5"),
        ({"tau_filter": -1}, "tau_filter is a number above 0"),
    ],
)
def test_bad_parameters_are_named(parameters, said):
    with pytest.raises(DataError, match=said):
        gm.LiquidStateFeatures(5, **parameters).fit(np.ones((2, 9)))
