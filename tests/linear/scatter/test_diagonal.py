import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.layout import layout_of
from gramian.linear.scatter.dense import scatter_diagonal


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_diagonal_of_the_scatter(mixed, rng, weighted):
    mixed["grade"] = pd.array(mixed["grade"], dtype="Int64")
    mixed.loc[::5, "grade"] = pd.NA
    w = rng.gamma(2.0, size=len(mixed)) if weighted else np.ones(len(mixed))
    m = gm.collect(mixed, **({"sample_weight": w} if weighted else {}))
    names = ["size", "color", "grade", "cost"]
    parts = [(mixed["color"].to_numpy() == level).astype(float) for level in m.levels("color")]
    for name in ("size", "grade", "cost"):
        x = mixed[name].astype(float).to_numpy()
        seen = ~np.isnan(x)
        parts.append(np.where(seen, x, np.average(x[seen], weights=w[seen])))
    x = np.array([parts[3], *parts[:3], *parts[4:]])
    expected = (np.square(x - (x @ w / w.sum())[:, None]) @ w).tolist()
    np.testing.assert_allclose(scatter_diagonal(m, layout_of(m, names)), expected, rtol=1e-10)
