"""Counts, means and scatter of classes against the rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.class_moments import class_moments, within_scatter

COLUMNS = ["color", "grade", "size", "cost"]


@pytest.mark.parametrize("weighted", [False, True])
def test_classes_have_the_means_and_scatter_of_their_rows(mixed, rng, weighted):
    mixed["size"] = mixed["size"].fillna(0.0)
    w = rng.gamma(2.0, size=len(mixed)) if weighted else np.ones(len(mixed))
    m = gm.collect(mixed, **({"sample_weight": w} if weighted else {}))
    found = class_moments(m, COLUMNS, "kind")
    levels = np.array(m.levels("color"), dtype=object)
    x = np.column_stack([mixed["color"].to_numpy()[:, None] == levels, mixed[COLUMNS[1:]]]).astype(float)
    assert found.classes == ["a", "b", "c"]
    within = np.zeros((6, 6))
    for c, label in enumerate(found.classes):
        at = (mixed["kind"] == label).to_numpy()
        mean = w[at] @ x[at] / w[at].sum()
        assert found.counts[c] == pytest.approx(w[at].sum())
        np.testing.assert_allclose(found.means[c], mean, rtol=1e-10)
        within += ((x[at] - mean) * w[at, None]).T @ (x[at] - mean)
    scale = np.sqrt(np.outer(np.diagonal(within), np.diagonal(within)))
    np.testing.assert_allclose(np.tril(found.within() / scale), np.tril(within / scale), atol=1e-10)
    np.testing.assert_allclose(found.within_diagonal, np.diagonal(within), rtol=1e-10)
    total = x - w @ x / w.sum()
    np.testing.assert_allclose(found.ratio, (w @ np.square(total)) / np.diagonal(within), rtol=1e-10)
    v = rng.standard_normal((6, 2)) / np.sqrt(np.diagonal(within))[:, None]
    between, inside = found.sums_along(v)
    np.testing.assert_allclose(inside, np.einsum("ij,ij->j", v, within @ v), rtol=1e-8)
    np.testing.assert_allclose(between + inside, w @ np.square(total @ v), rtol=1e-10)
    pairs = (w.sum() ** 2 - np.square(found.counts).sum()) / 2
    assert found.per_pair == pytest.approx(w.sum() / pairs)


def test_a_column_that_is_constant_within_every_class_leaves_no_rounding(mixed):
    mixed["code"] = mixed["kind"].map({"a": 0.1, "b": 0.7, "c": 1e6})
    found = class_moments(gm.collect(mixed), ["size", "code"], "kind")
    assert found.within_diagonal[1] == 0
    assert not found.within()[1].any()
    assert within_scatter(np.array([4.0, 4.0]), np.array([[2.0, 1.0]]), np.array([1.0])).tolist() == [0.0, 3.0]


def test_targets_without_classes_are_refused(mixed):
    m = gm.collect(mixed)
    with pytest.raises(DataError, match="'cost' was collected as a number"):
        class_moments(m, None, "cost")
    mixed.loc[3, "kind"] = None
    with pytest.raises(DataError, match="missing in 1 of"):
        class_moments(gm.collect(mixed), None, "kind")
    with pytest.raises(DataError, match="less than 2 classes"):
        class_moments(gm.collect(mixed.assign(kind="a")), None, "kind")


def test_classes_that_are_numbers_with_a_rare_one_among_them_have_an_order(rng):
    table = pd.DataFrame({"y": rng.choice([3, 1, 2, 7], 200, p=[0.4, 0.4, 0.1, 0.1]), "x": rng.normal(size=200)})
    pooled = gm.collect(table, categorical=["y"]).pool(max_levels=3)
    assert class_moments(pooled, ["x"], "y").classes == [1, 3, "(rare)"]
    # A class of every row in one type, as wherever levels were pooled.
    assert gm.FisherDiscriminant().fit(pooled, "y").classes_.tolist() == ["1", "3", "(rare)"]
