"""The seam: any engine that can reduce and map serves `collect` and all that reads rows."""

import pyarrow as pa
import pytest

import gramian as gm
from gramian.engines import base
from gramian.engines.base import Engine, batch_rows
from gramian.engines.local import LocalEngine


class Noting(Engine):
    """The local engine, noting what it is asked for."""

    def __init__(self):
        self.asked = []

    def reduce(self, table, encoder):
        self.asked.append(("reduce", list(encoder.source_columns)))
        return LocalEngine().reduce(table, encoder)

    def map(self, table, function, *, columns, rows=None, limit=None):
        self.asked.append(("map", list(columns)))
        return LocalEngine().map(table, function, columns=columns, rows=rows, limit=limit)


@pytest.fixture
def table():
    return pa.table({"color": ["red", "blue", "red", None], "size": [1.0, 2.0, None, 4.0], "w": [1.0, 2.0, 1.0, 3.0]})


@pytest.mark.parametrize("weight", ["w", [1.0, 2.0, 1.0, 3.0]])
def test_collect_runs_on_the_engine_it_is_given(table, weight):
    engine = Noting()
    found = gm.collect(table, columns=["color", "size"], sample_weight=weight, folds=2, engine=engine)
    assert engine.asked == [("reduce", ["color", "size", *(["w"] if weight == "w" else [])])]
    expected = gm.collect(table, columns=["color", "size"], sample_weight=weight, folds=2)
    assert found == expected
    assert [fold.total_weight for fold in found.folds] == [fold.total_weight for fold in expected.folds]


def test_an_engine_must_reduce_and_map():
    class Half(Engine):
        def reduce(self, table, encoder):
            return None

    with pytest.raises(TypeError, match="map"):
        Half()


def test_rows_of_a_batch_are_bounded_by_bytes_and_at_least_one(monkeypatch):
    assert batch_rows(0) == batch_rows(1) == base.BATCH_ROWS
    assert 8 * 1000 * batch_rows(1000) <= base.BATCH_BYTES
    assert batch_rows(2**40) == 1
    monkeypatch.setattr(base, "BATCH_ROWS", 7)
    assert batch_rows(3) == 7
