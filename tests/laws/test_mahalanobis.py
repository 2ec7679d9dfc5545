"""The identities that Mahalanobis features rest on."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gramian as gm
from gramian.linear.fisher import fisher
from gramian.linear.mahalanobis import mahalanobis


@pytest.fixture
def frame(rng):
    n = 700
    a, b = rng.integers(0, 9, n), rng.integers(0, 5, n)
    size = rng.standard_normal(n)
    signal = np.sin(a) + 0.4 * b * (a > 4) + 0.5 * size
    return pd.DataFrame(
        {
            "a": np.char.add("a", a.astype(str)),
            "b": np.char.add("b", b.astype(str)),
            "size": 100 * size + 1e5,
            "y": signal + rng.standard_normal(n),
            "kind": np.array(["low", "mid", "high", "top"])[
                np.digitize(signal + rng.standard_normal(n), [-0.5, 0.5, 1.5])
            ],
        }
    )


COLUMNS = ["a", "b", "size"]


def rows_of(frame):
    x = pd.get_dummies(frame[COLUMNS], dtype=float).to_numpy()
    return x - x.mean(axis=0)


def r2_of(z, h):
    """Return the summed squared canonical correlations of two sets of columns, R^2 for a single h."""
    z, h = z - z.mean(axis=0), h - h.mean(axis=0)
    (qz, sz, _), (qh, sh, _) = (
        np.linalg.svd(part / np.maximum(part.std(axis=0), 1e-12), full_matrices=False) for part in (z, h)
    )
    return float(np.square(qz[:, sz > 1e-8 * sz[0]].T @ qh[:, sh > 1e-8 * sh[0]]).sum())


def indicators(labels):
    return (np.asarray(labels)[:, None] == np.unique(labels)).astype(float)


def test_statistic_is_n_times_r2_of_least_squares(frame):
    model = gm.MahalanobisFeatures(ridge=0.0).fit(gm.collect(frame.drop(columns="kind")), "y")
    expected = r2_of(rows_of(frame), frame[["y"]].to_numpy())
    assert model.statistic_ == pytest.approx(len(frame) * expected, rel=1e-10)
    assert model.r2_ == pytest.approx(expected, rel=1e-10)
    test = gm.independence_test(gm.collect(frame.drop(columns="kind")), None, "y")
    assert test.df == 8 + 4 + 1
    assert model.p_value_ == test.p_value
    assert model.p_value_moments_ == test.null == "estimated"


@pytest.mark.parametrize("target", ["y", "kind"])
@pytest.mark.parametrize("structure", ["canonical", "columns"])
def test_features_attain_the_maximum(frame, target, structure):
    features = frame[COLUMNS]
    model = gm.MahalanobisFeatures(structure=structure, ridge=0.0).fit(features, frame[target])
    h = frame[["y"]].to_numpy() if target == "y" else indicators(frame["kind"])
    z = model.transform(features)
    assert len(frame) * r2_of(z, h) == pytest.approx(model.statistic_, rel=1e-9)


def test_the_distance_depends_on_the_span_alone(frame, rng):
    z = (
        gm.MahalanobisFeatures(structure="krylov", n_components=3)
        .fit(frame[COLUMNS], frame["y"])
        .transform(frame[COLUMNS])
    )
    y = frame[["y"]].to_numpy()
    for _ in range(5):
        assert r2_of(z @ rng.standard_normal((3, 3)), y) == pytest.approx(r2_of(z, y), rel=1e-9)


@pytest.mark.parametrize("structure", ["canonical", "krylov"])
@pytest.mark.parametrize("ridge", [0.0, 5.0])
@pytest.mark.parametrize("target", ["y", "kind"])
def test_components_are_orthonormal_in_the_covariance(frame, target, ridge, structure):
    m = gm.collect(frame)
    found = mahalanobis(m, COLUMNS, [target], structure=structure, ridge=ridge).weights
    identity = np.eye(found.shape[1])
    np.testing.assert_allclose(found.T @ m.covariance(COLUMNS, ddof=0) @ found, identity, atol=1e-9)
    # In the scatter, a sum over rows, that is n times the identity.
    scatter = (len(frame) - 1) * m.covariance(COLUMNS)
    np.testing.assert_allclose(found.T @ scatter @ found, len(frame) * identity, atol=1e-9 * len(frame))


@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_components_come_strongest_first(frame, ridge):
    found = mahalanobis(gm.collect(frame), COLUMNS, ["kind"], ridge=ridge)
    assert len(found.component_r2) == 3
    assert (np.diff(found.component_r2) <= 1e-12).all()


def test_features_have_unit_variance_where_rows_are_weighted(frame, rng):
    weight = rng.gamma(2.0, size=len(frame))
    z = gm.MahalanobisFeatures().fit(frame[COLUMNS], frame["kind"], sample_weight=weight).transform(frame[COLUMNS])
    np.testing.assert_allclose(np.cov(z.T, ddof=0, aweights=weight), np.eye(3), atol=1e-9)


def test_without_a_ridge_components_carry_the_canonical_correlations(frame):
    found = mahalanobis(gm.collect(frame), COLUMNS, ["kind"], ridge=0.0)
    np.testing.assert_allclose(found.component_r2, np.square(found.test.correlations), rtol=1e-9)


def test_canonical_directions_of_classes_span_fishers_axes(frame):
    m = gm.collect(frame)
    mine = mahalanobis(m, COLUMNS, ["kind"], ridge=0.0).weights
    axes = fisher(m, COLUMNS, "kind").weights
    x = rows_of(frame)
    order = list(pd.get_dummies(frame[COLUMNS]).columns)
    take = [order.index(name) for name in m.design_names_of(COLUMNS)]
    za, zb = x[:, take] @ mine, x[:, take] @ axes
    qa, qb = np.linalg.qr(za)[0], np.linalg.qr(zb)[0]
    np.testing.assert_allclose(np.linalg.svd(qa.T @ qb)[1], 1.0, atol=1e-9)


@pytest.mark.parametrize("target", ["y", "kind"])
def test_krylov_rises_to_the_optimum(frame, target):
    m = gm.collect(frame)
    largest = mahalanobis(m, COLUMNS, [target], ridge=0.0).test
    reached = [
        mahalanobis(m, COLUMNS, [target], structure="krylov", n_components=d).component_r2.sum() for d in range(1, 9)
    ]
    assert (np.diff(reached) >= -1e-12).all()
    top = np.square(largest.correlations).sum()
    assert reached[-1] <= top * (1 + 1e-9)
    assert reached[-1] > (0.99 if target == "y" else 0.9) * top


def test_the_first_krylov_direction_is_the_cross_scatter(frame):
    # The limit of the source's own ascent: every step of it adds a multiple of X^T (y - mean).
    m = gm.collect(frame)
    found = mahalanobis(m, ["a", "b"], ["y"], structure="krylov", n_components=1).weights[:, 0]
    yc = frame["y"] - frame["y"].mean()
    g = np.array([yc[frame[c] == level].sum() for c in ("a", "b") for level in m.levels(c)])
    assert abs(found @ g) == pytest.approx(np.linalg.norm(found) * np.linalg.norm(g), rel=1e-10)


def test_moments_and_rows_give_the_same_features(frame):
    options = {"ridge": 2.0}
    a = gm.MahalanobisFeatures(**options).fit(frame[[*COLUMNS, "y"]], "y")
    b = gm.MahalanobisFeatures(**options).fit(gm.collect(frame[[*COLUMNS, "y"]]), "y")
    c = gm.MahalanobisFeatures(**options).fit(frame[COLUMNS], frame["y"])
    np.testing.assert_allclose(a.transform(frame), b.transform(frame), atol=1e-12)
    np.testing.assert_allclose(a.transform(frame), c.transform(frame), atol=1e-12)
    assert a.statistic_ == pytest.approx(c.statistic_, rel=1e-12)


def test_a_weight_counts_as_rows(frame, rng):
    weight = rng.integers(1, 4, len(frame))
    repeated = frame.loc[frame.index.repeat(weight)]
    a = gm.MahalanobisFeatures(ridge=2.0).fit(frame[COLUMNS], frame["y"], sample_weight=weight)
    b = gm.MahalanobisFeatures(ridge=2.0).fit(repeated[COLUMNS], repeated["y"])
    np.testing.assert_allclose(a.transform(frame), b.transform(frame), atol=1e-9)
    assert a.statistic_ == pytest.approx(b.statistic_, rel=1e-9)


def test_p_values_are_uniform_under_permuted_targets(rng):
    # 500 targets in one pass: the moments know every one of them, so each test is algebra.
    n, repeats = 2000, 500
    levels = {"a": 12, "b": 9, "c": 8, "d": 5}
    table = {name: np.char.add(name, rng.integers(0, k, n).astype(str)) for name, k in levels.items()}
    y = rng.gamma(2.0, size=n)
    targets = {f"y{k}": rng.permutation(y) for k in range(repeats)}
    m = gm.collect(pd.DataFrame(table | targets), targets=list(targets))
    tests = [gm.independence_test(m, list(levels), name) for name in targets]
    assert tests[0].df == 30
    assert stats.kstest([test.p_value for test in tests], "uniform").pvalue > 0.01


def test_a_nonlinear_target_needs_slices(rng):
    x = rng.standard_normal((3000, 2))
    y = np.abs(x[:, 0] + 0.2) ** 2 + 0.05 * rng.standard_normal(3000)
    level = np.char.add("l", np.digitize(x[:, 1], [-1, 0, 1]).astype(str))
    frame = pd.DataFrame(
        {"bin": np.char.add("b", np.digitize(x[:, 0], np.linspace(-2, 2, 15)).astype(str)), "level": level}
    )
    plain = gm.MahalanobisFeatures().fit(frame, y)
    sliced = gm.MahalanobisFeatures(influence="slices").fit(frame, y)
    assert plain.n_components_ == 1
    assert sliced.n_components_ > 3
    assert sliced.statistic_ > plain.statistic_
