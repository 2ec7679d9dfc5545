import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.linear.fisher import fisher, fisher_criterion


def test_axes_whiten_the_classes_from_within(mixed):
    m = gm.collect(mixed)
    found = fisher(m, None, "kind")
    rows = mixed.copy()
    rows["size"] = rows["size"].fillna(rows["size"].mean())
    names = m.design_names_of(["color", "shape", "grade", "size", "cost"])
    design = np.column_stack(
        [
            (rows[n.split("_")[0]] == n.split("_")[1]).to_numpy(float) if "_" in n else rows[n].to_numpy(float)
            for n in names
        ]
    )
    z = (design - found.mean) @ found.weights
    z = z - pd.DataFrame(z).groupby(mixed["kind"].to_numpy()).transform("mean").to_numpy()
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(2), atol=1e-9)


def test_criterion_is_that_of_each_axis(mixed):
    m = gm.collect(mixed)
    for shrinkage in (None, 0.3, "auto"):
        found = fisher(m, None, "kind", shrinkage=shrinkage)
        each = [fisher_criterion(m, "kind", found.weights[:, j]) for j in range(2)]
        np.testing.assert_allclose(found.criterion, each, rtol=1e-9)
        assert found.criterion[0] > found.criterion[1]


def test_no_direction_beats_the_first_axis(mixed, rng):
    m = gm.collect(mixed)
    best = fisher(m, None, "kind").criterion[0]
    tried = [fisher_criterion(m, "kind", rng.standard_normal(9)) for _ in range(200)]
    assert max(tried) < best


def test_criterion_of_rows_equals_that_of_moments(rng):
    x = rng.standard_normal((90, 3))
    y = rng.integers(0, 3, 90)
    x[:, 0] += y
    frame = pd.DataFrame(x, columns=list("abc"))
    frame["y"] = y
    w = rng.standard_normal(3)
    assert fisher_criterion(x, y, w) == pytest.approx(fisher_criterion(gm.collect(frame), "y", w), rel=1e-10)


def test_criterion_without_spread_within_is_infinite():
    assert fisher_criterion([[0.0], [0.0], [1.0]], [0, 0, 1], [1.0]) == np.inf
    m = gm.collect(pd.DataFrame({"x": [0.0, 0.0, 1.0], "y": ["a", "a", "b"]}))
    assert fisher_criterion(m, "y", [1.0]) == np.inf


def test_a_class_of_one_member_is_allowed(rng):
    frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    frame["y"] = ["p"] * 15 + ["q"] * 14 + ["r"]
    found = fisher(gm.collect(frame), None, "y")
    assert found.weights.shape == (2, 2)
    np.testing.assert_allclose(found.class_means[2], frame.loc[29, ["a", "b"]].to_numpy(float))


def test_classes_are_sorted_whatever_the_order_of_the_rows():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 9], "y": [30, 4, 4, 30, 7, 7]})
    found = fisher(gm.collect(frame), None, "y")
    assert found.classes == [4, 7, 30]
    np.testing.assert_allclose(found.class_means[:, 0], [2.5, 7.0, 2.5])
    np.testing.assert_array_equal(found.class_counts, [2, 2, 2])


def test_a_column_constant_within_classes_is_ignored_not_inverted(rng):
    frame = pd.DataFrame({"x": rng.standard_normal(40), "y": ["a", "b"] * 20})
    frame["leak"] = (frame["y"] == "a") * 3.0
    found = fisher(gm.collect(frame), None, "y")
    assert found.rank == 1
    assert found.weights[1] == 0


def test_one_hot_null_directions_give_the_pseudo_inverse_weights(mixed):
    m = gm.collect(mixed[["color", "shape", "kind"]])
    found = fisher(m, None, "kind")
    assert found.rank == 4
    within = np.zeros((6, 6))
    scatter = m.covariance(["color", "shape", "kind"], ddof=0)
    cross = scatter[:6, 6:]
    shares = np.array([(mixed["kind"] == c).mean() for c in m.levels("kind")])
    within = scatter[:6, :6] - cross @ np.diag(1 / shares) @ cross.T
    unit = np.sqrt(np.diagonal(within))
    inverse = np.linalg.pinv(within / np.outer(unit, unit), rcond=1e-10, hermitian=True) / np.outer(unit, unit)
    expected = (found.class_means - found.mean) @ inverse
    np.testing.assert_allclose(found.coef, expected, rtol=1e-8, atol=1e-10)


def test_targets_that_cannot_be_classes_are_refused(mixed, rng):
    frame = mixed.copy()
    frame["wide"] = np.arange(len(frame))
    m = gm.collect(frame)
    for name in ("size", "wide"):
        with pytest.raises(DataError, match="collected as a number"):
            fisher(m, None, name)
    with pytest.raises(ColumnError, match="did you mean 'kind'"):
        fisher(m, None, "kin")
    with pytest.raises(ColumnError, match="is the target"):
        fisher(m, ["kind", "cost"], "kind")
    frame["kind"] = "a"
    with pytest.raises(DataError, match="less than 2 classes"):
        fisher(gm.collect(frame), None, "kind")
    frame["kind"] = ["a", "b", None, None] * 100
    with pytest.raises(DataError, match="missing in 200 rows"):
        fisher(gm.collect(frame), None, "kind")


@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.5, 0.5, 0.1], [1.2, -0.1, -0.1], [0.5, 0.5, 0.0], "auto"])
def test_priors_that_do_not_fit_are_refused(mixed, priors):
    with pytest.raises(ValueError, match=r"priors|convert"):
        fisher(gm.collect(mixed), None, "kind", priors=priors)


def test_more_axes_than_classes_allow_are_refused(mixed):
    with pytest.raises(DataError, match="at most 2 axes"):
        fisher(gm.collect(mixed), None, "kind", n_components=3)


@pytest.mark.parametrize("wrong", ["oas", -0.1, 1.1, True])
def test_shrinkage_out_of_range_is_refused(mixed, wrong):
    with pytest.raises(DataError, match="shrinkage must be"):
        fisher(gm.collect(mixed), None, "kind", shrinkage=wrong)


def test_cross_validated_shrinkage_helps_where_rows_are_few(rng):
    n, p = 60, 40
    y = rng.integers(0, 2, n)
    x = rng.standard_normal((n, p))
    x[:, :5] += 0.8 * y[:, None]
    frame = pd.DataFrame(x).add_prefix("x")
    frame["y"] = y
    m = gm.collect(frame, folds=5)
    found = fisher(m, None, "y", shrinkage="cv")
    assert found.shrinkage >= 0.1
    assert found.selection["r2"].max() > found.selection["r2"][0] + 0.1
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        fisher(gm.collect(frame), None, "y", shrinkage="cv")


def test_equal_means_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 1.0, 2.0], "y": list("aabb")})
    with pytest.raises(DataError, match="no axis separates"):
        fisher(gm.collect(frame), None, "y")


def test_classes_that_do_not_vary_within_are_still_told_apart():
    m = gm.collect(pa.table({"x": [1.0, 1.0, 2.0, 2.0, 4.0], "class": ["a", "a", "b", "b", "c"]}))
    found = fisher(m, target="class")
    assert found.criterion.tolist() == [np.inf]
    scores = np.array([[1.0], [2.0], [4.0]]) @ found.coef.T + found.intercept
    assert [found.classes[k] for k in scores.argmax(axis=1)] == ["a", "b", "c"]
