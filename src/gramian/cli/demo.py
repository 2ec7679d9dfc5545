"""`gramian demo`: the whole job on generated data, from a table to features, models and a report."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from gramian.cli.files import check_folder
from gramian.cli.options import Json, option, whole
from gramian.cli.printing import show, show_json, show_table
from gramian.cli.wording import command_line

if TYPE_CHECKING:
    from gramian.cli.payments import Payments
    from gramian.moments.value import Moments

EXAMPLES = {"demo": ("gramian demo", "gramian demo --rows 50000 --output small-demo")}

Result = TypeVar("Result")

NEEDED = 2_000
"""Rows below which the planted ones are too few to judge by."""


def demo(
    rows: Annotated[int, option("--rows N", "Payments to generate.", parser=whole(NEEDED))] = 200_000,
    output: Annotated[str, option("--output -o FOLDER", "Where to write.")] = "gramian-demo",
    seed: Annotated[int, option("--seed N", "Another seed, other payments.", parser=whole(0))] = 0,
    as_json: Json = False,
) -> None:
    """Do the whole job on generated card payments.

    One pass collects the moments of a year of payments. Mahalanobis features, principal components, Fisher's axis and
    the density embedding are fitted from them, and judged on the three months after, against plain baselines.
    """
    from gramian.arrays.threads import one_blas_thread

    check_folder(output)
    # As JSON the result says it all, and the story goes nowhere.
    told = contextlib.redirect_stdout(io.StringIO()) if as_json else contextlib.nullcontext()
    # Matrices of a few hundred columns gain nothing from threads that wait for each other, and on a busy machine they
    # lose a lot.
    with one_blas_thread(), told:
        result = tell(rows, output, seed)
    if as_json:
        show_json(result)


def tell(n_rows: int, folder: str, seed: int) -> dict[str, Any]:
    """Do everything, say each step as it is done, and return what came out as plain data."""
    import gramian as gm
    from gramian.cli.payments import ROW, TARGET, payments

    started = time.perf_counter()
    made, seconds = timed(lambda: payments(n_rows, seed))
    paths = _write_data(made, folder)
    show(
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
    show(
        f"One pass: {seconds:.2f} s, after {ready:.1f} s to make its loops ready. {moments.nbytes / 1e6:.1f} MB of "
        f"moments over {len(moments.design_names)} design columns stand for the {made.earlier.num_rows:,} rows from "
        f"here on.\n"
    )
    ranked = _rank(moments)
    models, fitted = _fit(moments)
    judged = _judge(made, models, fitted)
    detected = _detect(made, models["density"])
    _write(moments, models, paths)
    spent = time.perf_counter() - started
    _end(paths, spent)
    return {
        "rows": n_rows,
        "seconds": spent,
        "collect_seconds": seconds,
        "ranking": ranked,
        "fit_seconds": fitted,
        "prediction": judged,
        "detection": detected,
        "files": paths,
    }


def _write_data(made: Payments, folder: str) -> dict[str, str]:
    """Write the payments; return the paths of all that the demo writes."""
    import pyarrow.parquet as pq

    from gramian.storage.atomic import appearing

    data = ("payments.parquet", "later.parquet", "payments.moments", "features.parquet", "report.html")
    models = ("mahalanobis", "pca", "fisher", "density")
    names = dict(zip(("payments", "later", "moments", "features", "report"), data, strict=True))
    names |= {name: f"{name}.model" for name in models}
    os.makedirs(folder, exist_ok=True)
    paths = {key: os.path.join(folder, name) for key, name in names.items()}
    for key, table in (("payments", made.earlier), ("later", made.later)):
        with appearing(paths[key]) as temporary:
            pq.write_table(table, temporary)
    return paths


def _rank(moments: Moments) -> list[dict[str, Any]]:
    import gramian as gm
    from gramian.cli.payments import TARGET
    from gramian.reporting.values import p_value

    columns = moments.schema.features
    tests, seconds = timed(lambda: {name: gm.independence_test(moments, name, TARGET) for name in columns})
    ranked: list[dict[str, Any]] = [
        {
            "column": name,
            "statistic": test.statistic,
            "df": test.df,
            "p_value": test.p_value,
            "share": test.statistic / (test.n - 1),
        }
        for name, test in sorted(tests.items(), key=lambda pair: -pair[1].statistic)
    ]
    show(f"Which columns know about fraud? The independence test of each, {seconds:.2f} s:\n")
    show_table(
        ("column", "statistic", "df", "p-value", "share explained"),
        [(r["column"], f"{r['statistic']:,.0f}", r["df"], p_value(r["p_value"]), f"{r['share']:.2%}") for r in ranked],
        right=(1, 2, 3, 4),
    )
    return ranked


def _fit(moments: Moments) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the models, and the seconds that each took to fit."""
    import gramian as gm
    from gramian.cli.payments import TARGET
    from gramian.reporting.values import p_value

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
    show("\nFour methods from the same moments:\n")
    show_table(
        ("method", "features", "seconds", "found"),
        [
            (name, len(model.get_feature_names_out()), f"{seconds[name]:.2f}", words[name])
            for name, model in models.items()
        ],
        right=(1, 2),
    )
    return models, seconds


