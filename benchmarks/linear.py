"""PCA, Fisher and whitening from moments against scikit-learn, and features of categorical rows against sparse products.

Ratios are of interleaved calls in the same run, or of single runs where a peer takes minutes. Peak memory is that of a
process that does nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import cases, measure, synthetic, wide_column
from benchmarks.measure import Call
from benchmarks.report import Row

MILLION = 1_000_000


def classes(n_rows: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 5, n_rows)


def separated(n_rows: int) -> np.ndarray:
    """Return 200 numbers whose first five columns depend on the class."""
    X = synthetic.numbers(n_rows)
    X[:, :5] += np.eye(5)[classes(n_rows)]
    return X


def ours_pca(n_rows: int, n_components: object = 20) -> Call:
    import gramian as gm

    X = synthetic.numbers(n_rows)
    gm.PCA(2).fit(X[:1000])
    return lambda: gm.PCA(n_components).fit(X) and None


def sklearn_pca(n_rows: int, solver: str) -> Call:
    from sklearn.decomposition import PCA

    X = synthetic.numbers(n_rows)
    return lambda: PCA(20, svd_solver=solver, random_state=0).fit(X) and None


def incremental_pca(n_rows: int) -> Call:
    from sklearn.decomposition import IncrementalPCA

    X = synthetic.numbers(n_rows)
    return lambda: IncrementalPCA(20).fit(X) and None


def ours_fisher(n_rows: int) -> Call:
    import gramian as gm

    X, y = separated(n_rows), classes(n_rows)
    gm.FisherDiscriminant().fit(X[:1000], y[:1000])
    return lambda: gm.FisherDiscriminant().fit(X, y) and None


def sklearn_fisher(n_rows: int, solver: str) -> Call:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y = separated(n_rows), classes(n_rows)
    return lambda: LinearDiscriminantAnalysis(solver=solver).fit(X, y) and None


def ours_text(n_rows: int) -> Call:
    import gramian as gm

    path = str(synthetic.text_file(n_rows))
    gm.PCA(2).fit(str(synthetic.text_file(1000)))
    return lambda: gm.PCA(20).fit(gm.collect(path, columns=synthetic.names(synthetic.TEXT))) and None


def pandas_text(n_rows: int) -> Call:
    import pandas as pd
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import OneHotEncoder

    path = str(synthetic.text_file(n_rows))

    def run() -> None:
        frame = pd.read_parquet(path, columns=synthetic.names(synthetic.TEXT))
        TruncatedSVD(20, random_state=0).fit(OneHotEncoder().fit_transform(frame))

    return run


def wide_numbers() -> np.ndarray:
    return np.random.default_rng(6).standard_normal((72, 7000))


def ours_wide() -> Call:
    import gramian as gm

    X = wide_numbers()
    return lambda: gm.PCA().fit(X) and None


def sklearn_wide(solver: str) -> Call:
    from sklearn.decomposition import PCA

    X = wide_numbers()
    return lambda: PCA(svd_solver=solver).fit(X) and None


def category_rows(n_rows: int) -> tuple[object, object, np.ndarray, object]:
    """Return a model of 16 features, a frame, the weights over design columns, and the codes as a CSR one-hot maker."""
    import gramian as gm

    columns = synthetic.codes(n_rows, synthetic.CATEGORICAL)
    frame = synthetic.frame(columns)
    model = gm.PCA(16).fit(frame)
    return model, frame, columns


def one_hot(columns: list[np.ndarray], levels: tuple[int, ...], dtype: type = np.float64) -> Any:
    """Return the codes as a sparse one-hot matrix."""
    from scipy import sparse

    n, starts = len(columns[0]), np.cumsum([0, *levels])
    indices = np.column_stack([c + s for c, s in zip(columns, starts, strict=False)]).ravel()
    ends = np.arange(0, len(indices) + 1, len(columns))
    return sparse.csr_array((np.ones(len(indices), dtype), indices, ends), shape=(n, starts[-1]))


def fastest(makers: dict[str, Call]) -> tuple[str, Call]:
    """Return the quickest of a peer's ways."""
    return min(makers.items(), key=lambda item: measure.best(item[1], 1))


