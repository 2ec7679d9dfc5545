"""Every attribute in a file of every estimator, left out or replaced in turn: refused, or harmless in every later use.

A few of the replacements are drawn for each attribute; GRAMIAN_HYPOTHESIS=fuzz tries them all.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
import zlib

import numpy as np
import pytest

import gramian as gm
from gramian.errors import FileFormatError, GramianError
from gramian.estimators.registry import METHODS
from gramian.estimators.spine.files import from_bytes, to_bytes
from gramian.maps import state
from gramian.storage import container

from ...fuzz.subjects import ModelFiles, features, reported, rows, used_again

EVERY = os.environ.get("GRAMIAN_HYPOTHESIS") == "fuzz"
TRIED = 3
"""Replacements of an attribute that are drawn."""


@pytest.fixture(scope="module")
def models(umap_stays_at_its_start, few_tables):
    small = rows().to_pandas().drop(columns="day")
    numbers = small[["cost"]].assign(grade=small["grade"].astype(float))
    filters = [
        gm.PearsonFilter,
        gm.MutualInformationFilter,
        gm.IndependenceFilter,
        gm.MRMRFilter,
        gm.RecursiveEliminator,
    ]
    fitted = [
        *ModelFiles.fitted(rows().to_pandas()),
        *(kind(k=2).fit(small, "cost") for kind in filters),
        gm.VarianceFilter().fit(small),
        gm.RedundancyFilter().fit(small),
        gm.LassoSelector(k=2).fit(small, "cost"),
        gm.HebbianPCA(2, rule="sanger", learning_rate=1e-7, random_state=0).fit(numbers),
        gm.LinearAutoencoder(1, learning_rate=1e-7, random_state=0).fit(numbers),
        gm.MahalanobisFeatures(solver="sgd", ridge=1.0).fit(small, "shape"),
        gm.NMF(n_components=2, random_state=0).partial_fit(numbers),
        gm.ELMRegressor((4, 3), random_state=0).fit(small, ("cost", "grade")),
        gm.ELMClassifier(4, direct_links=True, random_state=0).fit(small, ("shape", "member")),
        gm.Ridge().fit(small, "cost"),
        gm.LogisticRegression(1.0).fit(small, "shape"),
        gm.GLM("gaussian").fit(small, "cost"),
        gm.AdditiveClassifier(crosses=[("shape", "member")]).fit(small, "grade"),
        gm.AdditiveRegressor(crosses=0).fit(small, "cost"),
        gm.Ridge("auto").fit(small, ("cost", "grade")),
        gm.ClassicalMDS(metric="euclidean", n_landmarks=8).fit(numbers),
        gm.TSNEMap(perplexity=5, random_state=0).fit(small),
        gm.UMAPMap(n_neighbors=5, random_state=0).fit(small),
    ]
    assert {type(model).__name__ for model in fitted} == {method.class_name for method in METHODS}
    return fitted


def replacements(value):
    """Yield values of another type or shape, or that are not numbers."""
    yield from (None, "x", -1, 1.5, float("nan"), [], {}, True, [None], np.zeros(0), np.full((1, 1), np.nan), 10**30)
    if isinstance(value, np.ndarray):
        if value.ndim:
            yield value[:-1]
            yield np.concatenate([value, value[-1:]])
            yield value[:, None] if value.ndim == 1 else value.ravel()
            yield value.T[..., None]
        yield value.tolist()
        yield value.astype(object)
        if value.dtype.kind in "iufb":
            yield from (value.astype("f4"), np.nan_to_num(value).astype("i8"), np.full(value.shape, 2**40))
        if value.dtype.kind == "f":
            yield from (np.full(value.shape, np.nan), np.full(value.shape, np.inf), 1e200 * value, -value)
    elif isinstance(value, list | tuple) and value:
        yield from (value[:-1], [*value, value[-1]], [*value[:-1], None], [*value[:-1], float("nan")], value[::-1])
    elif isinstance(value, dict):
        for key in value:
            yield {name: part for name, part in value.items() if name != key}
            yield {**value, key: None}
            yield {**value, key: value[key][:-1] if isinstance(value[key], list | np.ndarray) else [1]}


def cases(held, kind):
    """Yield attributes, without one or with one replaced, and what was done."""
    for name, value in held.items():
        yield f"{kind} without {name}", {key: each for key, each in held.items() if key != name}
        tried = list(replacements(value))
        if not EVERY:
            rng = np.random.default_rng(zlib.crc32(f"{kind}{name}".encode()))
            tried = [tried[k] for k in rng.permutation(len(tried))[:TRIED]]
        for each in tried:
            yield f"{kind} with {name} = {each!r:.80}", {**held, name: each}


def test_a_file_without_or_with_another_value_of_an_attribute_is_refused_or_harmless(models):
    frame, failed, refused, drawn = rows().to_pandas(), [], 0, np.random.default_rng(0)
    for model in models:
        tensors, header = container.read_bytes(to_bytes(model), "a model")
        header = {key: text for key, text in header.items() if key not in ("checksum", "format", "format_version")}
        parameters = {name: array for name, array in tensors.items() if name.startswith("parameters")}
        held = state.unpack(json.loads(header["state"]), tensors)
        for words, changed in cases(held, type(model).__name__):
            arrays = dict(parameters)
            described = json.dumps(state.pack(changed, arrays, "state"))
            data = container.write_bytes(arrays, {**header, "state": described})
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    loaded = from_bytes(data)
                except FileFormatError as error:
                    refused += "\n" not in str(error)
                    continue
                try:
                    used(loaded, frame, report=EVERY or drawn.random() < 0.05)
                except Exception as error:
                    failed.append(f"{words}: {type(error).__name__}: {str(error)[:100]}")
    assert not failed, "\n".join(failed)
    # Most of them: otherwise nothing was harmed.
    assert refused > 500


def used(model, frame, *, report):
    """Ask a model for all that it does; what it refuses in words is fine."""
    if not isinstance(model, gm.TSNEMap | gm.UMAPMap):
        with contextlib.suppress(GramianError):
            features(model, frame)
    used_again(model, frame)
    if report:
        reported(model, frame)
