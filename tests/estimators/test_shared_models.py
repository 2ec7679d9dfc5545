"""One model used by many threads and processes at once: the same answers, no errors, nothing that hangs."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError

N_THREADS = 16


def frame(n=300):
    rng = np.random.default_rng(5)
    color = rng.choice(["red", "green", "blue"], n)
    return pd.DataFrame(
        {
            "color": color,
            "shape": rng.choice(["disc", "box"], n),
            "size": rng.normal(size=n) + (color == "red"),
            "cost": rng.normal(size=n),
        }
    )


MODELS = {
    "pca": (lambda: gm.PCA(n_components=2), None, ("transform", "components_", "explained_variance_")),
    "whitening": (gm.Whitening, None, ("transform", "design_names_")),
    "fisher": (gm.FisherDiscriminant, "shape", ("transform", "predict", "coef_")),
    "mahalanobis": (gm.MahalanobisFeatures, "shape", ("transform", "statistic_")),
    "density": (lambda: gm.DensityEmbedding(n_components=2), None, ("transform", "anomaly_score", "offset_")),
    "selection": (lambda: gm.ForwardSelector(), "shape", ("transform", "ranking_")),
    "elm": (lambda: gm.ELMClassifier(n_hidden=20, random_state=0), "shape", ("predict", "coef_")),
}


def trained(make, target):
    model, data = make(), frame()
    for part in (data.iloc[:150], data.iloc[150:]):
        model.partial_fit(part, target) if target else model.partial_fit(part)
    return model


def ask(model, data, name):
    found = getattr(model, name)
    return np.asarray(found(data) if callable(found) else found)


def at_once(calls):
    """Call functions in a thread each, all of them let go at the same instant; return results or exceptions."""
    gate = threading.Barrier(len(calls))

    def run(call):
        gate.wait(60)
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.parametrize("kind", MODELS)
def test_threads_that_ask_first_all_get_the_solution(kind):
    """Of 80 calls 70 raised: while one thread solved, the others found a model that was neither solved nor unsolved."""
    make, target, names = MODELS[kind]
    data = frame() if target is None else frame().drop(columns=target)
    expected = {name: ask(trained(make, target), data, name) for name in names}
    for _ in range(3):
        model = trained(make, target)
        asked = [names[k % len(names)] for k in range(N_THREADS)]
        found = at_once([partial(ask, model, data, name) for name in asked])
        assert [each for each in found if isinstance(each, Exception)] == []
        for name, each in zip(asked, found, strict=True):
            np.testing.assert_array_equal(each, expected[name])


def test_rows_added_while_others_ask_are_not_lost():
    data = frame()
    model = gm.PCA(n_components=1).fit(data)
    parts = [data.iloc[k * 50 : (k + 1) * 50] for k in range(6)]
    stop = threading.Event()
    errors = []

    def ask_on():
        while not stop.is_set():
            try:
                model.transform(data.iloc[:5])
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=ask_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    for part in parts:
        model.partial_fit(part)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert model.moments_.n_rows == 600
    expected = gm.PCA(n_components=1).fit(pd.concat([data, *parts]))
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-9, atol=1e-12)


LEARNERS = {
    "pca": (gm.PCA, lambda m: m.moments_.n_rows),
    "whitening": (gm.Whitening, lambda m: m.moments_.n_rows),
    "density": (gm.DensityEmbedding, lambda m: m.moments_.n_rows),
    "fisher": (gm.FisherDiscriminant, lambda m: m.moments_.n_rows),
    "mahalanobis": (gm.MahalanobisFeatures, lambda m: m.moments_.n_rows),
    "selection": (gm.ForwardSelector, lambda m: m.moments_.n_rows),
    "elm": (lambda: gm.ELMClassifier(n_hidden=5, random_state=0), lambda m: m.moments_.n_rows),
    "elm regressor": (lambda: gm.ELMRegressor(n_hidden=5, random_state=0), lambda m: m.moments_.n_rows),
    "hebbian": (lambda: gm.HebbianPCA(2, rule="sanger", random_state=0), lambda m: m.n_samples_seen_),
    "autoencoder": (lambda: gm.LinearAutoencoder(2, random_state=0), lambda m: m.n_samples_seen_),
    "ica": (lambda: gm.NeuralICA(2, random_state=0), lambda m: m.moments_.n_rows),
    "dictionary": (lambda: gm.DictionaryLearner(2, n_nonzero=1, random_state=0), lambda m: m.sums_.weight),
    "nmf": (lambda: gm.NMF(2, random_state=0), lambda m: m._rows_seen),
    "quantizer": (lambda: gm.VectorQuantizer(2, random_state=0), lambda m: m.uses_.sum()),
}


# How rows are added one call at a time is of the base classes: one learner of each is enough for the ways to a copy.
@pytest.mark.parametrize(
    ("kind", "how"),
    [*((kind, "fresh") for kind in LEARNERS), *product(["pca", "elm", "hebbian", "dictionary"], ["copied", "pickled"])],
)
def test_rows_that_several_threads_add_are_all_counted(kind, how):
    """8 threads x 5 calls of 60 rows: PCA counted 360 of 2,400, and HebbianPCA raised KeyError."""
    make, rows_of = LEARNERS[kind]
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(60, 3)))
    y = np.arange(60) % 2
    model, before = make(), 0
    if how != "fresh":
        model.partial_fit(X, y)
        before = 60
        model = copy.copy(model) if how == "copied" else pickle.loads(pickle.dumps(model))

    def add():
        for _ in range(5):
            model.partial_fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = at_once([add] * 8)
    assert [each for each in found if isinstance(each, Exception)] == []
    assert round(float(rows_of(model))) == before + 8 * 5 * 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_adds_rows_although_a_thread_of_its_parent_was_adding_some(in_child):
    data = frame()
    model = gm.PCA(n_components=1).fit(data)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            model.partial_fit(data)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def child():
        rows = model.moments_.n_rows
        assert model.partial_fit(data).moments_.n_rows == rows + 300

    try:
        for _ in range(2):
            time.sleep(0.02)
            assert in_child(child) == 0
    finally:
        stop.set()
        thread.join()


def test_a_solution_that_fails_fails_for_all_and_leaves_the_rows():
    model = gm.PCA(n_components=1).partial_fit(frame().iloc[:1])
    found = at_once([partial(model.transform, frame().iloc[:2])] * N_THREADS)
    assert all(isinstance(each, DataError) for each in found)
    model.partial_fit(frame())
    assert model.transform(frame().iloc[:2]).shape == (2, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("kind", ["pca", "density"])
def test_a_child_forked_off_while_threads_work_does_not_hang(kind, in_child):
    make, target, _ = MODELS[kind]
    data, stop = frame(), threading.Event()
    expected = trained(make, target).transform(data)

    def work():
        while not stop.is_set():
            # A new model each time, so that what is computed once is being computed when the fork comes.
            trained(make, target).transform(data)

    def child():
        np.testing.assert_array_equal(trained(make, target).transform(data), expected)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2):
            time.sleep(0.02)
            assert in_child(child) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_spawned_process_takes_an_unsolved_model():
    import pickle

    model = trained(*MODELS["pca"][:2])
    expected = trained(*MODELS["pca"][:2]).transform(frame())
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        # By name from numpy and pickle: a spawned process cannot import this file.
        found = pool.apply(pickle.loads, (pickle.dumps(model),))
    np.testing.assert_array_equal(found.transform(frame()), expected)
    assert "_unsolved" not in vars(found)
    assert vars(model)["_unsolved"]


def test_loky_gives_the_same():
    joblib = pytest.importorskip("joblib")
    model, data = trained(*MODELS["pca"][:2]), frame()
    expected = trained(*MODELS["pca"][:2]).transform(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(model.transform)(data) for _ in range(4))
    for each in found:
        np.testing.assert_array_equal(each, expected)


def test_dask_gives_the_same():
    dask = pytest.importorskip("dask")
    model, data = trained(*MODELS["density"][:2]), frame()
    expected = trained(*MODELS["density"][:2]).transform(data)
    tasks = [dask.delayed(model.transform)(data) for _ in range(N_THREADS)]
    for each in dask.compute(*tasks, scheduler="threads", num_workers=N_THREADS):
        np.testing.assert_array_equal(each, expected)
