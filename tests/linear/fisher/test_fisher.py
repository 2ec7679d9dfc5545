from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.linear.fisher import fisher, fisher_criterion
from gramian.moments.state.numbers import Numbers


def test_axes_whiten_the_classes_from_within(mixed):
    m = gm.collect(mixed)
    found = fisher(m, None, "kind")
    rows = mixed.copy()
    rows["size"] = rows["size"].fillna(rows["size"].mean())
    names = m.design_names_of(["color", "shape", "grade", "size", "cost"])
    design = np.column_stack(
        [
            (rows[n.split("_")[0]] == n.split("_")[1]).to_numpy(float) if "_" in n else rows[n].to_numpy(float)
            for n in names
        ]
    )
    z = (design - found.mean) @ found.weights
    z = z - pd.DataFrame(z).groupby(mixed["kind"].to_numpy()).transform("mean").to_numpy()
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(2), atol=1e-9)


def test_criterion_is_that_of_each_axis(mixed):
    m = gm.collect(mixed)
    for shrinkage in (None, 0.3, "auto"):
        found = fisher(m, None, "kind", shrinkage=shrinkage)
        each = [fisher_criterion(m, "kind", found.weights[:, j]) for j in range(2)]
        np.testing.assert_allclose(found.criterion, each, rtol=1e-9)
        assert found.criterion[0] > found.criterion[1]


def test_no_direction_beats_the_first_axis(mixed, rng):
    m = gm.collect(mixed)
    best = fisher(m, None, "kind").criterion[0]
    tried = [fisher_criterion(m, "kind", rng.standard_normal(9)) for _ in range(200)]
    assert max(tried) < best


def test_criterion_of_rows_equals_that_of_moments(rng):
    x = rng.standard_normal((90, 3))
    y = rng.integers(0, 3, 90)
    x[:, 0] += y
    frame = pd.DataFrame(x, columns=list("abc"))
    frame["y"] = y
    w = rng.standard_normal(3)
    assert fisher_criterion(x, y, w) == pytest.approx(fisher_criterion(gm.collect(frame), "y", w), rel=1e-10)


def test_criterion_without_spread_within_is_infinite():
    assert fisher_criterion([[0.0], [0.0], [1.0]], [0, 0, 1], [1.0]) == np.inf
    m = gm.collect(pd.DataFrame({"x": [0.0, 0.0, 1.0], "y": ["a", "a", "b"]}))
    assert fisher_criterion(m, "y", [1.0]) == np.inf


def test_a_class_of_one_member_is_allowed(rng):
    frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    frame["y"] = ["p"] * 15 + ["q"] * 14 + ["r"]
    found = fisher(gm.collect(frame), None, "y")
    assert found.weights.shape == (2, 2)
    np.testing.assert_allclose(found.class_means[2], frame.loc[29, ["a", "b"]].to_numpy(float))


def test_classes_are_sorted_whatever_the_order_of_the_rows():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 9], "y": [30, 4, 4, 30, 7, 7]})
    found = fisher(gm.collect(frame), None, "y")
    assert found.classes == [4, 7, 30]
    np.testing.assert_allclose(found.class_means[:, 0], [2.5, 7.0, 2.5])
    np.testing.assert_allclose(found.priors, [1 / 3, 1 / 3, 1 / 3])


def test_a_column_constant_within_classes_is_ignored_not_inverted(rng):
    frame = pd.DataFrame({"x": rng.standard_normal(40), "y": ["a", "b"] * 20})
    frame["leak"] = (frame["y"] == "a") * 3.0
    found = fisher(gm.collect(frame), None, "y")
    assert found.rank == 1
    assert found.weights[1] == 0


def test_one_hot_null_directions_give_the_pseudo_inverse_weights(mixed):
    m = gm.collect(mixed[["color", "shape", "kind"]])
    found = fisher(m, None, "kind")
    assert found.rank == 4
    within = np.zeros((6, 6))
    scatter = m.covariance(["color", "shape", "kind"], ddof=0)
    cross = scatter[:6, 6:]
    shares = np.array([(mixed["kind"] == c).mean() for c in m.levels("kind")])
    within = scatter[:6, :6] - cross @ np.diag(1 / shares) @ cross.T
    unit = np.sqrt(np.diagonal(within))
    inverse = np.linalg.pinv(within / np.outer(unit, unit), rcond=1e-10, hermitian=True) / np.outer(unit, unit)
    expected = (found.class_means - found.mean) @ inverse
    np.testing.assert_allclose(found.coef, expected, rtol=1e-8, atol=1e-10)


