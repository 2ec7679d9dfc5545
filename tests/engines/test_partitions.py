"""A pass as a value that travels: plans, bytes, sums, and what only the whole can answer."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.engines.base import CollectOptions
from gramian.engines.collect import planned
from gramian.engines.partitions import Part, PassPlan, added, finish, located, reduced, shell_of
from gramian.errors import ColumnError, DataError, FileFormatError
from gramian.moments.file import to_bytes
from gramian.tables import open_table
from gramian.tables.base import Renamed, over, without

TABLE = pa.table({"c": ["a", "b", None, "a"], "n": [1, 2, 2, 1], "x": [0.5, None, 2.0, 4.0], "w": [1.0, 2.0, 0.0, 1.0]})


def plan_of(table=TABLE, attached=None, **options):
    return PassPlan.of(planned(table, attached or {}, CollectOptions(**options))[1])


def test_a_plan_travels_as_it_is():
    plan = plan_of(sample_weight="w", folds=3, fold_by="c", random_state=7)
    assert pickle.loads(pickle.dumps(plan)) == plan
    given = [plan.settings[name] for name in ("weight_column", "fold_column", "n_folds", "seed")]
    assert given == ["w", "c", 3, 7]
    assert plan.source_columns == ["c", "n", "x", "w"]


def test_a_plan_gives_what_collect_gives():
    for options in ({}, {"sample_weight": "w"}, {"folds": 2, "fold_by": "c"}, {"categorical": "n", "exclude": "x"}):
        found = finish([plan_of(**options).reduce(open_table(TABLE))], "it")
        assert found == gm.collect(TABLE, **options)


def test_labels_of_another_family_are_refused_in_every_partition():
    plan = plan_of(pa.table({"c": ["a"]}), like=gm.collect(pa.table({"c": ["a"]})))
    with pytest.raises(ColumnError, match="column 'c' holds whole numbers"):
        plan.reduce(open_table(pa.table({"c": [1]})))


def test_values_beside_the_table_are_refused():
    with pytest.raises(DataError, match="y is given beside"):
        plan_of(attached={"y": pa.array([1, 2, 3, 4])})
    with pytest.raises(DataError, match="sample_weight= is an array"):
        plan_of(sample_weight=np.ones(4))


def test_partitions_may_be_arrays():
    values = np.arange(12.0).reshape(6, 2)
    plan = plan_of(values)
    parts = [plan.reduce(open_table(values[k : k + 2])) for k in (0, 2, 4)]
    assert finish(parts, "it").isclose(gm.collect(values))


def test_an_empty_partition_is_the_identity():
    plan = plan_of(folds=2)
    nothing, part = plan.reduce(open_table(TABLE.slice(0, 0))), plan.reduce(open_table(TABLE))
    assert (nothing.columns, nothing.n_rows) == ([], 0)
    assert finish([nothing, part, nothing], "it") == part


def test_rows_without_weight_add_nothing():
    table = pa.table({"c": ["z", "y"], "n": [9, 8], "x": [None, 1.0], "w": [0.0, 0.0]})
    plan = plan_of(sample_weight="w", folds=2)
    nothing, part = plan.reduce(open_table(table)), plan.reduce(open_table(TABLE))
    assert nothing.n_rows == 0
    for parts in ([nothing, part], [part, nothing], [nothing, part, nothing]):
        assert finish(map(to_bytes, parts), "it").isclose(part)


def test_only_the_whole_has_no_rows_or_no_weight():
    plan = plan_of(sample_weight="w")
    with pytest.raises(DataError, match=r"^the frame has no rows$"):
        finish([plan.reduce(open_table(TABLE.slice(0, 0))), plan.reduce(open_table(TABLE.slice(0, 0)))], "the frame")
    nothing = plan.reduce(open_table(TABLE.slice(2, 1)))
    with pytest.raises(DataError, match=r"^every sample weight is zero: no row is left to collect$"):
        finish([nothing, plan.reduce(open_table(TABLE.slice(0, 0))), nothing], "the frame")


def test_parts_add_up_as_moments_do_and_travel_as_bytes():
    plan = plan_of(folds=2, fold_by="c")
    moments = [plan.reduce(open_table(TABLE.slice(k, 1))) for k in range(4)]
    parts = [pickle.loads(pickle.dumps(Part(each))) for each in moments]
    assert added(parts).moments == gm.merge(moments)
    assert added(parts[:1]) is parts[0]
    assert finish([to_bytes(each) for each in moments], "it") == gm.merge(moments)
    assert sys.getsizeof(parts[0]) > moments[0].nbytes


def test_bytes_that_were_changed_are_refused():
    data = bytearray(reduced(open_table(TABLE), plan_of()))
    data[-1] ^= 1
    with pytest.raises(FileFormatError, match="checksum"):
        Part.from_bytes(bytes(data))


def test_an_error_names_the_partition_once_and_travels():
    with pytest.raises(ColumnError) as caught, located("day.parquet"):
        planned(TABLE, {}, CollectOptions(fold_by="k", folds=2))
    line = str(caught.value)
    assert line.startswith("day.parquet: fold_by='k': column 'k' is not in the table")
    assert str(pickle.loads(pickle.dumps(caught.value))) == line
    with pytest.raises(ColumnError, match=r"^day.parquet: fold_by='k'"), located("day.parquet"):
        raise caught.value
    for error in (pa.ArrowInvalid("broken\npage"), OSError("gone")):
        with pytest.raises(DataError, match=r"^day.parquet: \w+: [^\n]+$"), located("day.parquet"):
            raise error


def test_an_argument_without_a_value_stays_one_in_another_process():
    error = DataError(gm.errors.Argument("folds"), " is needed")
    assert str(pickle.loads(pickle.dumps(error))) == "folds= is needed"


def test_the_file_at_fault_is_named_among_those_of_one_task(tmp_path):
    for k, weight in enumerate([1.0, -1.0, 2.0]):
        pq.write_table(pa.table({"x": [1.0, 2.0], "w": [1.0, weight]}), tmp_path / f"{k}.parquet")
    table, encoder = planned(str(tmp_path), {}, CollectOptions(sample_weight="w"))
    with pytest.raises(ColumnError, match=r"1.parquet: weight column 'w' has a negative value \(-1.0\)"):
        reduced(table, PassPlan.of(encoder))


def test_how_a_table_is_seen_is_put_over_its_partitions():
    whole = open_table(TABLE)
    assert shell_of(whole, whole) is None
    view = Renamed(without(whole, ["w", "n"]), ["a", "b"])
    shell = pickle.loads(pickle.dumps(shell_of(view, whole)))
    (batch,) = over(shell, open_table(TABLE.slice(1, 1))).batches(["b", "a"])
    assert batch.to_pydict() == {"b": [None], "a": ["b"]}
