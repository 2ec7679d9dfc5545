"""An integer column gives the same numbers whether it stayed by level or folded into a number, whenever it folds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import assert_same


def table_of(seed: int, n_rows: int, n_values: int, missing: float, step: int = 1, first: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    absent = rng.random(n_rows) < missing
    values = first + step * rng.integers(0, n_values, n_rows)
    other = rng.normal(size=n_rows)
    other[rng.random(n_rows) < missing] = np.nan
    return pa.table(
        {
            "k": pa.array(values, pa.int64(), mask=absent),
            "j": pa.array(rng.integers(0, 4, n_rows), pa.int32()),
            "c": pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)]),
            "x": pa.array(other + values % 3),
        }
    )


SHAPES = {
    "seed": st.integers(0, 2**31),
    "n_rows": st.integers(1, 200),
    "n_values": st.integers(1, 64),
    "missing": st.sampled_from([0.0, 0.3, 1.0]),
    "step": st.sampled_from([1, 7, 1_000_003]),
    "first": st.sampled_from([0, -5, 10**8]),
}


@given(**SHAPES)
def test_by_level_equals_as_a_number(**shape: int) -> None:
    table = table_of(**shape)
    by_level, number = gm.collect(table), gm.collect(table, numeric=["k", "j"])
    assert by_level.schema["k"].form == "integer"
    assert number.schema["k"].form == "number"
    assert by_level.design_names == number.design_names
    assert_same(by_level, number)


@given(st.data(), st.integers(1, 30), st.sampled_from([0.0, 0.3]))
def test_folding_in_the_middle_of_a_pass_is_exact(data: st.DataObject, rows: int, missing: float) -> None:
    from gramian.engines import local

    few = table_of(data.draw(st.integers(0, 2**31)), 60, 5, missing)
    many = table_of(data.draw(st.integers(0, 2**31)), 200, 5000, missing)
    table = pa.concat_tables([few, many])
    arguments = data.draw(st.sampled_from([{}, {"folds": 3}]))
    expected = gm.collect(table, numeric=["k"], **arguments)
    whole_stretch = local.stretches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "stretches", lambda batches, *_: whole_stretch(batches, rows))
        folded = gm.collect(table, **arguments)
    assert folded.schema["k"].form == "number"
    assert folded.schema["j"].form == "integer"
    assert folded.columns == expected.columns
    assert_same(folded, expected)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_folding_at_a_later_file_is_exact(missing: float, weighted: bool, tmp_path) -> None:
    parts = [table_of(1, 100, 5, missing), table_of(2, 300, 5000, missing), table_of(3, 50, 3, missing)]
    paths = []
    for k, part in enumerate(parts):
        part = part.append_column("w", pa.array(1.0 + np.arange(part.num_rows) % 3))
        paths.append(str(tmp_path / f"{k}.parquet"))
        pyarrow.parquet.write_table(part, paths[-1])
    arguments = {"sample_weight": "w"} if weighted else {"exclude": "w"}
    assert_same(gm.collect(paths, **arguments), gm.collect(paths, numeric="k", **arguments))


@pytest.mark.parametrize("n_rows", [600_000])
def test_folding_past_the_first_stretch_of_a_long_table_is_exact(n_rows: int) -> None:
    # A stretch is at most 2^19 rows: the values past 64 turn up in the second one.
    values = np.arange(n_rows) % 5
    values[-1000:] = np.arange(1000)
    table = pa.table({"k": values, "c": pa.array((np.arange(n_rows) % 2).astype(bool))})
    m = gm.collect(table)
    assert m.schema["k"].form == "number"
    assert m.mean("k")[0] == pytest.approx(values.mean(), rel=1e-13)
    np.testing.assert_allclose(m.covariance("k")[0, 0], np.var(values, ddof=1), rtol=1e-12)
    expected = np.cov(values, np.arange(n_rows) % 2 == 1)[0, 1]
    true = m.design_names.index("c_True")
    spread = np.sqrt(np.var(values) / 4)
    assert abs(m.covariance()[m.design_names.index("k"), true] - expected) < 1e-12 * spread


@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_folding_on_merge_is_exact(seed: int, missing: float, swapped: bool) -> None:
    few, many = table_of(seed, 80, 6, missing), table_of(seed + 1, 200, 5000, 0.1)
    parts = [many, few] if swapped else [few, many]
    merged = gm.collect(parts[0]) + gm.collect(parts[1])
    assert merged.schema["k"].form == "number"
    assert_same(merged, gm.collect(pa.concat_tables(parts), numeric="k"))


def test_a_union_of_more_than_64_values_folds() -> None:
    a = gm.collect(pa.table({"k": list(range(64))}))
    b = gm.collect(pa.table({"k": list(range(64, 70))}))
    assert a.schema["k"].form == "integer"
    both = a + b
    together = gm.collect(pa.table({"k": list(range(70))}))
    assert together.schema["k"].form == "number"
    assert both.schema["k"].form == "number"
    assert_same(both, together)


@pytest.mark.parametrize("missing", [False, True])
def test_64_values_stay_by_level_and_65_do_not(missing: bool) -> None:
    extra = [None] if missing else []
    assert len(gm.collect(pa.table({"k": [*range(64), *extra]})).levels("k")) == 64 + missing
    more = gm.collect(pa.table({"k": [*range(65), *extra]}))
    with pytest.raises(ValueError, match="'k'"):
        more.levels("k")


def test_missing_does_not_count_among_the_64() -> None:
    for values in ([None, *range(64)], [*range(64), None], [*range(32), None, *range(32, 64)]):
        m = gm.collect(pa.table({"k": pa.array(values, pa.int64())}))
        assert set(m.levels("k")) == {None, *range(64)}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.uint64()])
def test_integer_types_do_not_matter(kind: pa.DataType) -> None:
    values = [1, 2, 2, 100, None]
    m = gm.collect(pa.table({"k": pa.array(values, kind)}))
    assert_same(m, gm.collect(pa.table({"k": pa.array(values, pa.int64())})))


def test_integers_beyond_int64_are_numbers() -> None:
    m = gm.collect(pa.table({"k": pa.array([2**64 - 1, 1, 1], pa.uint64())}))
    assert m.mean("k")[0] == pytest.approx((2.0**64 + 1) / 3)


def test_extremes_of_int64_are_levels() -> None:
    m = gm.collect(pa.table({"k": [2**63 - 1, -(2**63), 0, 0]}))
    assert m.levels("k") == [2**63 - 1, -(2**63), 0]


def test_a_class_target_keeps_its_levels() -> None:
    m = gm.collect(pa.table({"y": [0, 1, 1], "x": [1.0, 2.0, 4.0]}), targets="y")
    assert m.levels("y") == [0, 1]
    assert m.as_categorical("y").kind("y") == "categorical"
    assert m.design_names == ["x"]
