"""Every estimator declares what its parameters may be, and refuses anything else before it looks at data."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.registry import METHODS
from gramian.parameters import check, parameters_of

WRONG = [object(), "no such word", -1, float("nan")]
ANY_TEXT = {"dictionary", "include", "offset", "exposure"}
"""Parameters that a text may name a file or a column in: nobody knows before data is read."""
BELOW_ZERO = {"include", "n_jobs", "beta_loss", "MutualInformationFilter-threshold"}
"""Parameters that may be -1."""


class Untouched:
    """Rows that nobody may look at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} of the data was looked at")


def parameters(known: type) -> list[str]:
    return list(inspect.signature(known).parameters)


EVERY = [(known, name) for known in (method.estimator for method in METHODS) for name in parameters(known)]
each_parameter = pytest.mark.parametrize(("known", "name"), EVERY, ids=[f"{k.__name__}-{name}" for k, name in EVERY])


def refused(value: Any, allowed: tuple[object, ...]) -> bool:
    try:
        check("value", value, *allowed)
    except DataError:
        return True
    return False


@each_parameter
def test_every_parameter_is_declared_and_its_default_is_allowed(known, name):
    check(name, inspect.signature(known).parameters[name].default, *parameters_of(known)[name])


@each_parameter
def test_what_is_not_allowed_is_refused_before_data_is_read(known, name):
    wrong = [value for value in WRONG if refused(value, parameters_of(known)[name])]
    assert wrong[0] is WRONG[0]
    assert name == "metric" or (WRONG[1] in wrong) == (name not in ANY_TEXT)
    assert (-1 in wrong) == (not {name, f"{known.__name__}-{name}"} & BELOW_ZERO)
    assert wrong[-1] is WRONG[-1]
    for value in wrong:
        for method in {"fit", "fit_transform", "partial_fit"} & set(dir(known)):
            model = known(**{name: value})
            with pytest.raises(DataError, match=rf"^{re.escape(name)} is [^\n]*; got [^\n]*$"):
                getattr(model, method)(Untouched(), Untouched())


def test_a_metric_that_does_not_exist_is_refused_before_data_is_read():
    for known in (gm.ClassicalMDS, gm.MDSFDA):
        with pytest.raises(DataError, match="there is no metric 'cosin'; did you mean 'cosine'"):
            known(metric="cosin").fit(Untouched(), Untouched())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        *(
            (gm.PCA(n), "n_components is None, a whole number from 1, a share")
            for n in (0, True, 1.0, 1.5, 0.0, "knee", [2])
        ),
        *(
            (gm.HebbianPCA(learning_rate=r), "learning_rate is 'auto' or a number above 0")
            for r in (0, np.inf, True, None)
        ),
        (gm.NeuralICA(schedule="cosine"), "schedule is 'constant', '1/t' or 'robbins-monro'; got 'cosine'"),
        *((gm.NMF(beta_loss=b), "beta_loss is 'frobenius', .* or a number; got") for b in ("l1", None, True)),
        (gm.RandomFeatures(activation="softplus"), "None, 'tanh', 'sigmoid', 'relu', 'step' or 'cos'; got 'softplus'"),
        (gm.ELMRegressor(projection="rademacher"), "projection is 'gaussian', 'uniform', 'sparse' or 'hadamard'"),
        *((gm.RandomFeatures(scale=s), "scale is a number above 0; got") for s in (0, np.inf)),
        (
            gm.RandomFeatures(weights=np.ones(3)),
            r"weights is None or a matrix of finite numbers; got an array of shape \(3,\)",
        ),
        (gm.VarianceFilter(include=[1.5]), r"include is None or a name or position of a column, .*; got \[1.5\]"),
        *(
            (gm.FisherDiscriminant(shrinkage=s), "shrinkage is None, 'auto', 'cv' or a number")
            for s in ("oas", 1.1, True)
        ),
        *((gm.RandomFeatures("auto", eps=e), "eps is a number between 0 and 1; got") for e in (0, 1, -0.1, None, True)),
        *((gm.DictionaryLearner(n_nonzero=n), "n_nonzero is None or a whole number from 1") for n in (0, 2.0)),
        (gm.PCA(categorical_features="some"), "'all', None or names, positions or a mask of columns; got 'some'"),
        (gm.ClassicalMDS(n_jobs=0), "n_jobs is None or a whole number other than 0; got 0"),
    ],
)
def test_bounds_and_words_are_those_declared(model, words):
    with pytest.raises(DataError, match=words):
        model.fit(Untouched(), Untouched())


@pytest.mark.parametrize("known", [method.estimator for method in METHODS], ids=lambda known: known.__name__)
def test_words_in_docstrings_are_those_declared(known):
    described = dict(re.findall(r"^(\w+) : (.*)$", inspect.getdoc(known).split("Attributes\n")[0], re.M))
    for name, allowed in parameters_of(known).items():
        words = {word for word in allowed if isinstance(word, str)} | (
            {"float32", "float64"} if name == "dtype" else set()
        )
        listed = set(re.findall(r'"([^"]+)"', described.get(name, "")))
        if listed or (len(words) > 1 and name in described):
            assert listed == words, name
