"""Selection from moments against scikit-learn, fastcan and skglm; false discoveries; accuracy with the columns chosen.

Each ratio is of the whole job from rows, peers and ours in the same run, and peak memory that of a process that does
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from benchmarks import cases, measure, synthetic
from benchmarks.measure import Call
from benchmarks.report import Row


def regression(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of which every tenth is in the target."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((n_rows, n_columns))
    return X, X[:, ::10] @ rng.uniform(0.2, 1.0, len(range(0, n_columns, 10))) + 2 * rng.standard_normal(n_rows)


def ours_forward(n_rows: int, n_columns: int, k: int) -> Call:
    import gramian as gm

    X, y = regression(n_rows, n_columns)
    gm.ForwardSelector(2).fit(X[:500, :20], y[:500])
    return lambda: gm.ForwardSelector(k).fit(X, y) and None


def sklearn_forward(n_rows: int, n_columns: int, k: int) -> Call:
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    X, y = regression(n_rows, n_columns)
    model = SequentialFeatureSelector(LinearRegression(), n_features_to_select=k, cv=2)
    return lambda: model.fit(X, y) and None


def fastcan_forward(n_rows: int, n_columns: int, k: int) -> Call:
    from fastcan import FastCan

    X, y = regression(n_rows, n_columns)
    return lambda: FastCan(k, verbose=0).fit(X, y) and None


def contest(run: cases.Run, row: Row, ours: str, peer: str, *arguments: int, calls: int | None = None) -> Row:
    """Return the row with the median ratio of calls in turn, and with the peak memory of a process for each side.

    Parameters
    ----------
    ours, peer : str
        Functions of this module that return the call to be timed.
    calls : int, optional
        Of each side, for peers that take long; `--repeat` where it is not given.
    """
    fewer = cases.Run(run.scale, min(calls or run.repeat, run.repeat), run.slow)
    row = fewer.compare(row, globals()[ours](*arguments), globals()[peer](*arguments))
    peaks = [measure.alone(f"benchmarks.selection:{maker}", *arguments).peak for maker in (ours, peer)]
    return replace(row, ours_peak=peaks[0], peer_peak=peaks[1])


def forward(run: cases.Run) -> Iterator[Row]:
    """Forward selection of 20 from 500 numbers, 200,000 rows; against SequentialFeatureSelector at a size it finishes."""
    n = run.rows(200_000)
    row = Row("forward", f"20 of 500 numbers, {n:,} rows", "fastcan", None, at_least=1.0)
    yield contest(run, row, "ours_forward", "fastcan_forward", n, 500, 20)
    small = min(n, 5_000)
    what, against = f"8 of 60 numbers, {small:,} rows", "SequentialFeatureSelector, 2 folds"
    row = Row("forward", what, against, None, at_least=100.0)
    yield contest(run, row, "ours_forward", "sklearn_forward", small, 60, 8)


def ours_lasso(n_rows: int, n_columns: int) -> Call:
    import gramian as gm

    X, y = regression(n_rows, n_columns)
    gm.LassoSelector().fit(X[:500, :20], y[:500])
    return lambda: gm.LassoSelector(scale=False).fit(X, y) and None


def sklearn_lasso(n_rows: int, n_columns: int) -> Call:
    from sklearn.linear_model import LassoCV

    X, y = regression(n_rows, n_columns)
    return lambda: LassoCV(cv=5, alphas=100).fit(X, y) and None


def skglm_lasso(n_rows: int, n_columns: int) -> Call:
    """Return the path on five training sets and on all rows, with the errors of those left out."""
    from skglm import Lasso
    from sklearn.model_selection import KFold

    X, y = regression(n_rows, n_columns)
    X = np.asfortranarray(X)
    Lasso(alpha=0.1).path(np.asfortranarray(X[:300, :10]), y[:300], alphas=np.array([0.5, 0.1]))

    def run() -> None:
        alphas = np.geomspace(1.0, 1e-3, 100) * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
        for train, test in KFold(5).split(X):
            mean, level = X[train].mean(axis=0), y[train].mean()
            found = Lasso(fit_intercept=False).path(np.asfortranarray(X[train] - mean), y[train] - level, alphas=alphas)
            np.square(y[test, None] - level - (X[test] - mean) @ found[1]).mean(axis=0)
        Lasso(fit_intercept=False).path(np.asfortranarray(X - X.mean(axis=0)), y - y.mean(), alphas=alphas)

    return run


def coded_target(n_rows: int) -> tuple[object, np.ndarray]:
    """Return ten categories of 2 to 76 levels and a number that two of them move."""
    table = synthetic.categorical(n_rows).select([f"c{j:02d}" for j in range(0, 14)])
    codes = [np.asarray(table.column(j).combine_chunks().indices) for j in (3, 9)]
    noise = np.random.default_rng(14).standard_normal(n_rows)
    return table, (codes[0] == 1) + 0.5 * (codes[1] > 9) + noise


def ours_group_lasso(n_rows: int) -> Call:
    import gramian as gm

    table, y = coded_target(n_rows)
    gm.LassoSelector().fit(table.slice(0, 1000), y[:1000])
    return lambda: gm.LassoSelector().fit(table, y) and None


def sklearn_one_hot_lasso(n_rows: int) -> Call:
    """Return LassoCV on a sparse one-hot matrix of the same table: levels enter one by one."""
    from sklearn.linear_model import LassoCV
    from sklearn.preprocessing import OneHotEncoder

    table, y = coded_target(n_rows)
    frame = table.to_pandas()
    return lambda: LassoCV(cv=5, alphas=100).fit(OneHotEncoder().fit_transform(frame), y) and None


def lasso(run: cases.Run) -> Iterator[Row]:
    """The Lasso path of 100 penalties with 5-fold cross-validation: 200 numbers; 14 categories of 286 levels; 100,000 rows."""
    n = run.rows(100_000)
    row = Row("lasso", f"14 categories, {n:,} rows, 5 folds", "OneHotEncoder, LassoCV", None, at_least=20.0)
    yield contest(run, row, "ours_group_lasso", "sklearn_one_hot_lasso", n, calls=2)
    what = f"200 numbers, {n:,} rows, 5 folds"
    yield contest(run, Row("lasso", what, "LassoCV", None, at_least=20.0), "ours_lasso", "sklearn_lasso", n, 200)
    row = Row("lasso", what, "skglm path", None, at_least=3.0)
    yield contest(run, row, "ours_lasso", "skglm_lasso", n, 200, calls=2)


def categories(n_rows: int) -> tuple[object, np.ndarray]:
    table = synthetic.categorical(n_rows)
    rng = np.random.default_rng(12)
    first = np.asarray(table.column(2).combine_chunks().indices)
    return table, np.where(rng.random(n_rows) < 0.8, first % 2, rng.integers(0, 2, n_rows))


def ours_information(n_rows: int) -> Call:
    import gramian as gm

    table, y = categories(n_rows)
    gm.MutualInformationFilter(5).fit(table.slice(0, 1000), y[:1000])
    return lambda: gm.MutualInformationFilter(5).fit(table, y) and None


def sklearn_information(n_rows: int) -> Call:
    from sklearn.feature_selection import mutual_info_classif

    table, y = categories(n_rows)
    X = np.column_stack([np.asarray(column.combine_chunks().indices) for column in table.columns])
    return lambda: mutual_info_classif(X, y, discrete_features=True) is None


def information(run: cases.Run) -> Iterator[Row]:
    """Mutual information of 20 categories with a class, 1,000,000 rows (scikit-learn is given integer codes)."""
    n = run.rows(1_000_000)
    row = Row("information", f"20 categories, {n:,} rows", "mutual_info_classif", None, at_least=50.0)
    yield contest(run, row, "ours_information", "sklearn_information", n)


def ours_ranking(n_columns: int) -> Call:
    import gramian as gm

    X, y = regression(8_000, n_columns)
    moments = gm.collect(np.column_stack([X, y]))
    gm.rank_columns(moments.select([f"x{k}" for k in range(50)] + [f"x{n_columns}"]), f"x{n_columns}")
    return lambda: gm.rank_columns(moments, f"x{n_columns}") is None


def ranking(run: cases.Run) -> Iterator[Row]:
    """Every criterion of rank_columns from given moments, 2,000 numbers."""
    ours = measure.alone("benchmarks.selection:ours_ranking", 2_000)
    what = "every criterion, 2,000 numbers, from moments"
    yield Row("ranking", what, "", ours.seconds, unit="s", at_most=1.0, ours_peak=ours.peak)


def discoveries(run: cases.Run) -> Iterator[Row]:
    """Share of false ones that Benjamini-Hochberg at 0.1 keeps of 200 columns of noise of 2 to 400 levels, 200 seeds."""
    import pandas as pd

    import gramian as gm
    from gramian.selection.filters.univariate import adjusted

    seeds, n = max(int(200 * min(run.scale, 1.0)), 10), 1_000
    levels = np.geomspace(2, 400, 150).astype(int)
    least, false = [], 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        columns = {
            f"c{k}": pd.Categorical.from_codes((rng.random(n) ** 2 * v).astype(int), range(v))
            for k, v in enumerate(levels)
        }
        columns |= {f"x{k}": rng.standard_t(3, n) for k in range(50)}
        y = rng.choice(["a", "b", "rare"], n, p=[0.6, 0.38, 0.02])
        # A p-value does not depend on the other columns: a few at a time, so that not all pairs of them are counted.
        names = list(columns)
        p_values = np.concatenate(
            [
                gm.IndependenceFilter(0.1).fit(pd.DataFrame({c: columns[c] for c in part}), y).p_values_
                for part in (names[k::10] for k in range(10))
            ]
        )
        least.append(p_values.min())
        false += bool((adjusted(p_values, "fdr") <= 0.1).any())
    share = false / seeds
    error = np.sqrt(max(share, 1 / seeds) * (1 - share) / seeds)
    what = f"200 columns of noise, {seeds} seeds"
    yield Row("discoveries", what, "", share, unit="", at_most=0.12, floor=f"+- {error:.3f}")
    # The least of 200 p-values is below a / 200 in a share 1 - exp(-a) of the seeds.
    for a in (0.02, 0.1, 0.5):
        found = float(np.mean(np.array(least) <= a / 200))
        yield Row(
            "discoveries", f"least p-value below {a / 200:g}", "", found, unit="", floor=f"nominal {1 - np.exp(-a):.3f}"
        )


def agreement(run: cases.Run) -> Iterator[Row]:
    """Largest difference of group Lasso coefficients from skglm's on the same columns."""
    import pandas as pd
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD
    from skglm.utils.data import grp_converter

    import gramian as gm

    rng = np.random.default_rng(13)
    n, widths = 1000, (3, 5, 8)
    codes = [rng.integers(0, w, n) for w in widths]
    y = (codes[0] == 1) + 0.5 * (codes[2] > 4) + rng.standard_normal(n)
    frame = pd.DataFrame({f"c{j}": [f"l{v}" for v in code] for j, code in enumerate(codes)})
    model = gm.LassoSelector(0.03).fit(frame, y)
    hot = [np.eye(w)[code] for w, code in zip(widths, codes, strict=True)]
    units = np.concatenate([np.sqrt(h.mean(axis=0)) for h in hot])
    X = np.asfortranarray((np.column_stack(hot) - np.concatenate([h.mean(axis=0) for h in hot])) / units)
    edges = np.concatenate([[0], np.cumsum(widths)])
    indices, pointers = grp_converter([list(range(a, b)) for a, b in pairwise(edges)], X.shape[1])
    penalty = WeightedGroupL2(0.03, np.sqrt(np.array(widths) - 1.0), pointers, indices)
    solver = GroupBCD(tol=1e-10, max_iter=2000, fit_intercept=False)
    peer = GeneralizedLinearEstimator(QuadraticGroup(pointers, indices), penalty, solver).fit(X, y - y.mean())
    at = [model.design_names_.index(f"c{j}_l{v}") for j, w in enumerate(widths) for v in range(w)]
    gap = float(np.abs(model.coef_[0][at] * units - peer.coef_).max())
    yield Row("agreement", "group Lasso, 3 categories", "skglm", gap, unit="", at_most=1e-6)


def downstream(run: cases.Run) -> Iterator[Row]:
    """Accuracy with 3, 5 and 10 columns chosen by each selector, on tables of a folder (GRAMIAN_DATA), ten seeds."""
    # Before the limit is set: threads of a library that is loaded later are not held to it.
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_limits

    from benchmarks.selection_quality import compare

    # Hundreds of small fits: threads that wait for each other would take most of the time.
    with threadpool_limits(1):
        yield from compare(seeds=max(int(10 * min(run.scale, 1.0)), 2))


CASES: dict[str, cases.Case] = {
    "forward": forward,
    "lasso": lasso,
    "information": information,
    "ranking": ranking,
    "agreement": agreement,
    "discoveries": discoveries,
    "downstream": downstream,
}


def main(arguments: list[str]) -> int:
    return cases.main("selection", __doc__, CASES, cases.Run, arguments)
