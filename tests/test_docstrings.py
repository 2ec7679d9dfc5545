"""Public docstrings are complete: what they list is what there is, and they show it at work.

A docstring is read as numpydoc would read it. The parameters it documents are exactly those of the signature, in that order;
the attributes it documents are there after a fit, and every attribute that a fit sets is documented.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import gramian as gm
from gramian.estimators.registry import METHODS
from gramian.estimators.spine.estimator import is_public

HEADINGS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples")

ESTIMATORS = {method.class_name: method.estimator for method in METHODS}
FUNCTIONS = {
    name: getattr(gm, name)
    for name in sorted(gm.__all__)
    if inspect.isfunction(getattr(gm, name)) and getattr(gm, name).__module__.startswith("gramian.")
}
MOMENTS = {
    name: member
    for name, member in inspect.getmembers(gm.Moments)
    if not name.startswith("_") and (inspect.isfunction(member) or inspect.ismethod(member)) and member.__doc__
}


def sections(text: str | None) -> dict[str, str]:
    """Return the text under each heading of a docstring."""
    lines = inspect.cleandoc(text or "").split("\n")
    starts = [
        k for k in range(len(lines) - 1) if lines[k] in HEADINGS and re.fullmatch(r"-+", lines[k + 1])
    ]  # fmt: skip
    ends = [*starts[1:], len(lines)]
    return {lines[k]: "\n".join(lines[k + 2 : end]) for k, end in zip(starts, ends, strict=False)}


def entries(section: str) -> list[str]:
    """Return the names that a section of parameters or attributes documents, in order."""
    heads = [line for line in section.split("\n") if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(" : ")[0].split(",")]


def signature_of(function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def fitted(name: str):
    """Return the estimator fitted with defaults on a small table with classes."""
    rng = np.random.default_rng(0)
    n = 60
    kind = rng.integers(0, 3, n)
    frame = pd.DataFrame({
        "color": np.array(["red", "blue", "green"])[(kind + rng.integers(0, 2, n)) % 3],
        "size": rng.normal(size=n) + kind,
        "weight": rng.normal(size=n),
    })  # fmt: skip
    method = ESTIMATORS[name]
    y = np.array(["a", "b", "c"])[kind]
    if name in ("ClassicalMDS", "MDSFDA"):
        D = gm.pairwise_distances(frame[["size", "weight"]].to_numpy())
        return method().fit(D, y)
    if name in ("EchoStateFeatures", "LiquidStateFeatures"):
        return method(n_reservoir=10, random_state=0).fit([rng.normal(size=(12, 2)) for _ in range(4)])
    if name == "EchoStateRegressor":
        return method(n_reservoir=10, random_state=0).fit(rng.normal(size=(60, 1)))
    if name in ("TSNEMap", "UMAPMap"):
        return method(random_state=0).fit(frame)
    if name == "SparseCoder":
        return method(np.eye(2)).fit(frame[["size", "weight"]])
    if name == "NMF":
        return method().fit(frame[["size", "weight"]].abs())
    if name == "GLM":
        return method().fit(frame, kind)
    if name == "LogisticRegression":
        return method(alpha=1.0).fit(frame, y)
    try:
        return method().fit(frame, y)
    except (TypeError, ValueError):
        return method().fit(frame[["size", "weight"]], rng.normal(size=n))


@pytest.fixture(scope="module")
def model_of(umap_stays_at_its_start):
    return cache(fitted)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
class TestEstimator:
    def test_every_section_is_there(self, name):
        found = sections(ESTIMATORS[name].__doc__)
        wanted = {"Parameters", "Attributes", "See Also", "References", "Examples"}
        assert wanted - found.keys() == set()
        assert all(found[heading].strip() for heading in wanted)

    def test_parameters_are_those_of_the_constructor(self, name):
        found = sections(ESTIMATORS[name].__doc__)
        assert entries(found["Parameters"]) == signature_of(ESTIMATORS[name].__init__)

    def test_attributes_are_those_that_a_fit_sets(self, name, model_of):
        model = model_of(name)
        section = sections(ESTIMATORS[name].__doc__)["Attributes"]
        documented = entries(section)
        # What is there for some parameters or inputs alone says so in its first word.
        sometimes = entries("\n".join(re.findall(r"^(\S.*)\n +Only ", section, re.MULTILINE)))
        assert [each for each in documented if each not in sometimes and not hasattr(model, each)] == []
        stored = {each for each in vars(model) if is_public(each)}
        computed = {
            each
            for each, member in inspect.getmembers(type(model), lambda m: isinstance(m, property))
            if is_public(each) and not each.startswith("_")
        }
        assert sorted((stored | computed) - set(documented)) == []
        assert len(documented) == len(set(documented))

    def test_the_example_fits(self, name):
        example = sections(ESTIMATORS[name].__doc__)["Examples"]
        assert ">>>" in example
        assert re.search(rf"\b{name}\(", example)

    def test_methods_are_documented(self, name):
        for method, member in inspect.getmembers(ESTIMATORS[name], inspect.isfunction):
            if method.startswith("_") or not member.__module__.startswith("gramian."):
                continue
            assert inspect.getdoc(member), method
            own = sections(member.__doc__)
            if "Parameters" in own:
                assert set(entries(own["Parameters"])) == set(signature_of(member)), method


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_what_they_take_and_give(name):
    found = sections(FUNCTIONS[name].__doc__)
    assert entries(found.get("Parameters", "")) == signature_of(FUNCTIONS[name])
    assert ">>>" in found.get("Examples", "")
    gives = inspect.signature(FUNCTIONS[name]).return_annotation
    assert gives == "None" or found.get("Returns", "").strip()


@pytest.mark.parametrize("name", MOMENTS)
def test_methods_of_moments_document_what_they_take_and_give(name):
    found = sections(MOMENTS[name].__doc__)
    assert entries(found.get("Parameters", "")) == signature_of(MOMENTS[name])
    assert ">>>" in found.get("Examples", "")
    gives = inspect.signature(MOMENTS[name]).return_annotation
    assert gives == "None" or found.get("Returns", "").strip()


@pytest.mark.parametrize("name", sorted(gm.__all__))
def test_every_public_name_says_what_it_is(name):
    member = getattr(gm, name)
    if inspect.ismodule(member) or isinstance(member, str):
        return
    first = inspect.cleandoc(member.__doc__ or "").split("\n\n")[0]
    assert first
    assert first.endswith((".", "?")) or not issubclass(type(member), type)


def test_estimators_are_those_of_scikit_learn():
    assert all(issubclass(kind, BaseEstimator) for kind in ESTIMATORS.values())


def test_the_reader_reads_a_docstring_as_numpydoc_does():
    text = """Say what.

    Parameters
    ----------
    a, b : int
        Two.
    *rest
        More.

    Returns
    -------
    int
    """
    assert entries(sections(textwrap.dedent(text))["Parameters"]) == ["a", "b", "rest"]
    assert sections(text)["Returns"] == "int"