def _judge(made: Payments, models: dict[str, Any], seconds: dict[str, float]) -> list[dict[str, Any]]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    from gramian.cli.payments import ROW, TARGET, one_hot_logistic

    truth, before = (table[TARGET].to_numpy() for table in (made.later, made.earlier))

    def logistic(model: Any) -> Any:
        features = model.transform(made.earlier)
        return LogisticRegression().fit(features, before).decision_function(model.transform(made.later))

    plain, spent = timed(lambda: one_hot_logistic([ROW, TARGET]).fit(made.earlier, before))
    judged = [
        ("one-hot columns, logistic regression", plain[-1].n_features_in_, spent, plain.decision_function(made.later))
    ]
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
    show("\nFraud in the three months after (area under the ROC curve, 0.5 is chance):\n")
    show_table(
        ("model", "columns", "seconds", "AUC"),
        [(r["model"], r["columns"], f"{r['seconds']:.2f}", f"{r['auc']:.3f}") for r in rows],
        right=(1, 2, 3),
    )
    return rows


def _detect(made: Payments, density: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import roc_auc_score

    from gramian.cli.payments import ROW, TARGET, rarity
    from gramian.maps.surprise.explain import REST

    scores, seconds = timed(lambda: density.anomaly_score(made.later))
    swans, usual = density.black_swans(made.later).any(axis=1), ~made.new
    n_new, n_found = int(made.new.sum()), int((swans & made.new).sum())
    judged = {
        "density embedding": scores,
        "rare values (-log frequency)": rarity(made.earlier, made.later, [ROW, TARGET]),
    }
    auc = {name: float(roc_auc_score(made.odd[usual], values[usual])) for name, values in judged.items()}
    first = np.argsort(-scores, kind="stable")[:n_new]
    show(
        f"\nMerchants never seen: {n_found} of {n_new} rows pointed out, and {(swans & usual).sum()} others; the {n_new} "
        f"highest scores are theirs: {'yes' if made.new[first].all() else 'no'}. The planted combinations among the other "
        f"rows, all of them scored in {seconds:.2f} s:\n"
    )
    show_table(("detector", "AUC"), [(name, f"{value:.3f}") for name, value in auc.items()], right=(1,))
    oddest = [int(row) for row in np.argsort(-np.where(made.new, -np.inf, scores), kind="stable")[:3]]
    told = density.explain(made.later.take(oddest), top=2)
    lines = [
        (str(made.later[ROW][oddest[row]]), text)
        for row, text in zip(told["row"].to_pylist(), told["text"].to_pylist(), strict=True)
        if text not in REST
    ]
    show("\nWhy the oddest of them are odd:\n")
    show_table(("payment", "why"), lines, right=(0,))
    return {"auc": auc, "new_found": n_found, "new": n_new, "why": lines}


def _write(moments: Moments, models: dict[str, Any], paths: dict[str, str]) -> None:
    import gramian as gm
    from gramian.cli.payments import ROW, TARGET
    from gramian.errors import MissingPackageError
    from gramian.estimators.spine.files import write_rows

    for name, model in models.items():
        gm.save(model, paths[name], {"command": command_line()})
    write_rows(
        lambda: _side_by_side(
            gm.transform_stream(models["mahalanobis"], paths["later"], keep=[ROW, TARGET]),
            gm.transform_stream(models["pca"], paths["later"]),
        ),
        paths["features"],
    )
    told: dict[str, Any] = {"target": TARGET, "title": "Card payments", "command": command_line()}
    try:
        about = partial(gm.report, [moments, *models.values()], paths["later"], **told)
        _, seconds = timed(lambda: about().save(paths["report"]))
        show(f"\nThe report took {seconds:.1f} s.")
    except MissingPackageError as error:
        del paths["report"]
        show(f"\nNo report: {error}")


def _end(paths: dict[str, str], seconds: float) -> None:
    show(f"\nWritten in {seconds:.1f} s, all told:\n")
    for path in paths.values():
        show(f"  {path:38} {os.path.getsize(path) / 1e6:6.2f} MB")
    first = f"open {paths['report']} in a browser, then try" if "report" in paths else "try"
    show(
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
