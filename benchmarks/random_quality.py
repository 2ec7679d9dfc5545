"""How good random maps are: machines against a support vector machine, reservoirs against reservoirpy and 1-NN DTW.

Sets are those of a catalogue (`catalog.json` and one Parquet file each); a part whose sets are not there says so and goes on.
Whatever is tuned is tuned on the training rows by the same folds for both sides; test rows are used once.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row

TABLES = ("car", "german", "splice")
SERIES = ("ucr_GunPoint", "ucr_Coffee", "ucr_CBF", "ucr_ItalyPowerDemand")
SEEDS = 10


# Machines against a support vector machine


def table_sets(folder: Path) -> Iterator[tuple[str, Any, np.ndarray, list[str]]]:
    """Yield name, features, class codes and numeric columns of digits and three sets of the catalogue."""
    import pandas as pd
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    yield "digits", pd.DataFrame(X / 16.0, columns=[f"p{k}" for k in range(64)]), y, []
    if not (folder / "catalog.json").exists():
        return
    about = json.loads((folder / "catalog.json").read_text())
    for name in TABLES:
        frame = pd.read_parquet(folder / f"{name}.parquet")
        target = np.unique(frame.pop(about[name]["target"]).astype(str), return_inverse=True)[1]
        numeric = about[name].get("numeric", [])
        frame[numeric] = frame[numeric].astype(float)
        yield name, frame, target, numeric


def scaled(train: Any, test: Any, numeric: list[str]) -> tuple[Any, Any]:
    """Return frames whose numbers have mean 0 and variance 1 over the training rows."""
    mean, spread = train[numeric].mean(), train[numeric].std(ddof=0).replace(0.0, 1.0)
    return tuple(each.assign(**{c: (each[c] - mean[c]) / spread[c] for c in numeric}) for each in (train, test))


def machine(train: Any, y: np.ndarray, test: Any, folds: Any) -> np.ndarray:
    from sklearn.model_selection import GridSearchCV

    import gramian as gm

    # Fewer units than every set has rows to learn from, which is what the peer may have of support vectors.
    # For "cos" the widths of the peer's kernels, about: exp(-scale^2 |x - y|^2 / (2 columns)).
    grid = {"scale": [0.5, 1.0, 2.0], "activation": ["tanh", "cos"]}
    return GridSearchCV(gm.ELMClassifier(600, ridge="cv"), grid, cv=folds).fit(train, y).predict(test)


def support_vectors(train: Any, y: np.ndarray, test: Any, folds: Any) -> np.ndarray:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC

    # Whatever is no number, under every version of pandas.
    one_hot = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    model = make_pipeline(make_column_transformer(one_hot, remainder="passthrough"), SVC())
    columns = train.shape[1]
    grid = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": [g / columns for g in (0.1, 0.5, 2.0)]}
    return GridSearchCV(model, grid, cv=folds).fit(train, y).predict(test)


def machines(folder: Path) -> Iterator[Row]:
    """Accuracy on left-out rows, both tuned on the same folds."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    for name, X, y, numeric in table_sets(folder):
        gaps, ours = [], []
        for seed in range(2):
            train, test, target, truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            train, test = scaled(train, test, numeric)
            folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(train, target))
            ours.append((machine(train, target, test, folds) == truth).mean())
            gaps.append(ours[-1] - (support_vectors(train, target, test, folds) == truth).mean())
        yield Row("machines", f"{name}: accuracy less that of the peer", "RBF SVM", float(np.mean(gaps)), "",
                  at_least=-0.01, floor=f"ours {np.mean(ours):.3f}")  # fmt: skip


# Forecasts


def mackey_glass(n: int, tau: float = 17.0, substeps: int = 10, transient: int = 1000) -> np.ndarray:
    """Return the series dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x(t) at whole times, by fourth-order Runge-Kutta."""
    h = 1.0 / substeps
    delay = round(tau / h)
    x = np.full(delay + (n + transient) * substeps, 1.2)

    def slope(now: float, past: float) -> float:
        return 0.2 * past / (1 + past**10) - 0.1 * now

    for t in range(delay, len(x)):
        now, old, newer = x[t - 1], x[t - delay], x[t - delay + 1]
        middle = (old + newer) / 2
        a = slope(now, old)
        b = slope(now + h * a / 2, middle)
        c = slope(now + h * b / 2, middle)
        d = slope(now + h * c, newer)
        x[t] = now + h * (a + 2 * b + 2 * c + d) / 6
    return x[delay::substeps][transient : transient + n]


def free_run_error(forecast: Any, series: np.ndarray, starts: range, steps: int = 84) -> float:
    """Return the root of the mean squared error of the last step of free runs, in standard deviations of the series."""
    errors = [forecast(series[:start], steps)[-1] - series[start + steps - 1] for start in starts]
    return float(np.sqrt(np.mean(np.square(errors))) / series.std())


