"""One table of methods: every public estimator is in it, and what it says of each is read off the class."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.registry import METHODS, Method, estimator_class, find_method, method_names


def test_every_public_estimator_is_a_method():
    public = {name for name in gm.__all__ if isinstance(getattr(gm, name), type)}
    estimators = {name for name in public if issubclass(getattr(gm, name), BaseEstimator)}
    for name in estimators:
        assert estimator_class(name) is getattr(gm, name)


def test_no_name_stands_for_two_methods():
    names = [name for method in METHODS for name in (method.name, method.class_name.lower(), *method.aliases)]
    # A class may be called like its method.
    assert sum(names.count(name) > 1 for name in set(names)) == sum(
        method.name == method.class_name.lower() for method in METHODS
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    {
        "lda": "fisher",
        "klt": "pca",
        "mca": "pca",
        "famd": "pca",
        "mfe": "mahalanobis",
        "dpce": "density",
        "target-encoding": "target-encoding",
        "jointtargetencoder": "target-encoding",
        "MDSFDA": "mdsfda",
        "FisherDiscriminant": "fisher",
        "oja": "hebbian",
        "gha": "hebbian",
        "fastica": "ica",
    }.items(),
)
def test_what_people_search_for_resolves(asked, found):
    assert find_method(asked).name == found


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(DataError, match="did you mean 'mahalanobis'"):
        find_method("mahalonobis")
    with pytest.raises(DataError, match="there are pca, whitening"):
        find_method("qqqqqq")


def test_capabilities_are_those_of_the_class():
    assert [m.name for m in METHODS if m.detects] == ["density"]
    assert [m.name for m in METHODS if m.predicts] == [
        "fisher",
        "additive",
        "additive-regression",
        "ridge",
        "logistic",
        "poisson",
        "mdsfda",
        "elm",
        "elm-regressor",
        "echo-state-regressor",
        "vq",
    ]
    assert [m.name for m in METHODS if m.takes_distances] == ["mds", "mdsfda"]
    supervised = {
        "fisher",
        "additive",
        "additive-regression",
        "ridge",
        "logistic",
        "poisson",
        "mahalanobis",
        "target-encoding",
        "mdsfda",
        "elm",
        "elm-regressor",
    }
    selectors = {"pearson", "mutual-information", "independence", "mrmr", "forward", "rfe", "lasso"}
    assert {m.name for m in METHODS if m.needs_target} == supervised | selectors
    of_rows = {"mds", "mdsfda", "tsne", "umap", "random", "elm", "elm-regressor"}
    of_rows |= {"echo-state", "echo-state-regressor", "liquid-state", "hebbian", "autoencoder", "ica"}
    of_rows |= {"additive", "additive-regression", "logistic", "poisson", "sparse-coding", "dictionary", "vq", "nmf"}
    assert {m.name for m in METHODS if m.takes_moments} == set(method_names()) - of_rows


def test_every_method_says_what_it_is():
    for method in METHODS:
        assert method.summary.endswith(".")
        assert set(method.parameters) == set(method.estimator(**method.parameters).get_params(deep=False))


def test_a_method_added_later_needs_no_second_entry(monkeypatch):
    monkeypatch.setattr(gm, "PlainFeatures", PlainFeatures, raising=False)
    added = Method("plain", "PlainFeatures")
    assert added.summary == "Features as they are."
    assert added.parameters == {"dictionary": None, "scale": 2.0}
    assert (added.takes_moments, added.needs_target, added.transforms, added.predicts) == (False, False, True, False)


class PlainFeatures(BaseEstimator):
    """Features as they are.

    More words.
    """

    def __init__(self, dictionary, scale=2.0):
        self.dictionary = dictionary
        self.scale = scale

    def transform(self, X):
        return X


def test_names_are_known_without_loading_an_estimator():
    code = (
        "import sys; from gramian.estimators.registry import find_method, method_names; "
        "find_method('lda'); method_names(); print('sklearn' in sys.modules, 'numpy' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]


def test_a_name_may_stand_for_parameters_too():
    assert find_method("Sanger").preset == {"rule": "sanger"}
    assert find_method("hebbian").preset == {}
    for method in METHODS:
        assert set(method.presets) <= set(method.aliases)
        for preset in method.presets.values():
            assert set(preset) <= set(method.parameters)
