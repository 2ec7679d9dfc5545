import warnings

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import WideColumnWarning


def zipf(n_levels, n, rng):
    share = 1.0 / np.arange(1, n_levels + 1)
    return rng.choice(n_levels, n, p=share / share.sum()).astype(str)


def table(rng, n_levels=4000, n=60_000):
    return pd.DataFrame({"merchant": zipf(n_levels, n, rng), "card": rng.choice(["debit", "credit"], n)})


def test_a_column_of_many_rare_levels_is_named_with_what_to_pool(rng):
    frame = table(rng)
    with pytest.warns(WideColumnWarning, match="column 'merchant' has .* design columns") as seen:
        m = gm.collect(frame)
    # The number it names does what it says.
    least = int(str(seen[0].message).split("min_count=")[1].split(")")[0])
    pooled = m.pool(min_count=least)
    assert len(pooled.levels("merchant")) <= len(m.levels("merchant")) / 2 + 1
    rare = dict(zip(pooled.levels("merchant"), pooled.counts("merchant"), strict=True))["(rare)"]
    assert rare <= 0.1 * len(frame)
    with pytest.warns(WideColumnWarning) as seen:
        gm.PCA(2).fit(frame)
    assert len(seen) == 1
    with pytest.warns(WideColumnWarning):
        gm.PCA(2).fit(m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.PCA(2).fit(pooled)


@pytest.mark.parametrize("kind", ["few", "even", "unique", "not most"])
def test_nothing_is_said_where_pooling_would_not_help(rng, kind):
    n = 30_000
    columns = {
        "few": {"a": zipf(1500, n, rng)},
        "even": {"a": rng.integers(0, 2500, n).astype(str)},
        "unique": {"a": np.arange(n).astype(str)},
        "not most": {"a": zipf(2500, n, rng), "b": rng.integers(0, 3500, n).astype(str)},
    }[kind]
    gm.collect(pd.DataFrame(columns))