def case_a(run: cases.Run) -> Iterator[Row]:
    """PCA of 500,000 x 200 numbers in memory."""
    n = run.rows(500_000)
    name, peer = fastest({s: sklearn_pca(n, s) for s in ("covariance_eigh", "randomized", "arpack")})
    yield run.compare(Row("a", f"PCA(20), {n:,} x 200", f"scikit-learn {name}", None, at_least=1.0), ours_pca(n), peer)
    ours, theirs = (
        measure.alone("benchmarks.linear:ours_pca", n),
        measure.alone("benchmarks.linear:incremental_pca", n),
    )
    yield Row(
        "a", f"PCA(20), {n:,} x 200", "IncrementalPCA", theirs.seconds / ours.seconds, at_least=15.0,
        ours_seconds=ours.seconds, peer_seconds=theirs.seconds, ours_peak=ours.peak, peer_peak=theirs.peak,
    )  # fmt: skip


def case_b(run: cases.Run) -> Iterator[Row]:
    """Fisher's discriminant of the same, five classes."""
    n = run.rows(500_000)
    name, peer = fastest({s: sklearn_fisher(n, s) for s in ("svd", "lsqr", "eigen")})
    row = Row("b", f"Fisher, 5 classes, {n:,} x 200", f"scikit-learn {name}", None, at_least=4.0)
    yield run.compare(row, ours_fisher(n), peer)


def case_c(run: cases.Run) -> Iterator[Row]:
    """PCA of ten text columns from Parquet."""
    n = run.rows(5 * MILLION)
    synthetic.text_file(n)
    synthetic.text_file(1000)
    ours, theirs = (
        measure.alone("benchmarks.linear:ours_text", n),
        measure.alone("benchmarks.linear:pandas_text", n),
    )
    seconds = measure.best(ours_text(n), run.repeat)
    what = f"PCA(20), {n:,} x 10 text, Parquet"
    yield Row(
        "c", what, "pandas + OneHotEncoder + TruncatedSVD", theirs.seconds / seconds, at_least=60.0,
        ours_seconds=seconds, peer_seconds=theirs.seconds, ours_peak=ours.peak, peer_peak=theirs.peak,
    )  # fmt: skip
    yield Row(
        "c",
        "  peak memory",
        "the same",
        ours.peak / theirs.peak,
        at_most=0.1,
        ours_peak=ours.peak,
        peer_peak=theirs.peak,
    )


def case_d(run: cases.Run) -> Iterator[Row]:
    """PCA of 72 x 7,000 numbers."""
    name, peer = fastest({s: sklearn_wide(s) for s in ("full", "covariance_eigh", "auto")})
    yield run.compare(Row("d", "PCA, 72 x 7,000", f"scikit-learn {name}", None, at_most=1.3), ours_wide(), peer)


def case_e(run: cases.Run) -> Iterator[Row]:
    """Second and later methods from the same moments, p = 2,000, against the one LAPACK call that each needs."""
    import scipy.linalg
    from scipy.linalg import lapack

    import gramian as gm

    p = 2000
    rng = np.random.default_rng(8)
    X = rng.standard_normal((6000, p)) + rng.standard_normal((6000, 1))
    m = gm.collect(X)
    y = rng.integers(0, 5, len(X))
    frame_moments = gm.FisherDiscriminant().fit(X, y).moments_
    # In the order LAPACK wants, so that the call converts nothing.
    S = np.asfortranarray(np.cov(X, rowvar=False))
    M = rng.standard_normal((p, 5))
    calls = [
        ("PCA()", lambda: gm.PCA().fit(m), "eigh", lambda: scipy.linalg.eigh(S, driver="evd")),
        (
            "PCA(20)",
            lambda: gm.PCA(20).fit(m),
            "eigh, 20 largest",
            lambda: scipy.linalg.eigh(S, subset_by_index=(p - 20, p - 1)),
        ),
        ("Whitening", lambda: gm.Whitening().fit(m), "eigh", lambda: scipy.linalg.eigh(S, driver="evd")),
        (
            "Fisher",
            lambda: gm.FisherDiscriminant().fit(frame_moments, "(target)"),
            "posv, 5 right sides",
            lambda: lapack.dposv(S, M, lower=1),
        ),
    ]
    for what, ours, against, peer in calls:
        yield run.compare(Row("e", f"{what} from moments, p = {p:,}", against, None, at_most=1.3), ours, peer)


