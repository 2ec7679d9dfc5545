"""Products through one matrix of pair counts are products with the scatter."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import centre_of, layout_of
from gramian.linear.scatter import narrow as narrow_scatter
from gramian.linear.scatter.narrow import NarrowScatter


@pytest.mark.parametrize(
    "columns", [["color", "shape"], ["size", "color", "grade", "shape", "cost"], ["shape", "cost"]]
)
@pytest.mark.parametrize("target", ["kind", "cost", "grade"])
def test_products_are_those_of_the_scatter(mixed, rng, columns, target):
    columns = [name for name in columns if name != target]
    m = gm.collect(mixed)
    features = layout_of(m, columns)
    assert NarrowScatter.suits(m, features)
    scatter = NarrowScatter(m, features, layout_of(m, [target]), centre_of(m, features))
    expected = (m.n_rows - 1) * m.covariance(columns)
    v = rng.standard_normal((features.width, 4))
    scale = np.abs(expected @ v).max(axis=0)
    np.testing.assert_allclose(scatter.among_features(v) / scale, expected @ v / scale, atol=1e-12)
    joint = (m.n_rows - 1) * m.covariance([*columns, target])
    u = rng.standard_normal((len(joint), 2))
    scale = np.abs(joint @ u).max(axis=0)
    np.testing.assert_allclose((scatter @ u) / scale, joint @ u / scale, atol=1e-12)


def test_wide_categories_and_many_numbers_are_left_to_the_operator(rng, monkeypatch):
    n = 5000
    frame = pd.DataFrame({"id": np.char.add("i", np.arange(n).astype(str)), "few": rng.choice(["a", "b"], n)})
    frame["x"], frame["z"] = rng.standard_normal(n), rng.standard_normal(n)
    m = gm.collect(frame)
    assert not NarrowScatter.suits(m, layout_of(m, ["id", "few"]))
    assert not NarrowScatter.suits(m, layout_of(m, ["x", "z"]))
    assert NarrowScatter.suits(m, layout_of(m, ["few", "x", "z"]))
    monkeypatch.setattr(narrow_scatter, "NUMBERS", 1)
    assert not NarrowScatter.suits(m, layout_of(m, ["few", "x", "z"]))