def forecasts(_: Path) -> Iterator[Row]:
    """Mackey-Glass, tau = 17: error of the 84th step of a free run, 300 units, 2,000 steps to learn from, ten seeds each."""
    import gramian as gm

    series = mackey_glass(4000) - 1.0
    train, starts = series[:2000], range(2000, 3900, 190)
    settings = {"spectral_radius": 0.9, "leak": 0.3, "input_scaling": 1.0}
    ours = []
    for seed in range(SEEDS):
        model = gm.EchoStateRegressor(300, washout=100, random_state=seed, **settings).fit(train)
        ours.append(free_run_error(lambda past, n, m=model: m.forecast(n, after=past), series, starts))
    try:
        peer = [reservoirpy_error(train, series, starts, seed, **settings) for seed in range(SEEDS)]
    except ImportError:
        yield Row("forecasts", "reservoirpy is not installed", "", None)
        return
    yield Row("forecasts", "NRMSE at step 84, geometric mean", "reservoirpy, its best ridge",
              float(np.exp(np.mean(np.log(ours)) - np.mean(np.log(peer)))), at_most=1.0,
              floor=f"ours {np.median(ours):.2e}, peer {np.median(peer):.2e} (medians)")  # fmt: skip


def reservoirpy_error(train: np.ndarray, series: np.ndarray, starts: range, seed: int, **settings: float) -> float:
    """Return the least error over ridges, chosen on the test runs themselves: in the peer's favour."""
    from reservoirpy.nodes import Reservoir, Ridge

    node = Reservoir(
        300,
        sr=settings["spectral_radius"],
        lr=settings["leak"],
        input_scaling=settings["input_scaling"],
        rc_connectivity=10 / 300,
        seed=seed,
    )
    u = series[:, None]
    states = np.asarray(node.run(u[: max(starts)]))
    # Free runs step through the node's own matrices: a call of the node takes ten times as long.
    W, into, bias = node.W, node.Win, np.asarray(node.bias if np.ndim(node.bias) else [node.bias]).reshape(-1)
    W, into = (np.asarray(m.toarray() if hasattr(m, "toarray") else m) for m in (W, into))
    leak = settings["leak"]
    errors = []
    for ridge in (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        readout = Ridge(ridge=ridge)
        readout.fit(states[100 : len(train) - 1], u[101 : len(train)])
        weights, intercept = np.asarray(readout.Wout).reshape(-1), float(np.asarray(readout.bias).reshape(-1)[0])

        def forecast(past: np.ndarray, steps: int, weights: Any = weights, intercept: float = intercept) -> np.ndarray:
            state, out = states[len(past) - 1], []
            for _ in range(steps):
                out.append(float(state @ weights) + intercept)
                state = (1 - leak) * state + leak * np.tanh(W @ state + into[:, 0] * out[-1] + bias)
            return np.array(out)

        errors.append(free_run_error(forecast, series, starts))
    return float(np.nanmin(errors))


# Series


def series(folder: Path) -> Iterator[Row]:
    """Published splits of four UCR sets: echo state features and a ridge classifier, against 1-NN with warping."""
    import pyarrow.parquet as pq

    won, scores = 0, []
    for name in SERIES:
        path = folder / f"{name}.parquet"
        if not path.exists():
            yield Row("series", f"{name} is not there", "", None)
            return
        table = pq.read_table(path)
        X = np.array(table["series"].to_pylist(), dtype=float)
        y = np.array(table["class"].to_pylist())
        train = np.array(table["split"].to_pylist()) == "train"
        ours = echo_state_accuracy(X[train], y[train], X[~train], y[~train])
        peer = nearest_by_warping(X[train], y[train], X[~train], y[~train])
        won += ours > peer
        scores.append(f"{name[4:]} {ours:.3f} : {peer:.3f}")
        yield Row("series", f"{name}: accuracy less that of the peer", "1-NN DTW", ours - peer, "")
    yield Row("series", "sets on which ours is better", "1-NN DTW", float(won), "", at_least=2, floor="; ".join(scores))


def echo_state_accuracy(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import gramian as gm

    model = make_pipeline(
        gm.EchoStateFeatures(300, spectral_radius=0.95), StandardScaler(), RidgeClassifierCV(np.logspace(-2, 4, 7))
    )
    grid = {
        "echostatefeatures__pool": ["mean", "model"],
        "echostatefeatures__leak": [0.1, 0.3, 1.0],
        "echostatefeatures__input_scaling": [0.1, 1.0],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(model, grid, cv=5).fit(X, y)
        return float(search.score(new, truth))


def nearest_by_warping(X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
    import gramian as gm

    D = gm.pairwise_distances(list(np.concatenate([new, X])), metric="dtw")
    return float((y[D[: len(new), len(new) :].argmin(axis=1)] == truth).mean())


# Spikes


def spikes(_: Path) -> Iterator[Row]:
    """Two spike patterns with as many spikes a channel, each spike moved by some milliseconds."""
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.model_selection import cross_val_score

    import gramian as gm

    rng = np.random.default_rng(0)
    times = [[rng.choice(300, 6, replace=False) for _ in range(8)] for _ in range(2)]
    labels = rng.integers(0, 2, 300)
    trains = np.zeros((300, 300, 8))
    for k, label in enumerate(labels):
        for channel, pattern in enumerate(times[label]):
            moved = np.clip(pattern + np.rint(rng.normal(0, 4, 6)).astype(int), 0, 299)
            np.add.at(trains[k, :, channel], moved, 1.0)
    readout = RidgeClassifierCV(np.logspace(-3, 3, 7))
    features = gm.LiquidStateFeatures(300, encoding="spikes", pool="mean").fit_transform(trains)
    liquid = cross_val_score(readout, features, labels, cv=5).mean()
    rate = cross_val_score(readout, trains.sum(axis=1), labels, cv=5).mean()
    yield Row("spikes", "accuracy of a liquid of 300 units", "spike counts", float(liquid), "", at_least=0.95,
              floor=f"counts {rate:.3f}")  # fmt: skip