def case_f(run: cases.Run) -> Iterator[Row]:
    """The number of components by five-fold cross-validation."""
    n = run.rows(500_000)
    row = Row("f", "PCA('cv'), 5 folds", "PCA(20), one fit", None, at_most=1.5)
    yield run.compare(row, ours_pca(n, "cv"), ours_pca(n))


def case_g(run: cases.Run) -> Iterator[Row]:
    """Features of 1,000,000 rows of 20 categories."""
    from sklearn.preprocessing import OneHotEncoder

    from gramian.tables import open_table

    n = run.rows(MILLION)
    model, frame, columns = category_rows(n)
    projection = model.projection_
    weights = projection.weights
    for dtype, bound in ((np.float64, 2.2), (np.float32, 3.0)):
        typed = weights.astype(dtype)
        ours = lambda d=dtype: projection.apply(projection.design.rows(open_table(frame)), d, n)  # noqa: E731
        peer = lambda w=typed: one_hot(columns, synthetic.CATEGORICAL, w.dtype) @ w  # noqa: E731
        row = Row(
            "g",
            f"transform {n:,} x 20 to 16, {np.dtype(dtype).name}",
            "sparse product from codes",
            None,
            at_least=bound,
        )
        yield run.compare(row, ours, peer)
    encoder = OneHotEncoder().fit(frame)
    seconds = measure.seconds_of(lambda: encoder.transform(frame) @ weights)
    mine = measure.best(lambda: model.transform(frame), run.repeat)
    yield Row(
        "g", f"transform {n:,} x 20 to 16", "OneHotEncoder + product", seconds / mine, at_least=30.0,
        ours_seconds=mine, peer_seconds=seconds,
    )  # fmt: skip


def case_noise(run: cases.Run) -> Iterator[Row]:
    """How often independent columns exceed the 95 % threshold of PCA("parallel"), and whether a dependence does."""
    from benchmarks import noise

    n_tables = max(20, int(400 * run.scale))
    for shape in noise.SHAPES:
        ours, before = noise.share_above(shape, n_tables, seed=1)
        yield Row(
            "noise", f"{n_tables} null tables, {shape}", f"Marchenko-Pastur {before:.1f}%", ours, unit="%", at_most=8.0
        )
    found = [noise.dependent(seed) > 1 for seed in range(20)]
    yield Row(
        "noise", "2 x 30 even, 12% copied, 20 seeds: found", "Marchenko-Pastur 0", sum(found), unit="", at_least=20
    )


def case_wide(run: cases.Run) -> Iterator[Row]:
    """Ten components, and as many as stand out, where one of twelve columns has 8,000 levels: from moments."""
    import warnings

    from sklearn.decomposition import TruncatedSVD

    import gramian as gm

    n = run.rows(wide_column.ROWS)
    rows = wide_column.table(n)
    columns = [c.combine_chunks().indices.to_numpy() for c in rows.columns]
    sparse_rows = one_hot(columns, wide_column.LEVELS)
    theirs = measure.seconds_of(lambda: TruncatedSVD(10, random_state=0).fit(sparse_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.errors.WideColumnWarning)
        m = gm.collect(rows)
        for rule in (10, "parallel"):
            ours = measure.best(lambda r=rule: gm.PCA(r).fit(m) and None, run.repeat)
            what = f"PCA({rule!r}) from moments of {len(m.design_names):,} design columns, {n:,} rows"
            yield Row("wide", what, "", ours, unit="s", at_most=2.0, ours_seconds=ours)
            if rule == 10:
                peer = "TruncatedSVD(10), sparse one-hot"
                yield Row("wide", what, peer, theirs / ours, at_least=1.0, ours_seconds=ours, peer_seconds=theirs)


CASES: dict[str, cases.Case] = {
    name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")
}


def main(arguments: list[str]) -> int:
    return cases.main("linear", __doc__, CASES, cases.Run, arguments)
