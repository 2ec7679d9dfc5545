"""The detector's scores are what their definitions say: a mean over all spanning trees, a squared length, a stationary walk."""

from __future__ import annotations

from itertools import combinations, product
from math import log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .spanning_trees import (
    Counts,
    Row,
    coupled_walk,
    edge_shares,
    mean_over_trees,
    parts,
    spanning_trees,
)

METHODS = ["trees", "mahalanobis", "walk"]


def table(rows: list[Row]) -> pa.Table:
    return pa.table({f"c{j}": pa.array([row[j] for row in rows], pa.string()) for j in range(len(rows[0]))})


def scores(fitted: list[Row] | gm.Moments, rows: list[Row], score: str = "trees", **arguments: object) -> np.ndarray:
    source = fitted if isinstance(fitted, gm.Moments) else table(fitted)
    return gm.DensityEmbedding(method=score).fit(source, **arguments).anomaly_score(table(rows))


def random_rows(rng: np.random.Generator, n: int, d: int) -> list[Row]:
    """Return rows of d columns of 1 to 6 levels, most of which copy an earlier column; some values are missing."""
    columns: list[np.ndarray] = []
    for j in range(d):
        k = int(rng.integers(1, 7))
        own = rng.choice(k, n, p=rng.dirichlet(np.full(k, 0.8)))
        source = columns[rng.integers(0, j)] if j and rng.random() < 0.8 else own
        columns.append(np.where(rng.random(n) < rng.choice([0.0, 0.1, 0.6]), own, source % k))
    texts = [[None if code == 2 else f"level {code}" for code in column] for column in columns]
    return list(zip(*texts, strict=True))


def strong_chain(rng: np.random.Generator, n: int, d: int) -> list[Row]:
    """Return columns that each repeat the one before but for a few rows, so that pairs without a row are many."""
    codes = [rng.integers(0, 4, n)]
    for _ in range(d - 1):
        codes.append(np.where(rng.random(n) < 0.02, rng.integers(0, 4, n), codes[-1]))
    return [tuple(f"v{c}" for c in row) for row in zip(*codes, strict=True)]


# The reference itself


@pytest.mark.parametrize("k", range(2, 7))
def test_pruefer_sequences_are_all_trees_each_once(k):
    trees = {frozenset(tree) for tree in spanning_trees(range(k))}
    assert len(trees) == k ** (k - 2)
    assert all(len(tree) == k - 1 and len(parts(k, list(tree))) == 1 for tree in trees)


def test_edges_of_a_tree_are_one_fewer_than_columns(rng):
    counts = Counts(strong_chain(rng, 300, 6))
    assert sum(edge_shares(counts).values()) == pytest.approx(5)


# trees


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 400))
def test_score_is_the_mean_over_all_spanning_trees(seed, d, n):
    rows = random_rows(np.random.default_rng(seed), n, d)
    np.testing.assert_allclose(scores(rows, rows), mean_over_trees(Counts(rows), rows), rtol=1e-9, atol=1e-9)


def test_pairs_without_a_row_are_scored_by_what_was_expected(rng):
    fitted = strong_chain(rng, 400, 5)
    counts = Counts(fitted)
    unusual = list(product(*counts.levels))[::7]
    assert any(counts.pair[0, 1, row[0], row[1]] == 0 for row in unusual)
    np.testing.assert_allclose(scores(fitted, unusual), mean_over_trees(counts, unusual), rtol=1e-9)


def test_two_columns_have_one_tree(rng):
    rows = strong_chain(rng, 200, 2)
    counts = Counts(rows)
    pair = {
        (u, v): -log(counts.level[0, u] * counts.level[1, v] / counts.n**2) - counts.log_lift(0, 1, u, v)
        for u, v in rows
    }
    np.testing.assert_allclose(scores(rows, rows), [pair[row] for row in rows], rtol=1e-9)


@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-3])
def test_informations_of_very_different_size_keep_their_digits(rng, noise):
    n = 20_000
    strong = rng.integers(0, 2, n)
    columns = [strong, strong, *(np.where(rng.random(n) < noise, strong, rng.integers(0, 2, n)) for _ in range(4))]
    rows = [tuple(f"{c}" for c in row) for row in zip(*columns, strict=True)]
    some = sorted(set(rows))
    np.testing.assert_allclose(scores(rows, some), mean_over_trees(Counts(rows), some), rtol=1e-9, atol=1e-9)


