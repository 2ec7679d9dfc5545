"""What of a target the features follow."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.regression.problem import regression_of
from gramian.linear.regression.targets import aim_of, mid_ranks, slices_of


@pytest.fixture
def frame(rng):
    n = 300
    return pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], n),
            "score": rng.integers(0, 30, n),
            "size": rng.standard_normal(n),
            "kind": rng.choice(["b", "a"], n),
        }
    )


@pytest.mark.parametrize(
    ("influence", "function"),
    [
        ("auto", lambda y: y[:, None]),
        ("ranks", lambda y: mid_ranks(y)[:, None]),
        ("slices", lambda y: (slices_of(mid_ranks(y))[:, None] == np.arange(10)).astype(float)),
        (lambda y: np.column_stack([y, y**2]), lambda y: np.column_stack([y, y**2])),
    ],
)
def test_functions_of_levels_equal_functions_of_rows(frame, influence, function):
    moments = gm.collect(frame)
    aim = aim_of(moments, ["score"], influence=influence, target_type="continuous")
    found = regression_of(aim.read(moments), ["color", "size"], aim)
    h = function(frame["score"].to_numpy(float))
    h = h[:, h.std(axis=0) > 0] if influence == "slices" else h
    h = h - h.mean(axis=0)
    x = pd.get_dummies(frame[["size", "color"]], dtype=float).reindex(
        columns=["color_" + level for level in moments.levels("color")] + ["size"]
    )
    x = (x - x.mean()).to_numpy()
    np.testing.assert_allclose(found.cross, x.T @ h, atol=1e-9 * np.abs(x.T @ h).max())
    np.testing.assert_allclose(found.own, h.T @ h, atol=1e-9 * np.abs(h.T @ h).max())


def test_classes_are_sorted_and_two_need_one_function(frame):
    aim = aim_of(gm.collect(frame), ["kind"])
    assert aim.names == ["a", "b"]
    assert aim.classes == [["a", "b"]]
    single = aim.one_per_class()
    assert single.size == 1
    assert single.names == ["kind"]


def test_integers_are_classes_up_to_twenty_levels(frame):
    few = gm.collect(frame.assign(score=frame["score"] % 20))
    assert aim_of(few, ["score"]).size == 20
    assert aim_of(gm.collect(frame), ["score"]).size == 1
    assert aim_of(gm.collect(frame), ["score"], target_type="multiclass").size == frame["score"].nunique()


def test_several_targets_stand_side_by_side(frame):
    aim = aim_of(gm.collect(frame), ["kind", "size"])
    assert aim.map.shape == (3, 3)
    assert aim.owner.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("size", {"influence": "slices"}, "pass y as values"),
        ("size", {"target_type": "multiclass"}, r"categorical=\['size'\]"),
        ("kind", {"influence": "ranks"}, "for a continuous target"),
        ("kind", {"target_type": "continuous"}, "needs a number"),
        ("score", {"influence": "halves", "target_type": "continuous"}, "'slices', 'ranks' or a function"),
        ("score", {"influence": lambda y: y[:2], "target_type": "continuous"}, "one row per value"),
        ("score", {"target_type": "ordinal"}, "target_type is 'auto'"),
        ("score", {"target_type": "binary"}, "30 classes"),
    ],
)
def test_errors_say_what_to_do(frame, target, options, message):
    with pytest.raises(DataError, match=message):
        aim_of(gm.collect(frame), [target], **options)


def test_missing_targets_are_refused(frame):
    frame.loc[3, "size"] = np.nan
    frame.loc[3, "kind"] = None
    moments = gm.collect(frame)
    for target in ("size", "kind"):
        with pytest.raises(DataError, match=rf"missing in .* rows.*collect\(targets=\['{target}'\]\)"):
            aim_of(moments, [target])


def test_one_class_is_refused(frame):
    with pytest.raises(DataError, match="less than 2 classes"):
        aim_of(gm.collect(frame.assign(kind="a")), ["kind"])


@pytest.mark.parametrize("value", [0.1, -7.3e9, 1e-300, 0.0])
def test_a_number_that_is_the_same_in_every_row_is_no_target(value):
    frame = pd.DataFrame({"x": np.arange(7.0), "y": value})
    moments = gm.merge([gm.collect(frame.iloc[:3]), gm.collect(frame.iloc[3:])])
    with pytest.raises(DataError, match=r"target 'y' is .* in every row: there is nothing to follow"):
        aim_of(moments, ["y"])
    assert aim_of(moments, ["y"], any_values=True).size == aim_of(moments, ["x"]).size == 1
    with pytest.raises(DataError, match="target 'k' is 4 in every row"):
        aim_of(gm.collect(pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": 4})), ["k"], target_type="continuous")


def test_a_target_that_tells_rows_apart_is_refused_before_the_algebra():
    n = 60
    frame = pd.DataFrame(
        {"x": np.arange(float(n)), "id": [f"i{max(k, 1)}" for k in range(n)], "pair": [f"p{k // 2}" for k in range(n)]}
    )
    frame["number"] = frame["x"].astype(int)
    moments = gm.collect(frame)
    with pytest.raises(DataError, match="target 'id' has 59 classes in 60 rows, 58 of them of one row") as caught:
        aim_of(moments, ["id"])
    assert "target_type" not in str(caught.value)
    with pytest.raises(DataError, match="or take it as a number with target_type='continuous'"):
        aim_of(moments, ["number"], target_type="multiclass")
    assert len(aim_of(moments, ["pair"]).classes[0]) == n // 2
    # So few classes are some table's own: a row each in a small example.
    assert len(aim_of(gm.collect(frame.iloc[:20]), ["id"]).classes[0]) == 19
