"""`gramian demo`: the whole job on generated data, from a table to features, models and a report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gramian.cli.files import check_folder
from gramian.cli.options import Json, whole
from gramian.cli.printing import show, show_json, show_table
from gramian.cli.wording import command_line

if TYPE_CHECKING:
    from gramian.cli.payments import Payments

EXAMPLES = {
    "demo": (
        "gramian demo",
        "gramian demo --rows 50000 --output small-demo",
    )
}

Result = TypeVar("Result")

NEEDED = 2_000
"""Rows below which the planted ones are too few to judge by."""


def demo(
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="Payments to generate.", parser=whole(NEEDED))
    ] = 200_000,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")] = "gramian-demo",
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Another seed, other payments.", parser=whole(0))
    ] = 0,
    as_json: Json = False,
) -> None:
    """Do the whole job on generated card payments.

    One pass collects the moments of a year of payments. Mahalanobis features, principal components, Fisher's axis and
    the density embedding are fitted from them, and judged on the three months after, against plain baselines.
    """
    from gramian.arrays.threads import one_blas_thread

    check_folder(output)
    # Matrices of a few hundred columns gain nothing from threads that wait for each other, and on a busy machine they
    # lose a lot.
    with one_blas_thread():
        result = Story(silent=as_json).tell(rows, output, seed)
    if as_json:
        show_json(result)


class Story:
    """The steps of the demo, each told as it is done.

    Parameters
    ----------
    silent : bool
        Print nothing: the result says it all.
    """

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._started = time.perf_counter()

    def _say(self, text: str) -> None:
        if not self._silent:
            show(text)

    def _table(self, head: tuple[str, ...], rows: list[tuple[Any, ...]], right: tuple[int, ...]) -> None:
        if not self._silent:
            show_table(head, rows, right=right)

    def tell(self, n_rows: int, folder: str, seed: int) -> dict[str, Any]:
        """Do everything, and return what came out as plain data."""
        import gramian as gm
        from gramian.cli.payments import ROW, TARGET, payments

        made, seconds = timed(lambda: payments(n_rows, seed))
        paths = self._write_data(made, folder)
        self._say(
            f"A year of card payments, {made.earlier.num_rows:,} rows, and {made.later.num_rows:,} of the three months "
            f"after it: ten categorical columns, a timestamp among them, three numbers, and whether it was fraud "
            f"({made.earlier[TARGET].to_numpy().mean():.1%}). Planted among the later ones: {made.odd.sum()} odd "
            f"combinations of common values, and {made.new.sum()} merchants never seen before. ({seconds:.1f} s)\n"
        )
        collected: dict[str, Any] = {"exclude": ROW, "targets": TARGET, "folds": 5}
        # A few rows first: the very first pass on a machine compiles the loops it needs, later ones load them from disk.
        _, ready = timed(lambda: gm.collect(made.earlier.slice(0, 1000), **collected))
        moments, seconds = timed(lambda: gm.collect(paths["payments"], **collected))
        moments.save(paths["moments"])
        self._say(
            f"One pass: {seconds:.2f} s, after {ready:.1f} s to make its loops ready. {moments.nbytes / 1e6:.1f} MB of "
            f"moments over {len(moments.design_names)} design columns stand for the {made.earlier.num_rows:,} rows from "
            f"here on.\n"
        )
        ranked = self._rank(moments)
        models, fitted = self._fit(moments)
        judged = self._judge(made, models, fitted)
        detected = self._detect(made, models["density"])
        self._write(moments, models, paths)
        self._end(paths)
        return {
            "rows": n_rows,
            "seconds": time.perf_counter() - self._started,
            "collect_seconds": seconds,
            "ranking": ranked,
            "fit_seconds": fitted,
            "prediction": judged,
            "detection": detected,
            "files": paths,
        }

    def _write_data(self, made: Payments, folder: str) -> dict[str, str]:
        import pyarrow.parquet as pq

        from gramian.storage.atomic import appearing

        names = {
            "payments": "payments.parquet",
            "later": "later.parquet",
            "moments": "payments.moments",
            "features": "features.parquet",
            "report": "report.html",
            **{name: f"{name}.model" for name in ("mahalanobis", "pca", "fisher", "density")},
        }
        os.makedirs(folder, exist_ok=True)
        paths = {key: os.path.join(folder, name) for key, name in names.items()}
        for key, table in (("payments", made.earlier), ("later", made.later)):
            with appearing(paths[key]) as temporary:
                pq.write_table(table, temporary)
        return paths

    def _rank(self, moments: Any) -> list[dict[str, Any]]:
        import gramian as gm
        from gramian.cli.payments import TARGET

        columns = moments.schema.features
        tests, seconds = timed(lambda: {name: gm.independence_test(moments, name, TARGET) for name in columns})
        order = sorted(tests, key=lambda name: -tests[name].statistic)
        ranked = [
            {
                "column": name,
                "statistic": tests[name].statistic,
                "df": tests[name].df,
                "p_value": tests[name].p_value,
                "share": tests[name].statistic / (tests[name].n - 1),
            }
            for name in order
        ]
        self._say(f"Which columns know about fraud? The independence test of each, {seconds:.2f} s:\n")
        self._table(
            ("column", "statistic", "df", "p-value", "share explained"),
            [
                (r["column"], f"{r['statistic']:,.0f}", r["df"], p_value(r["p_value"]), f"{r['share']:.2%}")
                for r in ranked
            ],
            right=(1, 2, 3, 4),
        )
        return ranked

    def _fit(self, moments: Any) -> tuple[dict[str, Any], dict[str, float]]:
        import gramian as gm
        from gramian.cli.payments import TARGET

        # Named here, so that importing them is no part of the times below.
        jobs: dict[str, Callable[[], Any]] = {
            "mahalanobis": partial(gm.MahalanobisFeatures().fit, moments, TARGET),
            "fisher": partial(gm.FisherDiscriminant().fit, moments, TARGET),
            "pca": partial(gm.PCA("parallel").fit, moments),
            "density": partial(gm.DensityEmbedding().fit, moments),
        }
        models: dict[str, Any] = {}
        seconds: dict[str, float] = {}
        for name, job in jobs.items():
            models[name], seconds[name] = timed(job)
        maha, pca, density = models["mahalanobis"], models["pca"], models["density"]
        # Fisher's criterion divides by a sum of squares over all rows: times their number it is a squared distance.
        apart = float(models["fisher"].criterion_[0] * moments.n_rows) ** 0.5
        words = {
            "mahalanobis": f"R² {maha.r2_cv_:.3f} on held-out folds, p {p_value(maha.p_value_)}",
            "fisher": f"class means {apart:.1f} standard deviations apart",
            "pca": f"{pca.explained_variance_ratio_.sum():.0%} of the variance, more than noise has",
            "density": f"odd beyond a score of {-density.offset_:.1f}",
        }
        self._say("\nFour methods from the same moments:\n")
        self._table(
            ("method", "features", "seconds", "found"),
            [
                (name, len(model.get_feature_names_out()), f"{seconds[name]:.2f}", words[name])
                for name, model in models.items()
            ],
            right=(1, 2),
        )
        return models, seconds

    def _judge(self, made: Payments, models: dict[str, Any], seconds: dict[str, float]) -> list[dict[str, Any]]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        from gramian.cli.payments import ROW, TARGET, OneHotLogistic

        truth = made.later[TARGET].to_numpy()
        before = made.earlier[TARGET].to_numpy()

        def logistic(model: Any) -> Any:
            features = model.transform(made.earlier)
            return LogisticRegression().fit(features, before).decision_function(model.transform(made.later))

        judged = []
        plain, spent = timed(lambda: OneHotLogistic([ROW, TARGET], TARGET).fit(made.earlier))
        judged.append(
            ("one-hot columns, logistic regression", plain.n_columns, spent, plain.decision_function(made.later))
        )
        for name, words in (("mahalanobis", "Mahalanobis feature"), ("pca", "principal components")):
            scores, spent = timed(partial(logistic, models[name]))
            width = len(models[name].get_feature_names_out())
            judged.append((f"{words}, logistic regression", width, spent + seconds[name], scores))
        fisher = models["fisher"]
        judged.append(("Fisher's axis, by itself", 1, seconds["fisher"], fisher.decision_function(made.later)))
        rows = [
            {"model": words, "columns": width, "seconds": spent, "auc": float(roc_auc_score(truth, scores))}
            for words, width, spent, scores in judged
        ]
        self._say("\nFraud in the three months after (area under the ROC curve, 0.5 is chance):\n")
        self._table(
            ("model", "columns", "seconds", "AUC"),
            [(r["model"], r["columns"], f"{r['seconds']:.2f}", f"{r['auc']:.3f}") for r in rows],
            right=(1, 2, 3),
        )
        return rows

    def _detect(self, made: Payments, density: Any) -> dict[str, Any]:
        import numpy as np
        from sklearn.metrics import roc_auc_score

        from gramian.cli.payments import ROW, TARGET, RarityScore
        from gramian.maps.surprise.explain import REST

        scores, seconds = timed(lambda: density.anomaly_score(made.later))
        rarity = RarityScore([ROW, TARGET]).fit(made.earlier).score(made.later)
        swans = density.black_swans(made.later).any(axis=1)
        usual = ~made.new
        auc = {
            "density embedding": float(roc_auc_score(made.odd[usual], scores[usual])),
            "rare values (-log frequency)": float(roc_auc_score(made.odd[usual], rarity[usual])),
        }
        first = np.argsort(-scores, kind="stable")[: int(made.new.sum())]
        self._say(
            f"\nMerchants never seen: {int((swans & made.new).sum())} of {int(made.new.sum())} rows pointed out, and "
            f"{int((swans & ~made.new).sum())} others; the {len(first)} highest scores are theirs: "
            f"{'yes' if made.new[first].all() else 'no'}. The planted combinations among the other rows, all of them scored "
            f"in {seconds:.2f} s:\n"
        )
        self._table(("detector", "AUC"), [(name, f"{value:.3f}") for name, value in auc.items()], right=(1,))
        oddest = [int(row) for row in np.argsort(-np.where(made.new, -np.inf, scores), kind="stable")[:3]]
        told = density.explain(made.later.take(oddest), top=2)
        lines = [
            (str(made.later[ROW][oddest[row]]), text)
            for row, text in zip(told["row"].to_pylist(), told["text"].to_pylist(), strict=True)
            if text not in REST
        ]
        self._say("\nWhy the oddest of them are odd:\n")
        self._table(("payment", "why"), lines, right=(0,))
        return {"auc": auc, "new_found": int((swans & made.new).sum()), "new": int(made.new.sum()), "why": lines}

    def _write(self, moments: Any, models: dict[str, Any], paths: dict[str, str]) -> None:
        import gramian as gm
        from gramian.cli.payments import ROW, TARGET
        from gramian.errors import MissingPackageError
        from gramian.estimators.spine.files import write_rows
        from gramian.reporting import report

        for name, model in models.items():
            gm.save(model, paths[name], {"command": command_line()})
        write_rows(
            lambda: _side_by_side(
                gm.transform_stream(models["mahalanobis"], paths["later"], keep=[ROW, TARGET]),
                gm.transform_stream(models["pca"], paths["later"]),
            ),
            paths["features"],
        )
        start = time.perf_counter()
        try:
            report(
                [moments, *models.values()],
                data=paths["later"],
                target=TARGET,
                title="Card payments",
                command=command_line(),
            ).save(paths["report"])
        except MissingPackageError as error:
            del paths["report"]
            self._say(f"\nNo report: {error}")
        else:
            self._say(f"\nThe report took {time.perf_counter() - start:.1f} s.")

    def _end(self, paths: dict[str, str]) -> None:
        spent = time.perf_counter() - self._started
        self._say(f"\nWritten in {spent:.1f} s, all told:\n")
        for path in paths.values():
            self._say(f"  {path:38} {os.path.getsize(path) / 1e6:6.2f} MB")
        first = f"open {paths['report']} in a browser, then try" if "report" in paths else "try"
        self._say(
            f"\nNext: {first}\n\n  gramian inspect {paths['moments']}\n"
            f"  gramian detect {paths['density']} {paths['later']} --top 5 --explain\n"
            f"  gramian fit {paths['moments']} --method lda --target card -o card.model"
        )


def _side_by_side(left: Any, right: Any) -> Any:
    """Return a reader with the columns of two that read the same rows in the same batches."""
    import pyarrow as pa

    both = ((a.columns, b.columns) for a, b in zip(left, right, strict=True))
    schema = pa.schema([*left.schema, *right.schema])
    return pa.RecordBatchReader.from_batches(schema, (pa.record_batch([*a, *b], schema=schema) for a, b in both))


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """Return what a call returns, and its seconds."""
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def p_value(value: float) -> str:
    """Return a p-value as people write it.

    Examples
    --------
    >>> p_value(0.0312), p_value(0.0)
    ('0.031', '< 1e-300')
    """
    return f"{value:.2g}" if value > 1e-300 else "< 1e-300"