def test_targets_that_cannot_be_classes_are_refused(mixed, rng):
    frame = mixed.copy()
    frame["wide"] = np.arange(len(frame))
    m = gm.collect(frame)
    for name in ("size", "wide"):
        with pytest.raises(DataError, match="collected as a number"):
            fisher(m, None, name)
    with pytest.raises(ColumnError, match="did you mean 'kind'"):
        fisher(m, None, "kin")
    with pytest.raises(ColumnError, match="is the target"):
        fisher(m, ["kind", "cost"], "kind")
    frame["kind"] = "a"
    with pytest.raises(DataError, match="less than 2 classes"):
        fisher(gm.collect(frame), None, "kind")
    frame["kind"] = ["a", "b", None, None] * 100
    with pytest.raises(DataError, match="missing in 200 of"):
        fisher(gm.collect(frame), None, "kind")


@pytest.mark.parametrize("priors", [[0.5, 0.5], [1.2, -0.1, -0.1], [0.5, 0.5, 0.0], "auto"])
def test_priors_that_do_not_fit_are_refused(mixed, priors):
    with pytest.raises(ValueError, match=r"priors|convert"):
        fisher(gm.collect(mixed), None, "kind", priors=priors)


def test_more_axes_than_classes_allow_are_refused(mixed):
    with pytest.raises(DataError, match="at most 2 axes"):
        fisher(gm.collect(mixed), None, "kind", n_components=3)


def test_cross_validated_shrinkage_helps_where_rows_are_few(rng):
    n, p = 60, 40
    y = rng.integers(0, 2, n)
    x = rng.standard_normal((n, p))
    x[:, :5] += 0.8 * y[:, None]
    frame = pd.DataFrame(x).add_prefix("x")
    frame["y"] = y
    m = gm.collect(frame, folds=5)
    found = fisher(m, None, "y", shrinkage="cv")
    assert found.shrinkage >= 0.1
    assert found.selection["r2"].max() > found.selection["r2"][0] + 0.1
    with pytest.raises(DataError, match=r"collect\(folds=5\)"):
        fisher(gm.collect(frame), None, "y", shrinkage="cv")


def test_equal_means_are_refused():
    frame = pd.DataFrame({"x": [1.0, 2.0, 1.0, 2.0], "y": list("aabb")})
    with pytest.raises(DataError, match="no axis separates"):
        fisher(gm.collect(frame), None, "y")


def test_classes_that_do_not_vary_within_are_still_told_apart():
    m = gm.collect(pa.table({"x": [1.0, 1.0, 2.0, 2.0, 4.0], "class": ["a", "a", "b", "b", "c"]}))
    found = fisher(m, target="class")
    assert found.criterion.tolist() == [np.inf]
    scores = np.array([[1.0], [2.0], [4.0]]) @ found.coef.T + found.intercept
    assert [found.classes[k] for k in scores.argmax(axis=1)] == ["a", "b", "c"]


def wide_table(rng, n=48, p=520):
    """Fewer rows than columns, as many columns as are kept as rows; one does not vary and one not within classes."""
    y = rng.integers(0, 3, n)
    x = rng.standard_normal((n, p)) * rng.gamma(2.0, 1.0, p) + np.outer(y == 1, rng.standard_normal(p)) * 0.3
    x[rng.random((n, p)) < 0.01] = np.nan
    x[:, [3, 5]] = np.column_stack([np.full(n, 7.0), 2.0 * y])
    return pd.DataFrame(x).add_prefix("x").assign(y=y)


def multiplied_out(m):
    """The same moments with the scatter as a matrix."""
    numbers = replace(m.numbers, scatter=m.numbers.dense(), rows=None)
    return replace(m, numbers=numbers, folds=tuple(multiplied_out(fold) for fold in m.folds))


