"""`(a + b) - b` is a; what is no part of the whole is refused by name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import Recipe, by_label, collected, pairs_by_label, random_table, recipes


def assert_returned(whole: gm.Moments, rest: gm.Moments, a: gm.Moments) -> None:
    """Assert that `rest` is `a`: counts exactly, numbers to 1e-13 of the whole's scatter.

    1e-13 x scatter(whole) / scatter(a) is the promise: subtraction cancels, and cannot do better than the
    rounding of what it subtracts from. Means are compared through anchors, because a mean at 1e8 is stored
    nowhere and would itself round to 1e-8.
    """
    assert rest.n_rows == a.n_rows
    exact = not whole.weighted
    for name in a.coded:
        mine, theirs = by_label(rest, name), by_label(a, name)
        assert mine.keys() == theirs.keys()
        for key in mine:
            assert abs(mine[key] - theirs[key]) <= (0 if exact else 1e-13 * whole.total_weight)
        for other in a.coded:
            if exact and other < name:
                assert pairs_by_label(rest, name, other) == pairs_by_label(a, name, other)
    if not a.n_rows:
        return
    weight, total = float(a.total_weight), float(whole.total_weight)
    numbers = a.numbers.names
    assert rest.numbers.names == numbers
    at = [whole.numbers.names.index(name) for name in numbers]
    scatter_whole = np.diagonal(whole.numbers.imputed_scatter(total))[at]
    scatter_a, scatter_rest = a.numbers.imputed_scatter(weight), rest.numbers.imputed_scatter(weight)
    root = np.sqrt(scatter_whole)
    assert (np.abs(scatter_rest - scatter_a) <= 1e-13 * np.outer(root, root)).all()
    mean_a, from_anchor = a.numbers.imputed_mean(weight)
    mean_rest, rest_from_anchor = rest.numbers.imputed_mean(weight)
    np.testing.assert_array_equal(np.isnan(mean_a), np.isnan(mean_rest))
    seen = ~np.isnan(mean_a)
    gap = (rest.numbers.anchors - a.numbers.anchors)[seen] + (rest_from_anchor - from_anchor)[seen]
    # 1e-13 x ratio x spread(a), or where a does not vary the rounding of the whole's sums.
    spread_a = np.sqrt(np.diagonal(scatter_a)[seen] / weight)
    rounding = root[seen] * np.sqrt(total) / weight
    bound = scatter_whole[seen] / weight / np.where(spread_a > 0, spread_a, np.inf)
    assert (np.abs(gap) <= 1e-13 * np.maximum(bound, rounding)).all()
    for name in a.coded:
        _assert_sums_by_level(whole, rest, a, name)


def _assert_sums_by_level(whole: gm.Moments, rest: gm.Moments, a: gm.Moments, name: str) -> None:
    if not a.numbers.names:
        return
    columns = [*a.numbers.names]
    size = len(a.levels(name)) if a.kind(name) == "categorical" else 1
    order = np.argsort(a.design_names_of([name]))
    order_rest = np.argsort(rest.design_names_of([name]))
    mine = rest.covariance([name, *columns], ddof=0)[:size][order_rest][:, size:] * float(a.total_weight)
    theirs = a.covariance([name, *columns], ddof=0)[:size][order][:, size:] * float(a.total_weight)
    total = float(whole.total_weight)
    large = np.sqrt(np.diagonal(whole.covariance([name, *columns], ddof=0)) * total)
    # An indicator's scatter is at most the total weight; an integer's scatter is its own.
    own = np.sqrt(total) if a.kind(name) == "categorical" else large[0]
    assert (np.abs(mine - theirs) <= 1e-13 * own * large[-len(columns) :]).all()


ARGUMENTS = st.sampled_from([{}, {"sample_weight": "weight"}, {"folds": 2, "fold_by": "small"}])


@given(recipes(), recipes(), ARGUMENTS)
def test_subtracting_what_was_added_returns_the_rest(a: Recipe, b: Recipe, arguments: dict) -> None:
    x, y = collected(a.table(), **arguments), collected(b.table(), **arguments)
    if any(x.schema[name].form != y.schema[name].form for name in x.columns):
        # An integer that stays by level on one side only is a number in the sum: levels cannot come back.
        from gramian.moments.algebra.combine import conform

        for name in x.columns:
            if x.schema[name].form != y.schema[name].form:
                x = conform(x, x.schema.with_form(name, "number"))
    whole = x + y
    rest = whole - y
    if rest.schema != x.schema:
        # The union passed 64 values although neither side did.
        from gramian.moments.algebra.combine import conform

        x = conform(x, rest.schema)
    assert_returned(whole, rest, x)
    for total, fold, left in zip(whole.folds, rest.folds, x.folds, strict=True):
        assert_returned(total, fold, left)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_thousandth_survives_subtracting_the_rest(offset: float, missing: float, weighted: bool) -> None:
    arguments = {"sample_weight": "weight"} if weighted else {}
    a = collected(random_table(1, 50, missing, offset), **arguments)
    b = collected(random_table(2, 50_000, missing, offset), **arguments)
    # 50 rows keep `large` by level; the whole does not.
    a, b = a.drop("large"), b.drop("large")
    assert_returned(a + b, (a + b) - b, a)
    assert_returned(a + b, (b + a) - b, a)


@given(recipes(), ARGUMENTS)
def test_a_less_itself_has_no_rows(recipe: Recipe, arguments: dict) -> None:
    m = collected(recipe.table(), **arguments)
    nothing = m - m
    assert nothing.n_rows == 0
    assert nothing.total_weight == 0
    assert nothing.columns == m.columns
    assert all(nothing.levels(name) == [] for name in nothing.coded)
    assert all(fold.n_rows == 0 for fold in nothing.folds)


def test_levels_whose_rows_fall_to_zero_are_dropped() -> None:
    whole = gm.collect(pa.table({"c": ["a", "b", "b", None], "x": [1.0, 2.0, 3.0, 4.0]}))
    part = gm.collect(pa.table({"c": ["a", None], "x": [1.0, 4.0]}))
    rest = whole - part
    assert rest.levels("c") == ["b"]
    assert rest.counts("c").tolist() == [2]
    assert rest.design_names == ["c_b", "x"]


def test_folds_subtract_fold_by_fold() -> None:
    table, more = random_table(1, 200), random_table(2, 100)
    arguments = {"folds": 3, "fold_by": "color"}
    x, y = collected(table, **arguments).drop("large"), collected(more, **arguments).drop("large")
    rest = (x + y) - y
    assert len(rest.folds) == 3
    assert [f.n_rows for f in rest.folds] == [f.n_rows for f in x.folds]


WHOLE = {"c": ["a", "b", "a", "b"], "d": ["u", "u", "v", "v"], "x": [1.0, 2.0, 3.0, 4.0], "k": [1, 2, 1, 2]}


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({**WHOLE, "c": ["a", "a", "a", "b"]}, "'c'"),
        ({"c": ["z"], "d": ["u"], "x": [1.0], "k": [1]}, "'c'"),
        ({"c": [None], "d": ["u"], "x": [1.0], "k": [1]}, "'c'"),
        ({"c": ["a"], "d": ["u"], "x": [None], "k": [1]}, "'x'"),
        ({"c": ["a", "b"], "d": ["u", "u"], "x": [-900.0, 900.0], "k": [1, 2]}, "'x'"),
        ({"c": ["a"], "d": ["u"], "x": [1.0], "k": [7]}, "'k'"),
    ],
    ids=["more of a level", "other level", "missing level", "missing number", "more spread", "other integer"],
)
def test_what_is_no_part_is_refused_with_the_column(part: dict, named: str) -> None:
    whole = gm.collect(pa.table(WHOLE))
    types = pa.schema([("c", pa.string()), ("d", pa.string()), ("x", pa.float64()), ("k", pa.int64())])
    with pytest.raises(ValueError, match="cannot subtract") as raised:
        whole - gm.collect(pa.table(part, schema=types))
    assert named in str(raised.value)


def test_a_pair_that_never_occurred_is_refused_with_its_columns() -> None:
    whole = gm.collect(pa.table({"c": ["a", "b"], "d": ["u", "v"]}))
    part = gm.collect(pa.table({"c": ["a"], "d": ["v"]}))
    with pytest.raises(ValueError, match="cannot subtract") as raised:
        whole - part
    assert "'c'" in str(raised.value)
    assert "'d'" in str(raised.value)


def test_more_rows_than_the_whole_are_refused() -> None:
    m = collected(random_table(1, 20))
    with pytest.raises(ValueError, match="40 rows"):
        m - (m + m)


def test_a_weight_beyond_the_whole_is_refused() -> None:
    m = collected(random_table(1, 20), sample_weight="weight")
    with pytest.raises(ValueError, match="cannot subtract"):
        m - m * 2


def test_something_less_from_empty_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot subtract"):
        gm.Moments.empty() - collected(random_table(1, 3))


def test_means_outside_the_range_of_the_whole_are_refused() -> None:
    whole = gm.collect(pa.table({"x": [0.0, 1.0, 0.0, 1.0]}))
    with pytest.raises(ValueError, match="'x'"):
        whole - gm.collect(pa.table({"x": [1e6, 1e6]}))


@given(
    recipes(min_rows=2),
    ARGUMENTS,
    st.sampled_from(["one row", "half", "all but one", "none"]),
    st.sampled_from([None, 3]),
    st.sampled_from([None, 1e-3, 1e12]),
)
def test_rows_of_the_whole_are_never_refused(
    recipe: Recipe, arguments: dict, left: str, levels: int | None, factor: float | None
) -> None:
    """Whatever the offset, the weights, the forgetting, the pooling and how little is left."""
    table = recipe.table()
    n = table.num_rows
    keep = {"one row": 1, "half": n // 2, "all but one": n - 1, "none": 0}[left]
    order = np.random.default_rng(recipe.seed).permutation(n)
    whole, part = (collected(rows, **arguments).drop("large") for rows in (table, table.take(order[keep:])))
    whole = whole if levels is None else whole.pool(max_levels=levels)
    if factor is not None:
        whole, part = whole * factor, part * factor
    rest = whole - part
    assert rest.n_rows == keep
    # And what is left can be taken away in turn.
    if keep:
        last = collected(table.take(order[:keep]), **arguments).drop("large")
        assert (rest - (last if factor is None else last * factor)).n_rows == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_a_window_slides_on_after_values_a_billion_times_larger(weighted: bool) -> None:
    """Rounding of a day of wild values stays in the sums when the day is gone; later days are parts all the same."""
    rng = np.random.default_rng(5)

    def day(k: int) -> gm.Moments:
        table = random_table(k, 300, 0.1).drop_columns(["large", "when"])
        x = rng.normal(size=300) * (1e9 if k == 2 else 1.0)
        # The second column follows the first: what rounding leaves of the two is no covariance of anything.
        table = table.append_column("x", pa.array(x)).append_column("twice", pa.array(2 * x + 1e-3))
        weights = pa.array(rng.uniform(0.5, 1.5, 300) * (1e9 if k == 3 else 1.0))
        table = table.set_column(table.column_names.index("weight"), "weight", weights)
        return collected(table, **({"sample_weight": "weight"} if weighted else {}))

    days = [day(k) for k in range(9)]
    window = gm.merge(days[:3])
    for k in range(3, 9):
        window = window + days[k] - days[k - 3]
    assert window.n_rows == 900


def test_a_window_slides_on_after_a_file(tmp_path) -> None:
    days = [
        gm.collect(np.random.default_rng(k).normal(size=(50, 1)) * [1.0, 2.0] * (1e9 if k == 1 else 1))
        for k in range(4)
    ]
    window = gm.merge(days) - days[1]
    window.save(tmp_path / "window.moments")
    again = gm.load(tmp_path / "window.moments")
    assert again.peak == window.peak
    assert (again - days[0] - days[2]).n_rows == 50


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_more_columns_than_rows_are_never_refused(missing: float) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 600)) + 1e8
    x[rng.random(x.shape) < missing] = np.nan
    whole = gm.collect(x)
    for k in (1, 30, 59, 60):
        assert (whole - gm.collect(x[:k])).n_rows == 60 - k


def test_a_weight_of_nothing_may_be_left() -> None:
    # What is left of the weight is less than the rounding of the part's: 0.1 added up in another order.
    w = np.array([0.1] * 10 + [1e-30])
    x = np.arange(11.0)[:, None]
    rest = gm.collect(x, sample_weight=w) - gm.collect(x[:10][::-1], sample_weight=w[:10] * (1 + 1e-15))
    assert rest.n_rows == 1
    assert rest.total_weight == 0


def test_sparse_columns_far_from_zero_are_never_refused() -> None:
    import scipy.sparse as sp

    # Sparse columns are summed about 0: at 1e6 that costs twelve digits of the scatter.
    x = np.random.default_rng(0).normal(loc=[0, 1e6, 0], size=(200, 3))
    whole = gm.collect(sp.csr_array(x))
    for k in (1, 100, 199, 200):
        assert (whole - gm.collect(sp.csr_array(x[:k]))).n_rows == 200 - k


def test_values_whose_squares_are_next_to_nothing_are_never_refused() -> None:
    # Squares of 1e-300 times a weight of 1e-9 are multiples of the smallest double, and so is what they round to.
    rng = np.random.default_rng(2)
    for _ in range(20):
        table = pa.table({"x": rng.normal(size=10) * 1e-150, "c": rng.choice(list("abcdefgh"), 10)})
        whole, part, other = (gm.collect(rows) * 1e-9 for rows in (table, table.slice(0, 8), table.slice(8)))
        assert (whole - part - other).n_rows == 0
        assert (whole - other - part).n_rows == 0


def test_a_scatter_that_cancels_to_nothing_keeps_its_cross_scatters(rng):
    """Values near 1e8 beside values near 0: the scatter of what is left is below rounding, its covariances are not."""
    for seed in map(int, rng.integers(2**30, size=60)):
        left, part = (
            collected(Recipe(seed, 12, 0.5, 1e8, 64).table()),
            collected(Recipe(seed + 1, 40, 0.0, 0.0, 64).table()),
        )
        whole = left + part
        assert_returned(whole, whole - part, left)
