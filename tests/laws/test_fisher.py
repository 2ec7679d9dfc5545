"""Fisher's discriminant is the dense pseudo-inverse of its definition, whatever depends on what in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.fixes import parse_version

import gramian as gm

from .tables import examples

CLEAR = (1e-13, 1e-6)
"""No eigenvalue may lie between: below it is rounding, above it is known to 1e-16 / 1e-6."""

RTOL = 1e-8
"""Ten digits are left of a solution of such a condition, less two for sums and products of its size."""


@dataclass(frozen=True)
class Rows:
    """A table with structural zeros, its classes and its weights."""

    features: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None

    def one_hot(self, levels: dict[str, list[Any]]) -> np.ndarray:
        """Return the design columns, missing numbers at their mean."""
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        parts = []
        for name, column in self.features.items():
            if name in levels:
                parts += [
                    (column.isna() if label is None else column == label).to_numpy(float) for label in levels[name]
                ]
                continue
            x = column.to_numpy(float).copy()
            gone = np.isnan(x)
            x[gone] = np.average(x[~gone], weights=w[~gone]) if not gone.all() else 0.0
            parts.append(x)
        return np.column_stack(parts)


@st.composite
def structured(draw: Any) -> Rows:
    """Tables in which levels belong to one class, columns to another, and numbers to a level or a class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    has = {
        name: draw(st.booleans())
        for name in ("rare", "own", "part", "nested", "crossed", "either", "single", "gone", "still", "step", "weights")
    }
    n, c = draw(st.integers(8, 90)), draw(st.integers(2, 4))
    y = rng.integers(0, c, n)
    if has["rare"]:
        y = np.minimum(y, c - 2)
        y[0] = c - 1
    y[:2] = [0, c - 1]
    a = rng.choice(list("pqrst"), n)
    if has["own"]:
        a = np.where(y == 0, "x", a)
    if has["part"]:
        a = np.where((y == c - 1) & (rng.random(n) < 0.4), "z", a)
    b = np.where(np.isin(a, ["p", "x"]), "in", "out") if has["nested"] else rng.choice(list("uvw"), n)
    columns: dict[str, Any] = {"a": a.astype(object), "b": b.astype(object)}
    if has["crossed"]:
        columns["ab"] = np.char.add(a, b).astype(object)
    if has["either"]:
        columns["e"] = np.where(y == 1, "k", rng.choice(list("lm"), n)).astype(object)
    if has["single"]:
        columns["s"] = np.where(rng.random(n) < 0.2, np.arange(n).astype(str), "main").astype(object)
    columns["x"] = rng.standard_normal(n) + rng.random() * y
    columns["i"] = rng.integers(0, 4, n)
    if has["gone"]:
        columns["b"][rng.random(n) < 0.2] = None
        columns["x"][rng.random(n) < 0.2] = np.nan
    if has["still"]:
        columns["f"] = np.where(y == 0, 1.5, rng.standard_normal(n))
    if has["step"]:
        columns["g"] = np.where(a == "p", 2.0, -1.0)
    weights = rng.integers(1, 4, n) * rng.uniform(0.5, 1.0, n) if has["weights"] else None
    return Rows(pd.DataFrame(columns), np.array([f"class {k}" for k in y], dtype=object), weights)


@dataclass(frozen=True)
class Dense:
    """The discriminant from rows, by `numpy.linalg.pinv`."""

    coef: np.ndarray
    intercept: np.ndarray
    centre: np.ndarray
    covariance: np.ndarray
    counts: np.ndarray
    shrinkage: float
    infinite: bool


def discriminant(x: np.ndarray, rows: Rows, shrinkage: Any, priors: np.ndarray | None) -> Dense:
    w = np.ones(len(x)) if rows.weights is None else rows.weights
    classes, codes = np.unique(rows.y, return_inverse=True)
    counts = np.bincount(codes, w)
    means = np.array([np.average(x[codes == k], axis=0, weights=w[codes == k]) for k in range(len(classes))])
    centred = x - np.average(x, axis=0, weights=w)
    total = (centred * w[:, None]).T @ centred / w.sum()
    inside = x - means[codes]
    within = (inside * w[:, None]).T @ inside / w.sum()
    size = np.square(x).max(axis=0)
    still = (np.diagonal(within) <= 1e-12 * np.diagonal(total)) | (np.diagonal(total) <= 1e-24 * size)
    within[still] = 0.0
    within[:, still] = 0.0
    amount = 0.0 if shrinkage in (None, "auto") else float(shrinkage)
    units = np.sqrt(np.where(np.diagonal(within) > 0, np.diagonal(within), np.inf))
    correlation = within / np.outer(units, units)
    if shrinkage == "auto":
        p, n = int(np.isfinite(units).sum()), w.sum() - len(classes)
        alpha = np.square(correlation).sum() / p**2
        amount = min(1.0, (alpha + 1) / ((n + 1) * (alpha - 1 / p))) if alpha > 1 / p else 1.0
    if amount > 0:
        correlation = (1 - amount) * correlation + amount * np.diag(np.isfinite(units).astype(float))
    pi = counts / counts.sum() if priors is None else priors
    centre = pi @ means
    gaps = means - centre
    gaps[np.abs(gaps) <= 1e-13 * np.sqrt(size)] = 0.0
    assume(clearly_ranked(correlation))
    inverse = np.linalg.pinv(correlation, rcond=1e-9, hermitian=True) / np.outer(units, units)
    worth, length = np.einsum("ij,jk,ik->", gaps, inverse, gaps), np.square(gaps / units).sum()
    infinite = bool(worth <= 1e-13 * length)
    assume(infinite or worth > 1e-9 * length)
    if infinite:
        units = np.sqrt(np.where(np.diagonal(total) > 1e-24 * size, np.diagonal(total), np.inf))
        assume(clearly_ranked(total / np.outer(units, units)))
        inverse = np.linalg.pinv(total / np.outer(units, units), rcond=1e-9, hermitian=True) / np.outer(units, units)
        within = total
    coef = gaps @ inverse
    intercept = np.log(pi) - 0.5 * np.einsum("ij,ij->i", gaps, coef) - coef @ centre
    if amount > 0 and not infinite:
        within = correlation * np.outer(*2 * [np.where(np.isfinite(units), units, 0.0)])
    return Dense(coef, intercept, centre, within, counts, amount, infinite)


