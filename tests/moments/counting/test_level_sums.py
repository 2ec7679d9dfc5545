"""Sums by level are the same whether they are taken chunk by chunk, by fused units, or first one and then the other."""

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.design.encoder import by_position
from gramian.engines import local
from gramian.engines.base import CollectOptions
from gramian.engines.collect import collect_attached
from gramian.moments.counting import plan_tables as level_sums

ROWS = 30_000


def rows_with_gaps(seed: int = 0) -> tuple[np.ndarray, pa.Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, 5)) + 1e4
    X[: ROWS // 2, 3][rng.random(ROWS // 2) < 0.1] = np.nan
    X[ROWS // 2 :, 1][rng.random(ROWS - ROWS // 2) < 0.1] = np.nan
    # New levels keep turning up to the end.
    return X, pa.array((np.arange(ROWS) // 600 * rng.random(ROWS)).astype(int).astype(str))


def sums_of(X: np.ndarray, y: pa.Array, **options: object) -> gm.Moments:
    return collect_attached(X, {"y": y}, CollectOptions(targets="y", categorical="y", **options))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("room", [0, 3000, 2**22])
def test_sums_by_level_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch, room: int, weighted: bool) -> None:
    X, y = rows_with_gaps()
    weights = np.random.default_rng(1).integers(1, 4, ROWS).astype(float) if weighted else None
    monkeypatch.setattr(level_sums, "CHUNK_SUM_BYTES", room)
    monkeypatch.setattr(local, "STRETCH_BYTES", 2**13 * 16 * 5)
    moments = sums_of(X, y, sample_weight=weights)
    k = moments.coded_at["y"]
    share = np.ones(ROWS) if weights is None else weights
    labels = np.asarray(y)
    numbers = moments.numbers
    assert numbers.missing == (1, 3)
    for level, name in enumerate(moments.levels("y")):
        held = labels == name
        deviation = np.nan_to_num(X[held] - numbers.anchors) * share[held, None]
        np.testing.assert_allclose(moments.sums[k][level, :5], deviation.sum(axis=0), atol=1e-8)
        absent = np.isnan(X[held][:, [1, 3]]) * share[held, None]
        np.testing.assert_array_equal(moments.sums[k][level, 5:], absent.sum(axis=0))


def test_the_pass_above_changes_its_way_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_sums, "CHUNK_SUM_BYTES", 3000)
    first, last = (len(set(np.asarray(rows_with_gaps()[1][:n]))) for n in (2**13, ROWS))
    sums = level_sums.ChunkSums(1, 5, 2)
    assert sums.has_room([first])
    assert not sums.has_room([last])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("others", [1, 3])
def test_sums_by_level_of_many_columns_are_those_of_the_rows(
    monkeypatch: pytest.MonkeyPatch, others: int, weighted: bool
) -> None:
    """Fused or not, and while levels and missing numbers turn up in the middle of the pass."""
    rng = np.random.default_rng(3)
    X, _ = rows_with_gaps(3)
    grows = np.minimum(rng.integers(0, 40, ROWS), np.arange(ROWS) // 500)
    columns = {"grows": grows, "two": rng.integers(0, 2, ROWS), "seven": rng.integers(0, 7, ROWS), "one": 0 * grows}
    columns = dict(list(columns.items())[: 1 + others])
    weights = rng.integers(1, 4, ROWS).astype(float) if weighted else None
    monkeypatch.setattr(local, "STRETCH_ROWS", 2**13)
    table = pa.table({name: pa.array(codes.astype(str)) for name, codes in columns.items()})
    for j in (0, 1, 3):
        table = table.append_column(f"x{j}", pa.array(X[:, j], from_pandas=True))
    moments = gm.collect(table, sample_weight=weights, n_jobs=2)
    share = np.ones(ROWS) if weights is None else weights
    numbers, values = moments.numbers, X[:, [0, 1, 3]]
    assert numbers.missing == (1, 2)
    for name, codes in columns.items():
        sums = moments.sums[moments.coded_at[name]]
        for level, label in enumerate(moments.levels(name)):
            held = codes.astype(str) == label
            deviation = np.nan_to_num(values[held] - numbers.anchors) * share[held, None]
            np.testing.assert_allclose(sums[level, :3], deviation.sum(axis=0), atol=1e-8)
            absent = np.isnan(values[held][:, 1:]) * share[held, None]
            np.testing.assert_array_equal(sums[level, 3:], absent.sum(axis=0))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_folds_of_long_rows_hold_their_own_rows(kind: type) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5000, 20)).astype(kind)
    X[::7, 3] = np.nan
    moments = gm.collect(X, folds=5)
    fold_of = by_position(0, len(X), 5, 0)
    for fold, part in enumerate(moments.folds):
        assert part.isclose(gm.collect(X[fold_of == fold]), rtol=1e-10)