def test_columns_without_information_on_each_other_add_their_rarity():
    rows = [(f"{i % 2}", f"{i // 2 % 3}", f"{i // 6 % 2}") for i in range(24)]
    np.testing.assert_allclose(scores(rows, rows), np.full(24, log(2) + log(3) + log(2)), rtol=1e-12)


def test_groups_of_columns_apart_have_trees_of_their_own():
    left, right = [("a", "a")] * 6 + [("b", "b")] * 6, [("x", "x")] * 8 + [("y", "y")] * 4
    rows = [(*one, *other) for one, other in product(left, right)]
    counts = Counts(rows)
    assert counts.information(0, 2) == 0
    assert counts.information(0, 1) > 0
    np.testing.assert_allclose(scores(rows, rows), mean_over_trees(counts, rows), rtol=1e-9)
    np.testing.assert_allclose(
        mean_over_trees(counts, rows), [scores_of_pair(counts, row, 0) + scores_of_pair(counts, row, 2) for row in rows]
    )


def scores_of_pair(counts: Counts, row: Row, j: int) -> float:
    rare = -log(counts.level[j, row[j]] / counts.n) - log(counts.level[j + 1, row[j + 1]] / counts.n)
    return rare - counts.log_lift(j, j + 1, row[j], row[j + 1])


@pytest.mark.parametrize("score", METHODS)
def test_rows_that_are_all_alike_score_alike_and_stay_usual(score):
    rows = [("a", "b", None)] * 3
    model = gm.DensityEmbedding(method=score).fit(table(rows))
    found = model.anomaly_score(table(rows))
    assert np.isfinite(found).all()
    assert (model.predict(table(rows)) == 1).all()
    if score != "walk":
        np.testing.assert_allclose(found, 0, atol=1e-12)


def test_one_row_is_refused_in_words():
    with pytest.raises(ValueError, match="at least 2 rows"):
        gm.DensityEmbedding().fit(table([("a", "b")]))


def test_a_constant_column_changes_nothing(rng):
    rows = strong_chain(rng, 200, 4)
    with_constant = [(*row[:2], "always", *row[2:]) for row in rows]
    np.testing.assert_allclose(scores(with_constant, with_constant), scores(rows, rows), rtol=1e-12)


def test_the_order_of_columns_changes_nothing(rng):
    rows = random_rows(rng, 300, 6)
    turned = [row[::-1] for row in rows]
    np.testing.assert_allclose(scores(turned, turned), scores(rows, rows), rtol=1e-9, atol=1e-10)


