"""Regression with standard errors from Parquet, against glum, statsmodels, pyfixest and scikit-learn.

Whole jobs: reading the file is part of both sides, and so are the standard errors where the peer has them. Each contestant runs
in a process of its own, once, so that peak memory is its own. Peers that are not installed are named and skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from subprocess import TimeoutExpired

import numpy as np
import pyarrow as pa

from benchmarks import cases, measure, synthetic
from benchmarks.measure import Call
from benchmarks.report import Row

LEVELS = (3, 5, 10, 20, 40, 60, 100, 150, 250, 400, 600, 862)
"""Twelve categories, 2,500 design columns."""

NARROW = (2, 3, 5, 10, 30, 100)
SHOPS = 5000

PATIENCE = 300
"""Seconds after which a peer is ended."""


def sales_file(n_rows: int, levels: tuple[int, ...] = LEVELS) -> Path:
    """Return a Parquet file of categories, a cluster column, a number and a class."""
    path = synthetic.folder() / f"sales-{len(levels)}-{n_rows}.parquet"
    if not path.exists():
        rng = np.random.default_rng(11)
        columns = synthetic.codes(n_rows, levels, seed=11)
        eta = sum(rng.normal(0, 0.3, k)[c] for k, c in zip(levels, columns, strict=True))
        shop = rng.integers(0, SHOPS, n_rows).astype(np.int32)
        paid = eta + rng.normal(0, 0.3, SHOPS)[shop] + rng.standard_normal(n_rows)
        bought = (rng.random(n_rows) < 1 / (1 + np.exp(1 - eta))).astype(np.int8)
        arrays = [synthetic.labelled(c, k) for c, k in zip(columns, levels, strict=True)]
        names = [*synthetic.names(levels), "shop", "paid", "bought"]
        table = pa.table([*arrays, synthetic.labelled(shop, SHOPS), pa.array(paid), pa.array(bought)], names=names)
        synthetic._write(table, path)
    return path


def _read(n_rows: int, columns: list[str], levels: tuple[int, ...] = LEVELS):
    import pandas as pd

    return pd.read_parquet(sales_file(n_rows, levels), columns=columns)


def _features(levels: tuple[int, ...]) -> list[str]:
    return synthetic.names(levels)


def _streamed(n_rows: int, target: str, levels: tuple[int, ...] = LEVELS, times: int = 1):
    """Return some columns of the file, once or several times over, read when a pass is made."""
    import pyarrow.dataset as ds

    options = ds.ParquetReadOptions(dictionary_columns=_features(levels))
    whole = ds.dataset([str(sales_file(n_rows, levels))] * times, format=ds.ParquetFileFormat(read_options=options))
    return whole.replace_schema(pa.schema([whole.schema.field(name) for name in [*_features(levels), target]]))


def ours(n_rows: int, model: str, errors: str, wide: bool = True) -> Call:
    """Fit, with errors of every coefficient where some are asked for."""
    import gramian as gm

    levels = LEVELS if wide else NARROW
    target = "bought" if model == "logistic" else "paid"

    def fit(n: int) -> object:
        table = _streamed(n, target, levels)
        estimator = gm.LogisticRegression() if model == "logistic" else gm.Ridge(alpha=0)
        fitted = estimator.fit(table, target)
        if errors == "cluster":
            return fitted.inference({"cluster": "shop"}, sales_file(n, levels))
        return fitted.inference() if errors == "iid" else fitted

    sales_file(n_rows, levels)
    _compiled()
    return lambda: fit(n_rows) and None


def _compiled() -> None:
    """Load the kernels by small fits, which leave no peak of memory behind."""
    import gramian as gm

    rng = np.random.default_rng(0)
    table = pa.table({name: [f"{name} {k}" for k in rng.integers(0, 30, 2000)] for name in ("a", "b", "c")})
    gm.Ridge(0).fit(table.append_column("y", pa.array(rng.random(2000))), "y").inference()
    gm.LogisticRegression(1.0).fit(table.append_column("y", pa.array(rng.integers(0, 2, 2000))), "y")


def glum_fit(n_rows: int, model: str) -> Call:
    import tabmat
    from glum import GeneralizedLinearRegressor

    sales_file(n_rows)
    target = "bought" if model == "logistic" else "paid"

    def fit() -> None:
        frame = _read(n_rows, [*_features(LEVELS), target])
        X = tabmat.from_pandas(frame[_features(LEVELS)].astype("category"))
        GeneralizedLinearRegressor(family="binomial" if model == "logistic" else "normal", alpha=1e-9).fit(
            X, frame[target]
        )

    return fit


def sklearn_fit(n_rows: int, model: str, solver: str) -> Call:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import OneHotEncoder

    sales_file(n_rows)
    target = "bought" if model == "logistic" else "paid"

    def fit() -> None:
        frame = _read(n_rows, [*_features(LEVELS), target])
        X = OneHotEncoder(dtype=np.float64).fit_transform(frame[_features(LEVELS)])
        peer = (
            LogisticRegression(solver=solver, C=1e3, max_iter=1000)
            if model == "logistic"
            else Ridge(1e-3, solver=solver)
        )
        peer.fit(X, frame[target])

    return fit


def statsmodels_fit(n_rows: int, model: str, errors: str) -> Call:
    import pandas as pd
    import statsmodels.api as sm

    sales_file(n_rows, NARROW)
    target = "bought" if model == "logistic" else "paid"

    def fit() -> None:
        frame = _read(n_rows, [*_features(NARROW), "shop", target], NARROW)
        X = sm.add_constant(pd.get_dummies(frame[_features(NARROW)], drop_first=True, dtype=float))
        kind = sm.Logit(frame[target], X) if model == "logistic" else sm.OLS(frame[target], X)
        options = (
            {"cov_type": "cluster", "cov_kwds": {"groups": pd.factorize(frame["shop"])[0]}}
            if errors == "cluster"
            else {}
        )
        kind.fit(**({"disp": 0} if model == "logistic" else {}), **options).bse  # noqa: B018

    return fit


def pyfixest_fit(n_rows: int) -> Call:
    import pyfixest as pf

    sales_file(n_rows)

    def fit() -> None:
        frame = _read(n_rows, [*_features(LEVELS), "shop", "paid"])
        pf.feols("paid ~ " + " + ".join(f"C({name})" for name in _features(LEVELS)), frame, vcov={"CRV1": "shop"})

    return fit


class Regressions(cases.Run):
    """The settings, with comparisons of processes."""

    def rival(
        self, row: Row, mine: tuple[object, ...], peer: str, *given: object, memory: bool = False
    ) -> Iterator[Row]:
        """Yield a row filled in from one run each, in processes of their own, and what they say of memory."""
        first = measure.alone("benchmarks.regression:ours", *mine)
        row = replace(row, ours_seconds=first.seconds, ours_peak=first.peak)
        try:
            second = measure.alone(f"benchmarks.regression:{peer}", *given, limit=PATIENCE)
        except TimeoutExpired:
            yield replace(row, note=f"did not finish in {PATIENCE} s", at_least=None)
            return
        yield replace(row, figure=second.seconds / first.seconds, peer_seconds=second.seconds, peer_peak=second.peak)
        if memory:
            share = replace(row, at_least=None, ours_seconds=None)
            whole = replace(share, what="memory of the process", figure=first.peak / second.peak, at_most=1 / 3)
            more = [first.peak - first.bare, second.peak - second.bare]
            beyond = replace(share, what="memory beyond imports and kernels", figure=more[0] / more[1], at_most=1 / 3)
            yield replace(whole, peer_peak=second.peak)
            yield replace(beyond, ours_peak=more[0], peer_peak=more[1])


def _missing(case: str, what: str, package: str, run: Regressions, mine: tuple[object, ...]) -> Row:
    """Return a row with our own figures, for a peer that is not there."""
    own = measure.alone("benchmarks.regression:ours", *mine)
    return Row(
        case, what, package, None, ours_seconds=own.seconds, ours_peak=own.peak, note=f"{package} is not installed"
    )


def _against_glum(run: Regressions, case: str, model: str) -> Iterator[Row]:
    for full in (2_000_000, *[10_000_000] * run.slow):
        n = run.rows(full)
        what = f"{model}, {n:,} x 12 categories"
        if find_spec("glum") is None:
            yield _missing(case, what, "glum", run, (n, model, ""))
            continue
        row = Row(case, what, "glum", None, at_least=2.0)
        yield from run.rival(row, (n, model, ""), "glum_fit", n, model, memory=True)


def least_squares(run: Regressions) -> Iterator[Row]:
    """Least squares from Parquet, 2,500 design columns, against glum (--slow: 10,000,000 rows too) and scikit-learn."""
    yield from _against_glum(run, "a", "least squares")
    n = run.rows(2_000_000)
    row = Row("a", f"least squares, {n:,} x 12 categories", "scikit-learn, sparse_cg", None)
    yield from run.rival(row, (n, "least squares", ""), "sklearn_fit", n, "least squares", "sparse_cg")


def logistic(run: Regressions) -> Iterator[Row]:
    """Logistic regression from Parquet, 2,500 design columns, against glum and scikit-learn (saga for 300 s at most)."""
    yield from _against_glum(run, "b", "logistic")
    n = run.rows(2_000_000)
    for solver in ("lbfgs", "saga"):
        row = Row("b", f"logistic, {n:,} x 12 categories", f"scikit-learn, {solver}", None)
        yield from run.rival(row, (n, "logistic", ""), "sklearn_fit", n, "logistic", solver)


def with_errors(run: Regressions) -> Iterator[Row]:
    """Coefficients with errors where statsmodels can finish: 200,000 rows, 150 design columns."""
    n = run.rows(200_000)
    for model, errors in (("least squares", "iid"), ("logistic", "iid"), ("least squares", "cluster")):
        row = Row("c", f"{model}, {errors} errors, {n:,} x 6 categories", "statsmodels", None)
        yield from run.rival(row, (n, model, errors, False), "statsmodels_fit", n, model, errors)


def clusters(run: Regressions) -> Iterator[Row]:
    """Clustered errors of 2,500 coefficients, 5,000 clusters; against pyfixest, whose design matrix is dense, on fewer rows."""
    n = run.rows(2_000_000)
    own = measure.alone("benchmarks.regression:ours", n, "least squares", "cluster")
    what = "clustered errors, {:,} x 12 categories"
    yield Row("d", what.format(n), "alone", None, ours_seconds=own.seconds, ours_peak=own.peak)
    n = run.rows(50_000)
    mine = (n, "least squares", "cluster")
    if find_spec("pyfixest") is None:
        yield _missing("d", what.format(n), "pyfixest", run, mine)
        return
    yield from run.rival(Row("d", what.format(n), "pyfixest", None), mine, "pyfixest_fit", n)


def repeated(n_rows: int, times: int) -> Call:
    """Fit to a file that is read so many times in each pass."""
    import gramian as gm

    sales_file(n_rows)
    _compiled()

    def fit() -> None:
        from gramian.engines import weighted

        # As if nothing fitted into memory: every pass reads the files.
        weighted.SHARE = 10**6
        gm.LogisticRegression().fit(_streamed(n_rows, "bought", times=times), "bought")

    return fit


def large(run: Regressions) -> Iterator[Row]:
    """Logistic regression of 100,000,000 rows (--slow) by repetition, nothing kept: memory beside that of one file."""
    times = 50 if run.slow else 5
    n = run.rows(2_000_000)
    one = measure.alone("benchmarks.regression:repeated", n, 1)
    many = measure.alone("benchmarks.regression:repeated", n, times)
    yield Row(
        "e",
        f"logistic, {times * n:,} rows",
        f"{n:,} rows",
        many.peak / one.peak,
        at_most=1.3,
        ours_seconds=many.seconds,
        peer_seconds=one.seconds,
        ours_peak=many.peak,
        peer_peak=one.peak,
    )


CASES: dict[str, cases.Case] = {"a": least_squares, "b": logistic, "c": with_errors, "d": clusters, "e": large}


def main(arguments: list[str]) -> int:
    """Run some of the cases."""
    return cases.main("regression", __doc__ or "", CASES, Regressions, arguments)