@pytest.mark.parametrize("shrinkage", [None, 0.0, 0.2, "auto", "cv"])
def test_kept_rows_road_equals_dense(rng, shrinkage):
    m = gm.collect(wide_table(rng), folds=4)
    assert m.numbers.rows is not None
    found, expected = (fisher(x, None, "y", shrinkage=shrinkage) for x in (m, multiplied_out(m)))
    assert found.rank == expected.rank
    # A pseudo-inverse of 48 rows in 520 columns: condition numbers of a few thousand.
    assert found.shrinkage == pytest.approx(expected.shrinkage, rel=1e-9)
    np.testing.assert_allclose(found.criterion, expected.criterion, rtol=1e-7)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9 * np.abs(expected.weights).max())
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-9 * np.abs(expected.coef).max())
    for name, curve in expected.selection.items():
        np.testing.assert_allclose(found.selection[name], curve, rtol=1e-7)
    assert fisher_criterion(m, "y", found.weights[:, 0]) == pytest.approx(found.criterion[0], rel=1e-7)


def test_kept_rows_are_never_multiplied_out(rng, monkeypatch):
    m = gm.collect(wide_table(rng), folds=4)

    def refuse(*_):
        raise AssertionError("a p x p matrix was formed")

    monkeypatch.setattr(Numbers, "dense", refuse)
    for shrinkage in (None, 0.2, "auto", "cv"):
        fisher(m, None, "y", shrinkage=shrinkage)


@pytest.mark.parametrize("p", [2, 600])
def test_as_many_classes_as_rows_are_refused(rng, p):
    frame = pd.DataFrame(rng.standard_normal((4, p))).add_prefix("x").assign(y=list("abcd"))
    with pytest.raises(DataError, match="number of rows must be more than the number of classes: target 'y' has 4"):
        fisher(gm.collect(frame), None, "y")
    fisher(gm.collect(pd.concat([frame, frame[:1] + frame[:1].assign(y="")])), None, "y")


def test_rows_that_repeat_within_their_class_are_told_apart_among_many_columns(rng):
    x = np.repeat(rng.standard_normal((3, 600)), 2, axis=0)
    found = fisher(gm.collect(pd.DataFrame(x).add_prefix("x").assign(y=list("aabbcc"))), None, "y")
    assert np.isinf(found.criterion).all()
    assert np.argmax(x @ found.coef.T + found.intercept, axis=1).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
def test_classes_that_differ_only_where_nothing_varies_within_are_told_apart(shrinkage):
    """Levels vary within the classes and their means are equal; a column that tells the classes apart does not vary."""
    frame = pd.DataFrame({"a": list("pqrpqr"), "b": list("uuuvvv"), "y": list("kkklll")})
    found = fisher(gm.collect(frame), None, "y", shrinkage=shrinkage)
    design = np.array(
        [[a == "p", a == "q", a == "r", b == "u", b == "v"] for a, b in zip(frame.a, frame.b, strict=True)]
    )
    assert found.criterion.tolist() == [np.inf]
    assert np.argmax(design @ found.coef.T + found.intercept, axis=1).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_number_that_the_classes_all_but_determine_does_not_blur_the_others(rng):
    """Of its within-class scatter, 1e-12 of the total, four digits are left; a dependence of 1e-3 elsewhere stays."""
    n = 2000
    y = rng.integers(0, 2, n)
    x = rng.standard_normal((n, 4))
    x[:, 1] = x[:, 0] + 0.03 * x[:, 1]
    x[:, 2] += 0.5 * y
    x[:, 3] = y + 1e-6 * x[:, 3]
    found = fisher(gm.collect(pd.DataFrame(x).add_prefix("x").assign(y=y)), None, "y")
    assert found.rank == 4
    inside = x - np.array([x[y == c].mean(axis=0) for c in (0, 1)])[y]
    expected = (found.class_means - found.mean) @ np.linalg.inv(inside.T @ inside / n)
    np.testing.assert_allclose(found.coef, expected, rtol=0.01)