def test_missing_is_a_level_like_any_other(rng):
    rows = random_rows(rng, 300, 5)
    named = [tuple("(none)" if u is None else u for u in row) for row in rows]
    assert any(None in row for row in rows)
    np.testing.assert_allclose(scores(rows, rows), scores(named, named), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("score", METHODS)
def test_a_weight_is_a_repeated_row(rng, score):
    rows = random_rows(rng, 120, 5)
    weights = rng.integers(1, 4, len(rows))
    repeated = [row for row, w in zip(rows, weights, strict=True) for _ in range(w)]
    weighted = scores(rows, rows, score, sample_weight=weights.astype(float))
    np.testing.assert_allclose(weighted, scores(repeated, rows, score), rtol=1e-8, atol=1e-10)


def test_weighted_counts_enter_the_definition(rng):
    rows = random_rows(rng, 150, 5)
    weights = rng.gamma(2.0, 1.5, len(rows))
    expected = mean_over_trees(Counts(rows, weights.tolist()), rows)
    np.testing.assert_allclose(scores(rows, rows, sample_weight=weights), expected, rtol=1e-9, atol=1e-9)


# Moments add, so scores do not care how rows came in


def moments(rows: list[Row], **arguments: object) -> gm.Moments:
    return gm.collect(table(rows), **arguments)


@pytest.mark.parametrize("score", METHODS)
def test_score_of_a_sum_is_the_score_of_all_rows(rng, score):
    rows = random_rows(rng, 400, 5)
    a, b = moments(rows[:130]), moments(rows[130:])
    np.testing.assert_allclose(scores(a + b, rows, score), scores(rows, rows, score), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(scores(b + a, rows, score), scores(rows, rows, score), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("score", METHODS)
def test_score_of_a_difference_is_the_score_of_the_rest(rng, score):
    rows = random_rows(rng, 400, 5)
    # The rows taken away hold a level of their own, which is no level of the rest.
    gone = [("gone", *row[1:]) for row in rows[300:]]
    rest = moments(rows[:300] + gone) - moments(gone)
    np.testing.assert_allclose(
        scores(rest, rows[:300], score), scores(rows[:300], rows[:300], score), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("score", METHODS)
def test_score_without_a_fold_is_the_score_of_the_other_folds(rng, score):
    rows = random_rows(rng, 300, 4)
    m = moments(rows, folds=3)
    for i in range(3):
        others = gm.merge([fold for k, fold in enumerate(m.folds) if k != i])
        known = [row for row in rows if all(u in others.levels(f"c{j}") for j, u in enumerate(row))]
        np.testing.assert_allclose(scores(m.without_fold(i), known, score), scores(others, known, score), rtol=1e-9)


@pytest.mark.parametrize("score", METHODS)
def test_threshold_is_a_function_of_moments(rng, score):
    rows = strong_chain(rng, 400, 4)
    a, b = moments(rows[:130]), moments(rows[130:])
    together = gm.DensityEmbedding(method=score).fit(table(rows)).offset_
    assert gm.DensityEmbedding(method=score).fit(a + b).offset_ == pytest.approx(together, rel=0.05)


# Unseen levels


@pytest.mark.parametrize("score", METHODS)
def test_each_unseen_level_outranks_every_row_with_fewer(rng, score):
    fitted = strong_chain(rng, 300, 4)
    every = list(product(*Counts(fitted).levels))
    model = gm.DensityEmbedding(method=score).fit(table(fitted))
    highest = model.anomaly_score(table(every)).max()
    for unseen in range(1, 5):
        found = []
        for columns in combinations(range(4), unseen):
            some = every[:: max(1, len(every) // 40)]
            found.append(
                model.anomaly_score(table([tuple("new" if j in columns else u for j, u in enumerate(r)) for r in some]))
            )
        assert np.min(found) > highest
        highest = np.max(found)


# mahalanobis


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 300))
def test_mahalanobis_is_the_squared_length_by_a_pseudo_inverse(seed, d, n):
    rows = random_rows(np.random.default_rng(seed), n, d)
    nodes = [(j, u) for j, levels in enumerate(Counts(rows).levels) for u in levels]
    x = np.array([[float(row[j] == u) for j, u in nodes] for row in rows])
    x -= x.mean(axis=0)
    # The rank is that of integer counts: eigenvalues of the null space are rounding, all others far above 1e-10.
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(x, rowvar=False)), rcond=1e-10, hermitian=True)
    expected = np.einsum("ij,jk,ik->i", x, inverse, x)
    np.testing.assert_allclose(scores(rows, rows, "mahalanobis"), expected, rtol=1e-7, atol=1e-7)


# walk


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 300))
def test_walk_is_the_coupled_walk_followed_step_by_step(seed, d, n):
    rows = random_rows(np.random.default_rng(seed), n, d)
    counts = Counts(rows)
    np.testing.assert_allclose(scores(rows, rows, "walk"), coupled_walk(counts, rows), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("d", [2, 5, 12])
def test_walk_equals_the_published_package(rng, d):
    package = pytest.importorskip("coupled_biased_random_walks")
    rows = strong_chain(rng, 300, d)
    records = [{f"c{j}": u for j, u in enumerate(row)} for row in rows]
    expected = package.CBRW().add_observations(records).fit().score(records)
    np.testing.assert_allclose(scores(rows, rows, "walk"), expected, rtol=1e-8)


# explain


@pytest.mark.parametrize("score", METHODS)
def test_contributions_of_a_row_add_up_to_its_score(rng, score):
    fitted = strong_chain(rng, 300, 4)
    asked = table([*fitted[:20], ("v0", "v1", "v2", "v3"), ("v0", "new", "v2", None)])
    model = gm.DensityEmbedding(method=score).fit(table(fitted))
    reasons = model.explain(asked, top=2).to_pydict()
    sums = np.zeros(asked.num_rows)
    np.add.at(sums, np.array(reasons["row"]), np.array(reasons["contribution"], dtype=float))
    np.testing.assert_allclose(sums, model.anomaly_score(asked), rtol=1e-9, atol=1e-9)
