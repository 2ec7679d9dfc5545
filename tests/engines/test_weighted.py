"""Weighted passes: levels in the order of the fit, rows kept while there is room, leverages by pairs of levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.engines.weighted import ErrorWeights, KeepingEncoder, Reader, _in_design_order
from gramian.linear.regression.glm import Family
from gramian.maps.projection import Design, Projection, Rows


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    return pd.DataFrame({"a": rng.choice(list("xyz"), 50), "b": rng.choice(list("uv"), 50), "c": rng.normal(size=50)})


def test_levels_are_put_in_the_order_of_the_fit(frame):
    design = Design.of(gm.collect(frame), ["a", "b", "c"])
    # A partition that begins elsewhere, and lacks a level.
    other = frame[::-1][frame["a"][::-1] != "x"]
    moments = _in_design_order(gm.collect(other, folds=2), design)
    assert moments.levels("a") == design.labels[0].to_list()
    assert moments.counts("a").tolist() == [int((other["a"] == level).sum()) for level in moments.levels("a")]
    assert all(fold.levels("b") == design.labels[1].to_list() for fold in moments.folds)


def test_rows_are_kept_while_there_is_room(frame):
    from gramian.engines.base import CollectOptions
    from gramian.engines.collect import collect_attached

    for room, kept in ((10**6, 50), (100, 0)):
        made: list[KeepingEncoder] = []

        def keep(inner, room=room, made=made):
            made.append(KeepingEncoder(inner, room))
            return made[-1]

        moments = collect_attached(frame, {}, CollectOptions(), keep)
        design = Design.of(moments, ["a", "b"])
        stretches = made[0].stretches(Reader(design, np.empty(0), "c"))
        assert sum(len(rows.rows) for rows in stretches or []) == kept
        if stretches:
            np.testing.assert_allclose(np.concatenate([rows.target for rows in stretches]), frame["c"])


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_leverages_are_the_quadratic_form_of_the_design_columns(frame, rng, dtype):
    design = Design.of(gm.collect(frame), ["a", "c", "b"])
    a, b = (pd.Categorical(frame[k], categories=design.labels[j].to_list()) for j, k in enumerate("ab"))
    rows = Rows(np.vstack([a.codes, b.codes]).astype(dtype), frame[["c"]].to_numpy())
    root = rng.normal(size=(6, 6))
    form, side = root @ root.T, rng.normal(size=(6, 1))
    dense = np.column_stack([np.eye(3)[a.codes], frame["c"], np.eye(2)[b.codes]])
    weigh = ErrorWeights(Family.of("gaussian"), Projection(design, np.zeros((6, 1)), np.zeros(1)), 2, form, side, 0.5)
    wanted = np.einsum("ij,jk,ik->i", dense, form, dense) + (dense @ side)[:, 0] + 0.5
    np.testing.assert_allclose(weigh.leverages(rows), wanted, rtol=1e-12)
