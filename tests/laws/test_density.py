"""Laws of the density embedding, of the scores of odd rows, and of their threshold."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.linear.density.detector import METHODS, density_embedding
from gramian.linear.density.spanning import edge_probabilities


def dependent_rows(rng: np.random.Generator, n: int, *, numbers: bool = True) -> pd.DataFrame:
    """Return rows with dependent categories and, where asked for, numbers that depend on them."""
    country = rng.choice(["DE", "NO", "JP", "FR"], n, p=[0.5, 0.3, 0.15, 0.05])
    money = np.where(country == "NO", "NOK", np.where(country == "JP", "JPY", "EUR"))
    money = np.where(rng.random(n) < 0.03, rng.choice(["EUR", "NOK", "JPY", "USD"], n), money)
    frame = pd.DataFrame({"country": country, "money": money, "channel": rng.choice(["web", "app", None], n)})
    if numbers:
        frame["amount"] = rng.gamma(2.0, 30.0, n) + 200.0 * (money == "JPY")
        frame["fee"] = 0.01 * frame["amount"] + rng.standard_normal(n)
        frame["day"] = rng.integers(0, 7, n)
        frame.loc[::17, "fee"] = np.nan
    return frame


def onehot(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the design matrix in the order of the names of design columns, missing numbers at the mean."""
    columns = []
    for name in names:
        if name in frame:
            values = frame[name].to_numpy(dtype=float)
            columns.append(np.where(np.isnan(values), np.nanmean(values), values))
        else:
            column, level = name.split("_", 1)
            columns.append((frame[column].fillna("(missing)") == level).to_numpy(dtype=float))
    return np.column_stack(columns)


# The embedding