def clearly_ranked(matrix: np.ndarray) -> bool:
    values = np.linalg.eigvalsh(matrix)
    share = values / max(values[-1], np.finfo(float).tiny)
    return not ((share > CLEAR[0] * len(matrix)) & (share < CLEAR[1])).any()


def levels_of(m: gm.Moments, rows: Rows) -> dict[str, list[Any]]:
    return {name: m.levels(name) for name in rows.features if m.kind(name) == "categorical"}


def assert_is(model: gm.FisherDiscriminant, rows: Rows, shrinkage: Any, priors: np.ndarray | None) -> None:
    x = rows.one_hot(levels_of(model.moments_, rows))
    expected = discriminant(x, rows, shrinkage, priors)
    scores = x @ expected.coef.T + expected.intercept
    scores = scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
    atol = RTOL * np.abs(scores).max()
    found = model.decision_function(rows.features)
    np.testing.assert_allclose(found, scores, atol=atol)
    np.testing.assert_allclose(np.squeeze(x @ model.coef_.T + model.intercept_), np.squeeze(scores), atol=atol)
    if scores.ndim == 1:
        clear, best = np.abs(scores) > 2 * atol, (scores > 0).astype(int)
    else:
        ordered = np.sort(scores, axis=1)
        clear, best = ordered[:, -1] - ordered[:, -2] > 2 * atol, scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(rows.features)[clear], model.classes_[best][clear])
    assert model.shrinkage_ == pytest.approx(expected.shrinkage, rel=1e-9)
    # The axes: of unit covariance, spanning what the scores are made of, in order of what they separate.
    axes = model.scalings_
    k = axes.shape[1]
    np.testing.assert_allclose(axes.T @ expected.covariance @ axes, np.eye(k), atol=1e-7)
    gaps = model.means_ - expected.centre
    size = np.abs(expected.coef).max()
    np.testing.assert_allclose(gaps @ axes @ axes.T, expected.coef, atol=RTOL * size)
    assert (np.diff(model.explained_variance_ratio_) <= 1e-12).all()
    z = (x - expected.centre) @ axes
    np.testing.assert_allclose(model.transform(rows.features), z, atol=RTOL * max(np.abs(z).max(), 1.0))
    w = np.ones(len(x)) if rows.weights is None else rows.weights
    codes = np.searchsorted(model.classes_, rows.y)
    assert expected.infinite == np.isinf(model.criterion_).all()
    if not expected.infinite:
        centres = np.array([np.average(z[codes == g], axis=0, weights=w[codes == g]) for g in range(len(gaps))])
        inside = w @ np.square(z - centres[codes])
        n = expected.counts
        pairs = [(a, b) for a in range(len(n)) for b in range(a)]
        apart = sum(n[a] * n[b] * np.square(centres[a] - centres[b]) for a, b in pairs)
        j = apart / sum(n[a] * n[b] for a, b in pairs) / inside
        np.testing.assert_allclose(model.criterion_, j, rtol=1e-6)


@given(
    rows=structured(),
    shrinkage=st.sampled_from([None, None, None, 0.0, 0.05, 0.6, 1.0, "auto"]),
    own_priors=st.booleans(),
    seed=st.integers(0, 1000),
    road=st.sampled_from(["rows", "moments", "parts"]),
)
@examples(40)
def test_fisher_is_the_dense_pseudo_inverse(rows, shrinkage, own_priors, seed, road):
    classes = np.unique(rows.y)
    priors = np.random.default_rng(seed).dirichlet(np.full(len(classes), 5.0)) if own_priors else None
    model = gm.FisherDiscriminant(shrinkage=shrinkage, priors=priors)
    if road == "rows":
        model.fit(rows.features, rows.y, sample_weight=rows.weights)
    elif road == "moments":
        table = rows.features.assign(kind=rows.y)
        weight = {}
        if rows.weights is not None:
            table, weight = table.assign(weight=rows.weights), {"sample_weight": "weight"}
        model.fit(gm.collect(table, targets="kind", **weight), "kind")
    else:
        half = len(rows.y) // 2
        for part in (slice(0, half), slice(half, None)):
            weight = None if rows.weights is None else rows.weights[part]
            model.partial_fit(rows.features.iloc[part], rows.y[part], sample_weight=weight)
    assert_is(model, rows, shrinkage, priors)


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="1.8 differs on singular classes")
@given(rows=structured())
@examples(20)
def test_fisher_scores_as_the_peer_on_one_hot_columns(rows):
    rows = Rows(rows.features, rows.y, None)
    model = gm.FisherDiscriminant().fit(rows.features, rows.y)
    x = rows.one_hot(levels_of(model.moments_, rows))
    # The peer has no answer of its own where nothing varies within the classes that separates them.
    assume(not discriminant(x, rows, None, None).infinite)
    peer = LinearDiscriminantAnalysis().fit(x, rows.y)
    found, scores = model.decision_function(rows.features), peer.decision_function(x)
    if found.ndim == 2:
        # Scores of classes are known up to a constant a row.
        found, scores = found - found.mean(axis=1, keepdims=True), scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, scores, atol=1e-6 * np.abs(scores).max())
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
