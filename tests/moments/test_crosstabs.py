from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.design import pair_tables as narrow
from gramian.moments.crosstabs import Crosstabs


def rows_of(rng, n=400):
    return pd.DataFrame(
        {
            "few": [f"v{k}" for k in rng.integers(0, 3, n)],
            "number": rng.standard_normal(n),
            "some": [None if k == 0 else f"v{k}" for k in rng.integers(0, 12, n)],
            "count": rng.integers(0, 7, n),
            "same": ["x"] * n,
            "many": [f"v{k}" for k in (40 * rng.random(n) ** 3).astype(int)],
            "year": 2000 + rng.integers(0, 20, n),
        }
    )


def by_rows(frame, weights):
    """Chi-squared over n, eta^2 and r^2 from weighted rows, and mutual information from weighted tables."""
    n, names = weights.sum(), list(frame.columns)
    squares, information = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if "number" in (a, b):
                continue
            spaces = []
            for name in (a, b):
                one_hot = pd.get_dummies(frame[name], dummy_na=bool(frame[name].isna().any())).to_numpy(dtype=float)
                x = frame[[name]].to_numpy(dtype=float) if name in ("count", "year") else one_hot
                x = (x - weights @ x / n) * np.sqrt(weights)[:, None]
                u, s, _ = np.linalg.svd(x, full_matrices=False)
                spaces.append(u[:, s > 1e-9 * max(s.max(), 1.0)])
            squares[i, j] = np.square(spaces[0].T @ spaces[1]).sum() if a != b else 0.0
            codes = [pd.factorize(frame[name], use_na_sentinel=False)[0] for name in (a, b)]
            table = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
            np.add.at(table, tuple(codes), weights)
            p = table / n
            expected = np.outer(p.sum(axis=1), p.sum(axis=0))
            information[i, j] = (p[p > 0] * np.log(p[p > 0] / expected[p > 0])).sum()
    return squares, information


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stored", ["one matrix", "tables of their own", "sparse tables"])
def test_one_sweep_equals_pairs_from_rows(rng, monkeypatch, weighted, stored):
    if stored != "one matrix":
        monkeypatch.setattr(narrow, "NARROW_TOTAL", 14)
    frame = rows_of(rng)
    weights = rng.random(len(frame)) * 3 if weighted else np.ones(len(frame))
    m = gm.collect(frame, sample_weight=weights if weighted else None)
    if stored == "sparse tables":
        assert m.pairs.blocks
        blocks = {pair: sp.csr_array(block) for pair, block in m.pairs.blocks.items()}
        m = replace(m, pairs=replace(m.pairs, blocks=blocks))
    names = ["year", "few", "number", "some", "count", "same", "many"]
    tables = Crosstabs(m, names)
    squares, information = by_rows(frame[names], weights)
    # Rounding of sums over 400 rows.
    for j in np.flatnonzero(tables.by_level):
        np.testing.assert_allclose(tables.squares(j), squares[j], atol=1e-11)
        np.testing.assert_allclose(tables.information(j)[0], information[j], atol=1e-11)
    assert tables.by_level.tolist() == [name != "number" for name in names]


def test_cells_that_occur_are_counted(rng):
    frame = rows_of(rng, 60)
    tables = Crosstabs(gm.collect(frame), ["few", "many", "number"])
    _, seen = tables.information(1)
    assert seen.tolist() == [len(frame[["few", "many"]].drop_duplicates()), frame["many"].nunique(), 0]
