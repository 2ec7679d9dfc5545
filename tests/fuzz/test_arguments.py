"""Odd arguments, each named by a line of this package: those that once raised what numpy or Python say of their insides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError, MemoryLimitError

from .arguments import PLAIN, ROWS, TARGETS, VALUES, WEIGHTS, Arguments, X, Y, judged

ODD = [
    ("ClassicalMDS", {}, "a list of dicts", "dict"),
    ("ClassicalMDS", {}, "rows of dates", "datetime"),
    ("MDSFDA", {}, "frame: dates", "column 'a'"),
    ("MDSFDA", {}, "frame: lists", r"\[1, 2\] in row 0, column 'a'"),
    ("ClassicalMDS", {}, "frame: same names", "asked for twice"),
    ("ClassicalMDS", {}, "frame: no columns", "no columns"),
    ("EchoStateFeatures", {}, "rows of dicts", "row 0, column 0"),
    ("EchoStateRegressor", {}, "frame: texts", "'u' in row 0, column 'a'"),
    ("LiquidStateFeatures", {}, "objects: a date", "row 3, column 1"),
    ("NMF", {}, "objects: a dict", "row 3, column 1"),
    ("DictionaryLearner", {}, "objects: a list", r"\[1, 2\] in row 3, column 1"),
]


def fitted(name: str, rows: Any, target: Any, *, parameters: dict[str, Any] | None = None, **given: Any) -> Any:
    known = getattr(gm, name)
    plain = {key: value for key, value in PLAIN.items() if key in known().get_params()}
    return known(**{**plain, **(parameters or {})}).fit(rows, target, **given)


@pytest.mark.parametrize(("name", "parameters", "rows", "words"), ODD)
def test_a_value_that_is_not_a_number_is_named_with_its_place(name, parameters, rows, words):
    with pytest.raises(DataError, match=words) as caught:
        fitted(name, ROWS[rows](), Y, parameters=parameters)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["FisherDiscriminant", "MahalanobisFeatures", "PearsonFilter", "ELMClassifier"])
@pytest.mark.parametrize(
    ("target", "words"),
    [("huge integers", "64 bits"), ("huge and small", "64 bits"), ("lists", "unequal lengths")],
)
def test_odd_targets_are_refused_in_one_line(name, target, words):
    with pytest.raises(DataError, match=words):
        fitted(name, X, TARGETS[target]())


@pytest.mark.parametrize("name", ["FisherDiscriminant", "MahalanobisFeatures", "PearsonFilter", "ELMClassifier"])
def test_a_target_of_long_doubles_is_read(name):
    np.testing.assert_allclose(
        fitted(name, X, Y.astype(np.longdouble)).transform(X)
        if name != "ELMClassifier"
        else fitted(name, X, Y.astype(np.longdouble)).predict(X),
        fitted(name, X, Y.astype(float)).transform(X)
        if name != "ELMClassifier"
        else fitted(name, X, Y.astype(float)).predict(X),
    )


@pytest.mark.parametrize("name", ["HebbianPCA", "LinearAutoencoder", "VectorQuantizer", "NMF", "DensityEmbedding"])
@pytest.mark.parametrize("weights", ["texts", "dicts", "dates", "nested", "a generator"])
def test_odd_weights_are_refused_in_one_line(name, weights):
    with pytest.raises(DataError, match="sample_weight"):
        fitted(name, X, Y, sample_weight=WEIGHTS[weights]())


@pytest.mark.parametrize("name", ["HebbianPCA", "LinearAutoencoder", "VectorQuantizer", "NMF"])
@pytest.mark.parametrize("weights", ["huge", "tiny"])
def test_weights_whose_total_leaves_floats_are_refused(name, weights):
    with pytest.raises(DataError, match="sample_weight adds up to"):
        fitted(name, X, Y, sample_weight=WEIGHTS[weights]())


@pytest.mark.parametrize("name", ["PCA", "HebbianPCA", "LinearAutoencoder", "VectorQuantizer", "NMF"])
def test_a_column_of_weights_that_holds_text_is_named(name):
    with pytest.raises(DataError, match=r"weight column 'a' holds text; weights must be numbers"):
        fitted(name, ROWS["frame: texts"](), Y, sample_weight="a")


@pytest.mark.parametrize(
    ("name", "parameter", "value", "words"),
    [
        ("PCA", "categorical_features", "3", "categorical_features is 'from_dtype', 'all', .*; got 3"),
        ("PCA", "categorical_features", "True", "categorical_features is .*mask of columns; got True"),
        ("HebbianPCA", "categorical_features", "a list of lists", "categorical_features is"),
        ("ClassicalMDS", "dtype", "3", "dtype is 'float32', 'float64' or None; got 3"),
        ("ClassicalMDS", "metric", "a list", r"metric is .*; got \[1\]"),
        ("ClassicalMDS", "correction", "an array", "correction is"),
        ("MDSFDA", "priors", "a dict", "priors is"),
        ("HebbianPCA", "init", "a text", "init is"),
        ("HebbianPCA", "rule", "an array", "rule is"),
        ("NMF", "random_state", "-1", "random_state is None, a seed from 0"),
        ("NMF", "random_state", "10**30", "random_state is None, a seed from 0"),
        ("HebbianPCA", "random_state", "-1", "random_state is None, a seed from 0"),
        ("PearsonFilter", "target_type", "an array", "target_type is"),
        ("PCA", "scale", "a frame", "scale is"),
        ("NMF", "n_components", "10**30", "beyond 2147483647"),
        (
            "ELMRegressor",
            "n_hidden",
            "10**30",
            "n_hidden is a whole number from 1 or a tuple .*, which is beyond 2147483647",
        ),
        ("EchoStateFeatures", "input_scaling", "1e308", "input_scaling is a number .* 1e"),
    ],
)
def test_odd_parameters_are_refused_in_one_line(name, parameter, value, words):
    with pytest.raises(DataError, match=words) as caught:
        fitted(name, X, Y, parameters={parameter: VALUES[value]()})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["HebbianPCA", "LinearAutoencoder", "NeuralICA", "DictionaryLearner"])
@pytest.mark.parametrize("epochs", [10**9, 10**30])
def test_epochs_that_cannot_end_are_refused(name, epochs):
    with pytest.raises(DataError, match="n_epochs is a whole number from 1 to 1000000"):
        fitted(name, X, Y, parameters={"n_epochs": epochs})


def test_memory_that_is_not_there_is_said_in_one_line(monkeypatch):
    def greedy(self: Any) -> None:
        raise MemoryError("Unable to allocate 179. GiB")

    monkeypatch.setattr(gm.PCA, "_solve", greedy)
    with pytest.raises(MemoryLimitError, match="fit of PCA needs more memory than there is: Unable to allocate"):
        gm.PCA().fit(X)


def test_what_numpy_raises_is_no_refusal():
    assert Arguments.used(gm.PCA, {"scale": 3}, X, Y, {}) == "refused"
    assert Arguments.used(gm.PCA, {}, X, Y, {}) == "answered"
    for raw in (lambda: np.zeros(3) + np.zeros(4), lambda: {}["a"], lambda: float("x")):
        try:
            raw()
        except Exception as error:
            with pytest.raises(type(error)):
                judged(error)
