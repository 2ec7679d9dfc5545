"""A small table of three categories and two numbers, and a score over it whose every part is drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.maps.projection import Design
from gramian.maps.surprise.explain import NumberFacts
from gramian.maps.surprise.score import NumberTerms, PairScore, SparsePair
from gramian.tables import open_table

CATEGORIES, NUMBERS = ["a", "b", "c"], ["u", "v"]


@dataclass(frozen=True)
class Case:
    """Rows, what was collected of them, and what numbers are like."""

    frame: pd.DataFrame
    moments: gm.Moments
    design: Design
    facts: NumberFacts

    def encoded(self, frame=None):
        (rows,) = self.design.rows(open_table(self.frame if frame is None else frame))
        return rows


@pytest.fixture(scope="session")
def case():
    rng = np.random.default_rng(5)
    n = 240
    a = rng.choice(["x", "y", "z"], n, p=[0.7, 0.25, 0.05])
    b = np.array([f"level {k}" for k in rng.integers(0, 9, n)])
    # Within three standard deviations, where what a number is worth is a square.
    u = rng.uniform(-1, 1, n) + (a == "y")
    v = 40 + 10 * (0.5 * u + rng.uniform(-1, 1, n))
    frame = pd.DataFrame({"a": a, "b": b, "c": np.where(rng.random(n) < 0.8, a, "x"), "u": u, "v": v})
    m = gm.collect(frame)
    design = Design.of(m, [*CATEGORIES, *NUMBERS])
    x = frame[NUMBERS].to_numpy()
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    r = np.corrcoef(z, rowvar=False)
    means, left = [], np.empty((3, 2))
    for k, name in enumerate(CATEGORIES):
        levels = design.labels[k].to_list()
        means.append(np.array([z[frame[name] == level].mean(axis=0) for level in levels]))
        left[k] = 1 - np.array([(frame[name] == level).mean() for level in levels]) @ means[-1] ** 2
    rows = tuple(np.tile(m.pairs.level_weights[m.coded_at[name]][:, None], 2) for name in CATEGORIES)
    one, by_level = np.ones(2), tuple(means)
    facts = NumberFacts(x.mean(axis=0), x.std(axis=0), 0 * one, n * one, r, 1 - r**2, by_level, left, by_level, rows)
    return Case(frame, m, design, facts)


@pytest.fixture(scope="session")
def pair_score(case):
    """Own worth of every level, a table for (a, c), counts for (a, b), and every edge that numbers can have."""
    rng = np.random.default_rng(6)
    sizes = [len(labels) for labels in case.design.labels]
    own = tuple(rng.normal(size=size) for size in sizes)
    codes = case.encoded().codes.astype(int)
    counts = np.zeros((sizes[0], sizes[1]))
    np.add.at(counts, (codes[0], codes[1]), 1.0)
    found = sp.csr_array(counts)
    sparse = SparsePair(
        found.indptr.astype(np.int64),
        found.indices.astype(np.int32),
        found.data,
        counts.sum(axis=1),
        counts.sum(axis=0) / counts.sum(),
        0.7,
    )
    facts = case.facts
    terms = NumberTerms(
        centre=facts.centre,
        scale=facts.scale,
        bend=facts.bend,
        first=np.array([0]),
        second=np.array([1]),
        slope=facts.correlation[[0], [1]],
        left=facts.left[[0], [1]],
        factor=np.array([0.4]),
        number=np.array([0, 1, 1]),
        category=np.array([0, 0, 2]),
        left_by_level=facts.left_by_level[[0, 0, 2], [0, 1, 1]],
        level_factor=np.array([0.3, 0.8, 0.6]),
        means=np.vstack(facts.level_means),
    )
    pairs = {(0, 2): rng.normal(size=(sizes[0], sizes[2]))}
    return PairScore(case.design, own, pairs, {(0, 1): sparse}, terms, (-20.0, 30.0), penalty=55.0)


@pytest.fixture(scope="session")
def odd_rows(case):
    """Rows with levels never seen, missing numbers, and numbers far out."""
    frame = case.frame.iloc[:12].copy()
    frame.loc[0, "a"] = "new"
    frame.loc[1, ["b", "c"]] = "new"
    frame.loc[2, ["a", "u"]] = ["new", np.nan]
    frame.loc[3, ["u", "v"]] = np.nan
    frame.loc[4, ["u", "v"]] = [50.0, -700.0]
    frame.loc[5, "v"] = 1e12
    return frame


def worth(z):
    """Return e(z) as `score` writes it, for one number."""
    return z * z / 2 if abs(z) <= 3 else 4.5 * (1 + np.log(z * z / 9))


@pytest.fixture(scope="session")
def terms_by_hand():
    """Return a function that adds up, value by value and pair by pair, what each row of a frame is worth."""

    def found(score, frame):
        labels = [labels.to_list() for labels in score.design.labels]
        c, q, n = len(labels), 2, score.numbers
        out = np.zeros((len(frame), c + q, c + q))
        for i, row in enumerate(frame.itertuples(index=False)):
            codes = [
                names.index(value) if value in names else None for names, value in zip(labels, row[:c], strict=True)
            ]
            z = [np.clip((row[c + j] - n.centre[j]) / n.scale[j], -1e6, 1e6) for j in range(q)]
            for j in range(c):
                out[i, j, j] = score.penalty if codes[j] is None else score.own[j][codes[j]]
            for (j, k), table in score.pairs.items():
                if codes[j] is not None and codes[k] is not None:
                    out[i, j, k] = table[codes[j], codes[k]]
            for (j, k), pair in score.sparse_pairs.items():
                if codes[j] is not None and codes[k] is not None:
                    stored = range(pair.indptr[codes[j]], pair.indptr[codes[j] + 1])
                    seen = sum(pair.counts[at] for at in stored if pair.indices[at] == codes[k])
                    expected = pair.weights[codes[j]] * pair.shares[codes[k]]
                    out[i, j, k] = pair.factor * np.log((expected + 1) / (seen + 1))
            for j in range(q):
                out[i, c + j, c + j] = 0.0 if np.isnan(z[j]) else worth(z[j])
            for e in range(len(n.first)):
                x, y, r, v = z[n.first[e]], z[n.second[e]], n.slope[e], n.left[e]
                if not np.isnan(x + y):
                    given_x = worth((y - r * x) / v**0.5) - worth(y)
                    given_y = worth((x - r * y) / v**0.5) - worth(x)
                    edge = n.factor[e] * (0.5 * np.log(v) + 0.5 * given_x + 0.5 * given_y)
                    out[i, c + n.first[e], c + n.second[e]] = edge
            for e in range(len(n.number)):
                j, k, v = n.number[e], n.category[e], n.left_by_level[e]
                if codes[k] is not None and not np.isnan(z[j]):
                    mean = n.means[sum(map(len, labels[:k])) + codes[k], j]
                    near = worth((z[j] - mean) / v**0.5)
                    out[i, k, c + j] = n.level_factor[e] * (0.5 * np.log(v) + near - worth(z[j]))
        return out

    return found
