import numpy as np
import pyarrow as pa
import pytest

from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.engines.local import LocalEngine
from gramian.errors import DataError
from gramian.random.drawing import Drawing
from gramian.random.elm import HiddenEncoder, HiddenRows, hidden_names, refuse_fractions
from gramian.random.features import DrawnWeights, RandomMap
from gramian.tables import open_table


def machine(table, *, direct=False, n_folds=0):
    schema = plan_columns(types_of(table.schema), categorical=["color", "shape"], targets=["y"])
    weights = DrawnWeights(Drawing("gaussian", 9, 0), "tanh", 1.0, 4)
    inner = Encoder(schema, n_folds=n_folds)
    return HiddenEncoder(inner, lambda columns, labels: RandomMap.of(weights, columns, labels, "tanh"), direct=direct)


def collected(table, encoder):
    return LocalEngine(progress=False).reduce(table, encoder)


@pytest.fixture
def table(mixed):
    frame = mixed.assign(y=np.arange(len(mixed)) % 3 == 0)
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    # Levels grow between batches: the rare one is in the first, green only in the second.
    order = np.argsort((frame["color"] == "green").to_numpy(), kind="stable")
    return whole.take(pa.array(order))


@pytest.mark.parametrize("n_folds", [0, 4])
@pytest.mark.parametrize("direct", [False, True])
def test_moments_are_those_of_the_hidden_units_of_every_row(table, n_folds, direct):
    source = open_table(table.to_batches(max_chunksize=90))
    encoder = machine(source, direct=direct, n_folds=n_folds)
    moments = collected(source, encoder)
    design = encoder.map.design
    rows = next(design.rows(open_table(table.select(["color", "size", "shape", "tail"]))))
    H = encoder.map.apply_rows(rows)
    units = hidden_names(9)
    assert moments.columns == [*units, *(["color", "size", "shape", "tail"] if direct else []), "y"]
    np.testing.assert_allclose(moments.mean(units), H.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(moments.covariance(units), np.cov(H.T), atol=1e-13)
    y = np.asarray(table["y"])
    both = moments.covariance([units[0], "y"])
    at = 1 + moments.levels("y").index(True)
    np.testing.assert_allclose(both[0, at], np.cov(H[:, 0], y)[0, 1], atol=1e-13)
    assert sum(fold.n_rows for fold in moments.folds) == (len(H) if n_folds else 0)
    if direct:
        np.testing.assert_allclose(moments.mean(["size"]), np.mean(np.asarray(table["size"])), atol=1e-14)


def test_levels_are_counted(table):
    source = open_table(table.to_batches(max_chunksize=90))
    encoder = machine(source)
    collected(source, encoder)
    for labels, counts, name in zip(encoder.seen(), encoder.counts, ("color", "shape"), strict=True):
        expected = table[name].value_counts().to_pylist()
        assert dict(zip(labels.to_list(), counts.tolist(), strict=True)) == {v["values"]: v["counts"] for v in expected}


def test_hidden_rows_are_computed_where_they_are_asked_for(table):
    source = open_table(table)
    encoder = machine(source)
    rows = next(
        encoder._layers(encoder.columns, [encoder.labels("color"), encoder.labels("shape")]).design.rows(source)
    )
    lazy = HiddenRows(encoder.map, rows, np.arange(float(2 * len(rows))).reshape(-1, 2))
    whole = lazy[:]
    assert lazy.shape == whole.shape == (len(rows), 11)
    np.testing.assert_array_equal(lazy[5:9], whole[5:9])
    np.testing.assert_array_equal(np.take(lazy, [3, 1], axis=0), whole[[3, 1]])
    room = np.empty((2, 11))
    np.take(lazy, np.array([3, 1]), axis=0, out=room, mode="clip")
    np.testing.assert_array_equal(room, whole[[3, 1]])


def test_an_infinite_number_is_named(table):
    bad = table.set_column(3, "tail", pa.array([np.inf] + [0.0] * (len(table) - 1)))
    source = open_table(bad)
    with pytest.raises(DataError, match="column 'tail' holds an infinite value"):
        collected(source, machine(source))


def test_fractions_are_no_classes():
    for fine in (pa.array([1.0, None, 2.0, np.nan]), pa.array([1, 2]), pa.array(["0.5"]), pa.nulls(2, pa.float32())):
        refuse_fractions(fine, "y")
    for values in (pa.array([1.0, None, 0.5]), pa.array([0.5], pa.float32()), pa.array([0.5, 1.0]).dictionary_encode()):
        with pytest.raises(DataError, match=r"column 'a' holds 0\.5, a fraction; use ELMRegressor"):
            refuse_fractions(values, "column 'a'")