@pytest.mark.parametrize("numbers", [False, True])
def test_eigenvectors_are_those_of_the_pseudo_inverse_with_reciprocal_eigenvalues(rng, numbers):
    m = gm.collect(dependent_rows(rng, 500, numbers=numbers))
    found = density_embedding(m)
    inverse = np.linalg.pinv(m.covariance(), hermitian=True, rcond=1e-12)
    values, vectors = np.linalg.eigh(inverse)
    np.testing.assert_allclose(found.precision_eigenvalues, values[::-1][: found.rank], rtol=1e-8)
    # Up to sign; the eigenvalues of this table are distinct.
    overlap = np.abs(np.sum(found.components * vectors[:, ::-1][:, : found.rank].T, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-7)
    np.testing.assert_allclose(
        inverse @ found.components.T, found.components.T * found.precision_eigenvalues, atol=1e-6
    )


def test_first_components_are_the_last_principal_components(rng):
    m = gm.collect(dependent_rows(rng, 500))
    last = gm.PCA(scale=False).fit(m)
    found = density_embedding(m, n_components=3)
    np.testing.assert_allclose(found.components, last.components_[::-1][:3], atol=1e-8)
    np.testing.assert_allclose(found.precision_eigenvalues, 1 / last.explained_variance_[::-1][:3], rtol=1e-9)


@pytest.mark.parametrize("numbers", [False, True])
def test_squared_length_is_the_mahalanobis_distance_and_its_score(rng, numbers):
    frame = dependent_rows(rng, 400, numbers=numbers)
    model = gm.DensityEmbedding(method="mahalanobis").fit(frame)
    x = onehot(frame, model.design_names_) - model.mean_
    distance = np.einsum("ij,jk,ik->i", x, np.linalg.pinv(model.moments_.covariance(), hermitian=True, rcond=1e-12), x)
    np.testing.assert_allclose(np.square(model.transform(frame)).sum(axis=1), distance, rtol=1e-8)
    np.testing.assert_allclose(model.anomaly_score(frame), distance, rtol=1e-8)
    few = gm.DensityEmbedding(2, method="mahalanobis").fit(frame)
    np.testing.assert_allclose(few.anomaly_score(frame), np.square(few.transform(frame)).sum(axis=1), rtol=1e-9)


def test_null_space_is_one_direction_a_categorical_column(rng):
    frame = dependent_rows(rng, 300, numbers=False)
    found = density_embedding(gm.collect(frame))
    assert found.rank == found.weights.shape[0] - frame.shape[1]


# The likelihood over trees, written anew from its definition


def e(z):
    """Return z^2 / 2 within three standard deviations, its logarithmic continuation beyond."""
    return z * z / 2 if abs(z) <= 3 else 4.5 + 9 * np.log(abs(z) / 3)


class Skewed:
    """A number of mean 0 and variance 1 that is a shifted lognormal one: 1 + a z = exp(t y - t^2 / 2)."""

    def __init__(self, z: np.ndarray, w: np.ndarray) -> None:
        g, k, sixth = (np.average(z**power, weights=w) for power in (3, 4, 6))
        error = np.sqrt(max(sixth - g * g - 6 * k + 9, 0) / w.sum())
        self.a = self.t = 0.0
        if k >= 2 + 1.25 * g * g and abs(g) > max(2 * error, 3 * np.sqrt(6 / w.sum())):
            roots = np.roots([1, 0, 3, -(g - np.sign(g) * error)])
            self.a = float(roots[np.argmin(abs(roots.imag))].real)
            self.t = np.sign(self.a) * np.sqrt(np.log1p(self.a**2))

    def normal(self, z: float) -> float:
        if not self.a or z != z:
            return z
        size = abs(self.t)
        least = np.exp(-3 * size - size**2 / 2)
        inside = 1 + self.a * z
        away = np.log(inside) / size + size / 2 if inside >= least else -3 + (inside - least) / abs(self.a)
        return np.sign(self.a) * away

    def correlated(self, other: Skewed, r: float) -> float:
        """Return the correlation of the normal scores of two numbers of correlation r."""
        if self.a and other.a:
            inside = 1 + self.a * other.a * r
            return (
                float(np.clip(np.log(inside) / (self.t * other.t), -1, 1)) if inside > 0 else -np.sign(self.a * other.a)
            )
        one = self if self.a else other
        return float(np.clip(r * one.a / one.t, -1, 1)) if one.a else r

    def left(self, v: float) -> float:
        return 1 - np.log1p(self.a**2 * (1 - v)) / self.t**2 if self.a else v


class Brute:
    """-log p_tree and the mean over all spanning trees, row by row, from rows."""

    def __init__(self, frame: pd.DataFrame, weights: np.ndarray | None = None) -> None:
        self.names = [c for c in frame if frame[c].dtype == object or frame[c].dtype.name in ("str", "string")]
        self.numbers = [c for c in frame if c not in self.names]
        self.frame = frame.astype(dict.fromkeys(self.names, object)).where(frame.notna(), None)
        w = np.ones(len(frame)) if weights is None else weights
        self.n = w.sum()
        self.one = {c: self.frame.assign(w=w).groupby(c, dropna=False)["w"].sum().to_dict() for c in self.names}
        self.one = {c: {None if v != v else v: k for v, k in d.items()} for c, d in self.one.items()}
        self.two = {}
        for a, b in itertools.combinations(self.names, 2):
            counts = {}
            for u, v, k in zip(self.frame[a], self.frame[b], w, strict=True):
                counts[u, v] = counts.get((u, v), 0.0) + k
            self.two[a, b] = counts
        self.scale, self.mean, self.observed, self.z, self.law = {}, {}, {}, {}, {}
        for c in self.numbers:
            x = frame[c].to_numpy(float)
            seen = ~np.isnan(x)
            self.observed[c] = w[seen].sum()
            self.mean[c] = (w[seen] @ x[seen]) / self.observed[c]
            self.scale[c] = np.sqrt(w[seen] @ np.square(x[seen] - self.mean[c]) / self.observed[c]) or 1.0
            self.z[c] = np.where(seen, (x - self.mean[c]) / self.scale[c], np.nan)
            self.law[c] = Skewed(self.z[c][seen], w[seen])
        self.w = w
        self.nodes = [*self.names, *self.numbers]
        self.information = {pair: self._information(*pair) for pair in itertools.combinations(self.nodes, 2)}
        self.trees = self._trees()

    def _information(self, a: str, b: str) -> float:
        if b in self.names:
            total = sum(
                k / self.n * np.log(self.n * k / (self.one[a][u] * self.one[b][v]))
                for (u, v), k in self.two[a, b].items()
                if k
            )
            return max(0.0, total - (len(self.one[a]) - 1) * (len(self.one[b]) - 1) / (2 * self.n))
        if not np.nanmax(np.abs(self.z[b])) > 0 or (a in self.numbers and not np.nanmax(np.abs(self.z[a])) > 0):
            return 0.0
        return max(0.0, -0.5 * np.log(self.left(a, b)))

    def left(self, a: str, b: str) -> float:
        """Return the variance that a leaves of number b, one row added."""
        z, w = self.z[b], self.w
        if a in self.numbers:
            both = w[~np.isnan(self.z[a] * z)].sum()
            r = self.correlation(a, b)
            left = (both * (1 - r**2) + 1) / (max(both - 2, 0) + 1)
            if not self.law[a].a and not self.law[b].a:
                return left
            # What chance explains is taken off first.
            explained = self.law[a].correlated(self.law[b], np.sign(r) * np.sqrt(max(1 - left, 0)))
            return max(1 - explained**2, 1 / (both + 1))
        seen = ~np.isnan(z)
        groups = {}
        for u, value, k in zip(self.frame[a][seen], z[seen], w[seen], strict=True):
            s, c = groups.get(u, (0.0, 0.0))
            groups[u] = (s + k * value, c + k)
        between = sum(s * s / c for s, c in groups.values() if c) / self.observed[b]
        left = (self.observed[b] * (1 - between) + 1) / (max(self.observed[b] - len(groups), 0) + 1)
        return self.law[b].left(left)

    def correlation(self, a: str, b: str) -> float:
        both = ~np.isnan(self.z[a] * self.z[b])
        return float(np.clip(np.average((self.z[a] * self.z[b])[both], weights=self.w[both]), -1, 1))

    def level_mean(self, a: str, u: object, b: str) -> float:
        here = np.array([v == u or (v is None and u is None) for v in self.frame[a]]) & ~np.isnan(self.z[b])
        mean = (self.w[here] @ self.z[b][here]) / (self.w[here].sum() + 1)
        return self.law[b].normal(mean) - self.law[b].t * min(self.left(a, b), 1) / 2

    def _trees(self) -> list[tuple[float, tuple]]:
        edges = [pair for pair, i in self.information.items() if i > 0]
        best, found = 0, []
        for size in range(len(self.nodes) - 1, -1, -1):
            for some in itertools.combinations(edges, size):
                part = {v: v for v in self.nodes}

                def top(v, part=part):
                    while part[v] != v:
                        v = part[v]
                    return v

                for a, b in some:
                    if top(a) == top(b):
                        break
                    part[top(a)] = top(b)
                else:
                    found.append((float(np.prod([self.information[pair] ** 2 for pair in some])), some))
                    best = size
            if found and size == best:
                return found
        return [(1.0, ())]

    def score(self, row: dict) -> float:
        """Return the mean over all spanning trees of -log p_tree(row)."""
        own = -sum(np.log(self.one[c][row[c]] / self.n) for c in self.names)
        z = {c: self.law[c].normal((row[c] - self.mean[c]) / self.scale[c]) for c in self.numbers}
        own += sum(e(v) for v in z.values() if v == v)

        def lift(a, b):
            if b in self.names:
                together = self.two[a, b].get((row[a], row[b]), 0.0)
                return np.log((together + 1) / (self.one[a][row[a]] * self.one[b][row[b]] / self.n + 1))
            v, y = self.left(a, b), z[b]
            if a in self.names:
                return 0.0 if y != y else e(y) - e((y - self.level_mean(a, row[a], b)) / v**0.5) - np.log(v) / 2
            x = z[a]
            if x != x or y != y:
                return 0.0
            r = self.law[a].correlated(self.law[b], self.correlation(a, b))
            there, back = e(y) - e((y - r * x) / v**0.5), e(x) - e((x - r * y) / v**0.5)
            return (there + back - np.log(v)) / 2

        lifts = {pair: lift(*pair) for pair in self.information}
        total = sum(weight for weight, _ in self.trees)
        return own - sum(weight * sum(lifts[pair] for pair in tree) for weight, tree in self.trees) / total


@pytest.mark.parametrize(("numbers", "skewed"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_score_is_the_mean_over_all_spanning_trees(rng, numbers, skewed, weighted):
    frame = dependent_rows(rng, 900 if skewed else 150, numbers=numbers)
    if not numbers:
        frame["code"] = rng.choice(list("abcdefghij"), len(frame))
        frame["copy"] = frame["country"].str.lower()
        frame["same"] = "x"
    if skewed:
        standard = (frame["amount"] - frame["amount"].mean()) / frame["amount"].std()
        frame["amount"] = np.exp(0.7 * standard)
        frame["fee"] = 3 * frame["amount"] - np.exp(0.6 * rng.normal(size=len(frame)))
    weights = rng.integers(1, 4, len(frame)) * 0.5 if weighted else None
    model = gm.DensityEmbedding().fit(frame, sample_weight=weights)
    brute = Brute(frame, weights)
    assert len(brute.trees) > 10
    assert any(law.a for law in brute.law.values()) == skewed
    rows = brute.frame.head(40).to_dict("records")
    # Numbers far out, too: where the logarithm begins, and well beyond.
    odd = frame.head(40).copy()
    if numbers:
        odd["amount"] *= rng.choice([1, 10, 1000], 40)
        for row, amount in zip(rows, odd["amount"], strict=True):
            row["amount"] = amount
        for row, fee in zip(rows, odd["fee"], strict=True):
            row["fee"] = fee
    expected = [brute.score(row) for row in rows]
    np.testing.assert_allclose(model.anomaly_score(odd), expected, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_dependence_weighs_pairs_against_the_rarity_of_values(rng, weight, tmp_path):
    """S + weight (T - S), S the sum over columns of -log p of a value alone; explanations, the line and files follow."""
    frame = dependent_rows(rng, 900)
    alone = sum(gm.DensityEmbedding().fit(frame[[name]]).anomaly_score(frame[[name]]) for name in frame)
    trees = gm.DensityEmbedding().fit(frame).anomaly_score(frame)
    model = gm.DensityEmbedding(dependence=weight).fit(frame)
    scores = model.anomaly_score(frame)
    np.testing.assert_allclose(scores, alone + weight * (trees - alone), rtol=1e-9, atol=1e-9)
    reasons = model.explain(frame.head(30), top=2)
    np.testing.assert_allclose(reasons.groupby("row")["contribution"].sum(), scores[:30], rtol=1e-9)
    fresh = dependent_rows(np.random.default_rng(5), 5000)
    known = fresh[~model.black_swans(fresh).any(axis=1)]
    assert 0.001 < (model.predict(known) == -1).mean() < 0.025
    assert scores.max() < model.surprise_.penalty
    gm.save(model, tmp_path / "detector.model")
    again = gm.load(tmp_path / "detector.model")
    assert again.dependence == weight
    np.testing.assert_array_equal(again.anomaly_score(frame), scores)
    assert again.offset_ == model.offset_


def test_twice_the_dependence_finds_common_values_in_the_wrong_place(rng):
    """Swapped fields: each value is common, and the pair is not."""
    n = 4000
    country = rng.choice(list("abcdef"), n)
    frame = pd.DataFrame({"country": country, "money": np.char.add("m", country.astype(str)), "rare": rng.zipf(1.5, n)})
    noisy = rng.random(n) < 0.2
    frame.loc[noisy, "money"] = rng.permutation(frame.loc[noisy, "money"])
    frame["rare"] = np.minimum(frame["rare"], 60).astype(str)
    wrong = np.arange(n) < 60
    frame.loc[wrong, "money"] = rng.permutation(frame.loc[wrong, "money"])
    auc = {}
    for weight in (1.0, 2.0):
        scores = gm.DensityEmbedding(dependence=weight).fit(frame).anomaly_score(frame)
        odd = wrong & (frame["money"].str[1:] != frame["country"]).to_numpy()
        auc[weight] = np.mean(scores[odd][:, None] > scores[~wrong & ~noisy])
    assert auc[2.0] > auc[1.0] + 0.005


def test_a_single_column_scores_its_rarity(rng):
    frame = dependent_rows(rng, 200)[["country"]]
    share = frame["country"].map(frame["country"].value_counts(normalize=True)).to_numpy(float)
    np.testing.assert_allclose(gm.DensityEmbedding().fit(frame).anomaly_score(frame), -np.log(share), rtol=1e-12)


def test_columns_that_tell_nothing_have_no_table(rng):
    levels = list(itertools.product("ab", "xyz", "pq"))
    frame = pd.DataFrame(levels * 50, columns=["a", "b", "c"])
    found = gm.DensityEmbedding().fit(frame).surprise_
    assert not found.pairs
    assert not found.sparse_pairs


def test_a_wide_column_is_scored_from_its_distinct_pairs(rng):
    n = 60_000
    shop = rng.integers(0, 2200, n)
    frame = pd.DataFrame({"shop": shop.astype(str), "city": (shop % 200 + (rng.random(n) < 0.05)).astype(str)})
    frame["till"] = (shop // 20 + 10_000 * (rng.random(n) < 0.1)).astype(str)
    frame["kind"] = rng.choice(["a", "b", "c"], n)
    model = gm.DensityEmbedding().fit(frame)
    found = model.surprise_
    distinct = {
        (j, k): len(frame[[a, b]].drop_duplicates())
        for (j, a), (k, b) in itertools.combinations(enumerate(frame.columns), 2)
    }
    assert {(0, 1), (0, 2)} <= set(found.sparse_pairs)
    assert all(len(pair.counts) == distinct[at] for at, pair in found.sparse_pairs.items())
    assert all(table.size <= max(2**16, 3 * distinct[at]) for at, table in found.pairs.items())
    rho = edge_probabilities(model._detector.depends.weights)
    expected = np.zeros(n)
    sizes = {c: frame.groupby(c)[c].transform("size").to_numpy(float) for c in frame}
    for size in sizes.values():
        expected -= np.log(size / n)
    for (j, a), (k, b) in itertools.combinations(enumerate(frame.columns), 2):
        together = frame.groupby([a, b])[a].transform("size").to_numpy(float)
        expected -= rho[j, k] * np.log((together + 1) / (sizes[a] * sizes[b] / n + 1))
    np.testing.assert_allclose(model.anomaly_score(frame), expected, rtol=1e-9)
    # Pairs that never occurred, and levels that did not.
    odd = frame.head(500).assign(shop=frame["shop"].tail(500).to_numpy())
    odd.iloc[::9, 0] = "new"
    scores = model.anomaly_score(odd)
    rows = next(iter(found.design.rows(gm.tables.open_table(odd))))
    np.testing.assert_allclose(found.terms(rows).sum(axis=1), scores, rtol=1e-9)
    assert (scores[::9] > scores[1::9].max()).all()


# What holds for every score


@pytest.mark.parametrize("score", METHODS)
@pytest.mark.parametrize("numbers", [False, True])
def test_score_of_a_row_does_not_depend_on_the_rows_around_it(rng, numbers, score):
    frame = dependent_rows(rng, 300, numbers=numbers)
    model = gm.DensityEmbedding(method=score).fit(frame)
    together = model.anomaly_score(frame)
    alone = np.concatenate([model.anomaly_score(frame.iloc[[i]]) for i in range(0, 300, 37)])
    np.testing.assert_allclose(alone, together[::37], rtol=1e-12)
    shuffled = rng.permutation(300)
    np.testing.assert_allclose(model.anomaly_score(frame.iloc[shuffled]), together[shuffled], rtol=1e-12)


@pytest.mark.parametrize("score", METHODS)
@pytest.mark.parametrize("numbers", [False, True])
def test_black_swans_outrank_everything_seen_and_two_outrank_one(rng, numbers, score):
    frame = dependent_rows(rng, 400, numbers=numbers)
    model = gm.DensityEmbedding(method=score).fit(frame)
    worst = frame.copy()
    if numbers:
        worst["amount"] = 1e300 * rng.choice([-1.0, 1.0], len(worst))
    worst["money"] = rng.permutation(worst["money"])
    one, two = frame.copy(), frame.copy()
    one["money"] = "BTC"
    two["money"], two["channel"] = "BTC", "fax"
    assert model.anomaly_score(worst).max() < model.anomaly_score(one).min()
    assert model.anomaly_score(one).max() < model.anomaly_score(two).min()
    assert (model.predict(one) == -1).all()
    assert model.black_swans(two).sum(axis=1).tolist() == [2] * len(two)
    assert np.isfinite(model.transform(two)).all()


def test_a_listed_level_without_rows_is_a_black_swan(rng):
    frame = dependent_rows(rng, 200, numbers=False).astype("category")
    frame["money"] = frame["money"].cat.add_categories(["BTC"])
    model = gm.DensityEmbedding().fit(frame)
    odd = frame.iloc[:1].copy()
    odd["money"] = pd.Categorical(["BTC"], categories=frame["money"].cat.categories)
    assert model.black_swans(odd).tolist() == [[False, True, False]]
    assert model.anomaly_score(odd)[0] > model.anomaly_score(frame).max()


@pytest.mark.parametrize("score", METHODS)
@pytest.mark.parametrize("numbers", [False, True])
def test_explanations_add_up_and_no_reason_speaks_for_a_row(rng, numbers, score):
    frame = dependent_rows(rng, 250, numbers=numbers)
    model = gm.DensityEmbedding(method=score).fit(frame)
    odd = frame.copy()
    odd.loc[::5, "money"] = "BTC"
    odd["country"] = rng.permutation(odd["country"])
    scores = model.anomaly_score(odd)
    for top in (1, 3, 100):
        table = model.explain(odd, top=top)
        total = table.groupby("row")["contribution"].sum().to_numpy()
        np.testing.assert_allclose(total, scores, rtol=1e-12, atol=1e-9)
        reasons = table[~table["text"].isin(["(what every row has)", "(other)"])]
        assert (reasons["contribution"] > 0).all()
        assert (reasons.groupby("row").size() <= top).all()
        assert (table.groupby("row")["text"].last() == "(other)").all()
        assert (table.groupby("row")["text"].nth(-2) == "(what every row has)").all()


@pytest.mark.parametrize("score", METHODS)
def test_what_every_row_has_is_the_mean_score_of_the_training_rows(rng, score):
    frame = dependent_rows(rng, 500, numbers=score == "mahalanobis")
    model = gm.DensityEmbedding(method=score).fit(frame)
    table = model.explain(frame[:1])
    every = table[table["text"] == "(what every row has)"]["contribution"].iloc[0]
    np.testing.assert_allclose(every, model.anomaly_score(frame).mean(), rtol=1e-9)


def test_a_pair_seen_as_often_as_expected_is_no_reason(rng):
    frame = pd.DataFrame({c: rng.choice(list("abcd"), 5000) for c in "xyz"})
    frame["copy"] = frame["x"]
    odd = frame.head(200).assign(copy=rng.permutation(frame["copy"].head(200)))
    model = gm.DensityEmbedding().fit(frame)
    table = model.explain(odd, top=10)
    reasons = table[table["seen"].notna()]
    assert len(reasons) > 100
    assert (reasons["expected"] - reasons["seen"] >= 2 * np.sqrt(reasons["expected"])).all()
    broken = np.flatnonzero((odd["x"] != odd["copy"]).to_numpy())
    assert (reasons.groupby("row")["columns"].first().loc[broken] == "x & copy").all()


@pytest.mark.parametrize("score", METHODS)
@pytest.mark.parametrize("numbers", [False, True])
def test_windows_by_subtraction_give_the_detector_of_what_is_left(rng, numbers, score):
    old, new = dependent_rows(rng, 300, numbers=numbers), dependent_rows(rng, 700, numbers=numbers)
    old.loc[:20, "money"] = "DEM"
    a, b = gm.collect(old), gm.collect(new)
    window = gm.DensityEmbedding(method=score).fit(a + b - a)
    plain = gm.DensityEmbedding(method=score).fit(b)
    np.testing.assert_allclose(window.anomaly_score(new), plain.anomaly_score(new), rtol=1e-8)
    # Levels stand in another order, so that other rows are drawn: the threshold agrees as two samples of it do.
    drawn = gm.DensityEmbedding(method=score).fit(gm.collect(new[::-1])).offset_
    np.testing.assert_allclose([window.offset_, drawn], plain.offset_, rtol=0.1)
    assert window.black_swans(old)[:21, 1].all()
    np.testing.assert_allclose(np.sort(window.precision_eigenvalues_), np.sort(plain.precision_eigenvalues_), rtol=1e-7)


@pytest.mark.parametrize("score", METHODS)
def test_rows_moments_folds_and_parts_give_the_same_detector(rng, score):
    frame = dependent_rows(rng, 600)
    whole = gm.DensityEmbedding(method=score).fit(frame)
    parts = gm.DensityEmbedding(method=score).partial_fit(frame[:200])
    parts.transform(frame)
    parts.partial_fit(frame[200:])
    folded = gm.collect(frame, folds=3)
    merged = gm.merge(list(folded.folds))
    others = [gm.collect(frame), folded, merged]
    for other in (parts, *(gm.DensityEmbedding(method=score).fit(m) for m in others)):
        np.testing.assert_allclose(other.anomaly_score(frame), whole.anomaly_score(frame), rtol=1e-8)
        np.testing.assert_allclose(np.abs(other.transform(frame)), np.abs(whole.transform(frame)), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(parts.offset_, whole.offset_, rtol=1e-9)


@pytest.mark.parametrize("score", METHODS)
def test_containers_give_the_same_scores(rng, score):
    import polars as pl
    import pyarrow as pa

    frame = dependent_rows(rng, 200)
    plain = gm.DensityEmbedding(method=score).fit(frame).anomaly_score(frame)
    for convert in (pl.from_pandas, pa.Table.from_pandas, lambda f: f.astype({"country": "category"})):
        other = convert(frame)
        np.testing.assert_allclose(gm.DensityEmbedding(method=score).fit(other).anomaly_score(other), plain, rtol=1e-12)


@pytest.mark.parametrize("score", ["trees", "mahalanobis"])
def test_numbers_in_arrays_and_frames_give_the_same_scores(rng, score):
    x = rng.integers(0, 5, (300, 3)).astype(float) + rng.normal(size=(300, 1))
    x[::7, 1] = np.nan
    frame = pd.DataFrame(x, columns=list("abc"))
    ours = gm.DensityEmbedding(method=score).fit(x).anomaly_score(x)
    np.testing.assert_allclose(gm.DensityEmbedding(method=score).fit(frame).anomaly_score(frame), ours, rtol=1e-12)


@pytest.mark.parametrize("levels", [3, 200])
@pytest.mark.parametrize("score", METHODS)
def test_scores_stay_finite_whatever_the_weight_of_a_row(rng, levels, score):
    frame = dependent_rows(rng, 400)
    frame["many"] = rng.integers(0, levels, 400).astype(str)
    frame["same"] = frame["many"]
    whole = gm.collect(frame)
    for weight in (0.01, 1e12, 1e18):
        model = gm.DensityEmbedding(method=score).fit(whole * weight)
        scores = model.anomaly_score(frame)
        assert np.isfinite(scores).all()
        assert np.isfinite(model.offset_)
        assert scores.max() < model.surprise_.penalty


def test_an_identifier_does_not_drown_the_other_columns(rng):
    frame = dependent_rows(rng, 3000, numbers=False)
    odd = np.zeros(len(frame), dtype=bool)
    odd[::100] = True
    frame.loc[odd, ["country", "money"]] = ["JP", "NOK"]
    frame["id"] = [f"id {k}" for k in rng.integers(0, 1500, len(frame))]
    scores = gm.DensityEmbedding().fit(frame).anomaly_score(frame)
    assert np.median(scores[odd]) > np.quantile(scores[~odd], 0.9)