def test_weights_of_any_size_leave_a_level_that_is_a_class_constant(rng):
    """Sums of the weights of a level and of its class differ by rounding, beside a total that is nearly theirs."""
    for seed in range(40):
        draw = np.random.default_rng(seed)
        frame = pd.DataFrame({"a": ["q"] + ["x"] * 43, "b": draw.choice(list("uvw"), 44), "y": ["k"] + ["l"] * 43})
        frame["w"] = draw.random(44) * draw.integers(1, 4, 44)
        frame.loc[0, "w"] = 1e-3
        found = fisher(gm.collect(frame, sample_weight="w"), ["a", "b"], "y", shrinkage="auto")
        assert found.weights[:2].tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-12, 0.0])
def test_near_dependence_through_a_small_coefficient_equals_the_pseudo_inverse(rng, small):
    """x1 - x0 = small x2: the smallest eigenvalue is rounding, the pivots of the Cholesky factor need not be."""
    n = 400
    x = rng.standard_normal((n, 4))
    x[:, 1] = x[:, 0] + small * x[:, 2]
    y = rng.integers(0, 2, n)
    x[:, 3] += y
    found = fisher(gm.collect(pd.DataFrame(x).add_prefix("x").assign(y=y)), None, "y")
    inside = x - np.array([x[y == c].mean(axis=0) for c in (0, 1)])[y]
    unit = inside.std(axis=0)
    values, vectors = np.linalg.eigh(np.corrcoef(inside.T))
    kept = values > 64 * np.finfo(float).eps * values[-1]
    assert found.rank == kept.sum() == 3
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T / np.outer(unit, unit)
    gaps = found.class_means - found.mean
    # The eigenvalues kept are near 1.
    np.testing.assert_allclose(found.coef, gaps @ inverse, atol=1e-9)


