"""Gower's distance against its definition, and columns that the reference table has no value of."""

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.distances.metrics.gower import MixedMetric, split_column
from gramian.errors import ColumnError, DataError


def by_definition(rows, others, reference):
    """Return distances between lists of dicts, each column judged by what the reference holds."""
    out = np.empty((len(rows), len(others)))
    for i, a in enumerate(rows):
        for j, b in enumerate(others):
            parts = []
            for name in reference[0]:
                if a[name] is None or b[name] is None:
                    continue
                known = [row[name] for row in reference if row[name] is not None]
                if isinstance(a[name], str):
                    parts.append(float(a[name] != b[name]))
                else:
                    width = max(known) - min(known) if known else 0.0
                    gap = abs(a[name] - b[name])
                    parts.append(min(1.0, gap / width) if width else float(gap > 0))
            out[i, j] = np.mean(parts)
    return out


def random_rows(rng, n):
    colors = ["red", "blue", None]
    return [
        {"base": 1.0, "size": None if rng.random() < 0.3 else float(rng.normal()), "color": colors[rng.integers(3)]}
        for _ in range(n)
    ]


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    reference, new = random_rows(rng, 12), random_rows(rng, 7)
    found = gm.pairwise_distances(pa.Table.from_pylist(new), pa.Table.from_pylist(reference), metric="gower")
    np.testing.assert_allclose(found, by_definition(new, reference, reference), rtol=1e-12, atol=1e-15)


EMPTY = {
    "text": pa.array([None, None], pa.string()),
    "dictionary": pa.array([None, None], pa.dictionary(pa.int32(), pa.string())),
    "boolean": pa.array([None, None], pa.bool_()),
    "null": pa.nulls(2),
}


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("values", [["red", "blue"], [True, False]])
def test_a_column_without_a_value_in_the_reference_refuses_no_new_row(empty, values):
    """No pair has it on both sides, so it counts for none; what new rows hold there cannot matter."""
    reference = pa.table({"size": [1.0, 3.0], "color": EMPTY[empty]})
    new = pa.table({"size": [2.0, 3.0], "color": values})
    found = gm.pairwise_distances(new, reference, metric="gower")
    np.testing.assert_allclose(found, [[0.5, 0.5], [1.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("empty", ["text", "dictionary", "null"])
def test_so_does_a_fitted_model_after_a_file_too(empty, tmp_path):
    table = pa.table({"size": [1.0, 3.0, 4.0], "color": pa.concat_arrays([EMPTY[empty], EMPTY[empty].slice(0, 1)])})
    model = gm.ClassicalMDS(n_components=1, metric="gower").fit(table)
    gm.save(model, tmp_path / "mds.model")
    new = pa.table({"size": [1.0, 3.0, 4.0], "color": ["red", None, "blue"]})
    for each in (model, gm.load(tmp_path / "mds.model")):
        np.testing.assert_allclose(each.transform(new), model.transform(table), rtol=1e-9, atol=1e-12)


def test_another_kind_of_label_is_still_refused():
    metric = MixedMetric("gower", {}).learn(pa.table({"color": ["red", "blue"]}))
    with pytest.raises(ColumnError, match="'color' holds whole numbers"):
        metric.prepare(pa.table({"color": [1, 2]}))


def test_rows_without_anything_in_common_are_refused():
    table = pa.table({"a": [1.0, None], "b": [None, "x"]})
    with pytest.raises(DataError, match="share no observed column"):
        gm.pairwise_distances(table, metric="gower")
    with pytest.raises(DataError, match="row 1 has no observed value"):
        gm.pairwise_distances(pa.table({"a": [1.0, None]}), metric="gower")


def test_a_column_can_be_taken_out():
    rest, values = split_column(pa.table({"a": [1, 2], "y": ["n", "p"]}), "y")
    assert (rest.column_names, values) == (["a"], ["n", "p"])
    with pytest.raises(ColumnError, match="'z'"):
        split_column(rest, "z")


def test_whole_numbers_beyond_those_that_floats_hold_have_distances():
    found = gm.pairwise_distances(pa.table({"id": [2**60, 2**60 + 2**58, 2**60 + 2**59]}), metric="gower")
    np.testing.assert_allclose(found[0], [0, 0.5, 1])
