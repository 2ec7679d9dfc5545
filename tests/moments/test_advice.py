import warnings

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import WideColumnWarning
from gramian.moments.advice import HELD, MANY, advise_pooling, pooling_advice


def zipf(n_levels, n, rng):
    share = 1.0 / np.arange(1, n_levels + 1)
    return rng.choice(n_levels, n, p=share / share.sum()).astype(str)


def table(rng, n_levels=2500, n=30_000):
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


def heavy_and_rare(n_heavy, n_rare):
    """Levels of ten rows each, then levels of one row."""
    return pd.DataFrame({"a": [f"h{k}" for k in range(n_heavy)] * 10 + [f"r{k}" for k in range(n_rare)]})


@pytest.mark.filterwarnings("ignore::gramian.errors.WideColumnWarning")
@pytest.mark.parametrize(
    ("n_heavy", "n_rare", "advised"),
    [
        (1000, 1000, True),  # 2,000 levels, 10,000 of 11,000 rows in half of them
        (999, 1000, False),  # too few levels
        (1001, 1000, False),  # more than half of the levels are kept
        (1000, 1200, False),  # 10,000 of 11,200 rows are less than nine of ten
    ],
)
def test_advice_begins_where_its_definition_says(n_heavy, n_rare, advised):
    assert (MANY, HELD) == (2000, 0.9)
    m = gm.collect(heavy_and_rare(n_heavy, n_rare))
    found = pooling_advice(m)
    assert (found is not None) is advised
    if advised:
        assert "has 2,000 of the 2,000 design columns, and 91% of the rows hold 1,000 of its levels" in str(found)
        assert "min_count=10" in str(found)
        with pytest.warns(WideColumnWarning, match="min_count=10"):
            advise_pooling(m)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            advise_pooling(m)


@pytest.mark.filterwarnings("ignore::gramian.errors.WideColumnWarning")
def test_a_target_is_not_advised_on_and_numbers_count_as_one_column_each():
    frame = heavy_and_rare(1000, 1000)
    assert pooling_advice(gm.collect(frame.assign(b=0.5), targets="a")) is None
    assert "of the 2,001 design columns" in str(pooling_advice(gm.collect(frame.assign(b=0.5))))


def test_what_to_pool_is_counted_as_pool_counts_it(rng):
    data = table(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, heavy = gm.collect(data), gm.collect(data, sample_weight=np.full(len(data), 1000.0))
    least = [int(str(pooling_advice(m)).split("min_count=")[1].split(")")[0]) for m in (plain, heavy)]
    assert least[1] == 1000 * least[0]
    kept = [set(m.pool(min_count=k).levels("merchant")) for m, k in zip((plain, heavy), least, strict=True)]
    assert kept[0] == kept[1]