def held_out_error(train, part, levels, classes, amount):
    """Squared error of the classes of left-out rows, predicted by least squares from the axes, and that of class shares."""
    mean = train["x"].mean()
    x, new = (
        np.column_stack([rows[n] == k for n in levels for k in levels[n]] + [rows["x"].fillna(mean)]).astype(float)
        for rows in (train, part)
    )
    for at, name in enumerate(levels):
        # A level that the training rows lack sits at their mean.
        first = sum(len(levels[n]) for n in list(levels)[:at])
        strange = ~part[name].isin(train[name]).to_numpy()
        new[strange, first : first + len(levels[name])] = x[:, first : first + len(levels[name])].mean(axis=0)
    aims = [(rows["y"].to_numpy()[:, None] == classes).astype(float) for rows in (train, part)]
    means = {c: x[train["y"] == c].mean(axis=0) for c in train["y"].unique()}
    inside = x - np.array([means[c] for c in train["y"]])
    spread = inside.std(axis=0)
    unit = np.where(spread > 1e-9, spread, np.inf)
    within = inside.T @ inside / len(x) / np.outer(unit, unit)
    shrunk = (1 - amount) * within + amount * np.diag(np.isfinite(unit).astype(float))
    inverse = np.linalg.pinv(shrunk, rcond=1e-10, hermitian=True) / np.outer(unit, unit)
    centred, shares = x - x.mean(axis=0), aims[0].mean(axis=0)
    axes = inverse @ centred.T @ (aims[0] - shares)
    fit = np.linalg.lstsq(centred @ axes, aims[0] - shares, rcond=1e-7)[0]
    judged = aims[1] - shares
    return np.square(judged - (new - x.mean(axis=0)) @ axes @ fit).sum(), np.square(judged).sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_shrinkage_curve_with_levels_of_one_class_only_equals_rows(seed, collect_in_folds):
    """Levels that a training part lacks, a level that is a class, a column nested in another, missing numbers."""
    rng = np.random.default_rng(seed)
    n = 160
    y = rng.choice(["k", "l", "m"], n, p=[0.5, 0.45, 0.05])
    a = np.where(y == "k", "own", rng.choice(list("pqr"), n))
    frame = pd.DataFrame({"a": a, "b": np.where(a == "p", "in", "out"), "c": rng.choice(list("uvw"), n), "y": y})
    frame["x"] = rng.standard_normal(n) + 0.4 * (y == "l")
    frame = frame.sort_values(["c", "x"]).reset_index(drop=True) if seed % 2 else frame
    frame.loc[:2, "c"] = "once"
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    parts = [frame.iloc[i * n // 4 : (i + 1) * n // 4] for i in range(4)]
    m = collect_in_folds(parts)
    levels = {name: m.levels(name) for name in "abc"}
    curve = fisher(m, ["a", "b", "c", "x"], "y", shrinkage="cv").selection
    for place in (0, 1, 5, 11, 17):
        errors = [
            held_out_error(
                pd.concat(parts[:i] + parts[i + 1 :]), part, levels, np.array(m.levels("y")), curve["shrinkage"][place]
            )
            for i, part in enumerate(parts)
        ]
        error, baseline = np.sum(errors, axis=0)
        # A shrinkage of 1e-4 leaves null directions at a condition of 1e4, squared in the fit.
        assert curve["r2"][place] == pytest.approx(1 - error / baseline, abs=1e-7)


def test_the_shrinkage_curve_of_weights_is_that_of_repeated_rows(rng, collect_in_folds):
    """Tenths do not add up in binary: what a left-out fold alone has must not come back as a level of 1e-16 rows."""
    n = 120
    y = rng.choice(list("kl"), n)
    frame = pd.DataFrame(
        {"a": rng.choice(list("pqr"), n), "b": np.where(y == "k", "own", rng.choice(list("uv"), n)), "y": y}
    )
    times = rng.integers(1, 5, n)
    parts = [frame.iloc[i::4].copy() for i in range(4)]
    for i, part in enumerate(parts):
        part.iloc[:2, 0] = f"only {i}"
    weighted = [part.assign(w=0.1 * times[i::4]) for i, part in enumerate(parts)]
    repeated = [part.loc[part.index.repeat(times[i::4])] for i, part in enumerate(parts)]
    one = fisher(collect_in_folds(weighted, sample_weight="w"), ["a", "b"], "y", shrinkage="cv").selection
    other = fisher(collect_in_folds(repeated), ["a", "b"], "y", shrinkage="cv").selection
    np.testing.assert_allclose(one["r2"], other["r2"], rtol=1e-9)


def test_the_shrinkage_curve_judges_the_model_that_is_fitted(rng, collect_in_folds):
    """Fewer rows than columns: directions that do not vary within classes count under shrinkage."""
    n, p = 40, 60
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(rng.standard_normal((n, p)) + 0.5 * y[:, None]).add_prefix("x").assign(y=y)
    parts = [frame.iloc[i::4] for i in range(4)]
    m = collect_in_folds(parts)
    curve = fisher(m, None, "y", shrinkage="cv").selection
    for place in (0, 8, 15):
        error, baseline = 0.0, 0.0
        for i, part in enumerate(parts):
            train = pd.concat(parts[:i] + parts[i + 1 :])
            amount = curve["shrinkage"][place]
            x, aim = train.drop(columns="y").to_numpy(), (train["y"].to_numpy()[:, None] == [0, 1, 2]).astype(float)
            inside = x - np.array([x[train["y"] == c].mean(axis=0) for c in (0, 1, 2)])[train["y"]]
            unit = inside.std(axis=0)
            shrunk = (1 - amount) * np.corrcoef(inside.T) + amount * np.eye(p)
            inverse = np.linalg.pinv(shrunk, rcond=1e-10, hermitian=True) / np.outer(unit, unit)
            axes = inverse @ (x - x.mean(axis=0)).T @ (aim - aim.mean(axis=0))
            fit = np.linalg.lstsq((x - x.mean(axis=0)) @ axes, aim - aim.mean(axis=0), rcond=1e-8)[0]
            away = part.drop(columns="y").to_numpy() - x.mean(axis=0)
            judged = (part["y"].to_numpy()[:, None] == [0, 1, 2]) - aim.mean(axis=0)
            error += np.square(judged - away @ axes @ fit).sum()
            baseline += np.square(judged).sum()
        assert curve["r2"][place] == pytest.approx(1 - error / baseline, rel=1e-7)
