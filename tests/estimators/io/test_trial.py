"""A model from a file is tried on a row before it is handed over; models that are sound pass, whatever their family."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gramian as gm
from gramian.errors import FileFormatError
from gramian.estimators.io.trial import try_out
from gramian.storage import container

NUMBERS = ["size", "cost"]
SOUND = {
    "pca": lambda f: gm.PCA(n_components=2).fit(f),
    "pca of numbers": lambda f: gm.PCA().fit(f[NUMBERS].to_numpy()),
    "whitening": lambda f: gm.Whitening().fit(f),
    "fisher": lambda f: gm.FisherDiscriminant().fit(f, "kind"),
    "mahalanobis": lambda f: gm.MahalanobisFeatures().fit(f, "kind"),
    "joint": lambda f: gm.JointTargetEncoder().fit(f, "cost"),
    "density": lambda f: gm.DensityEmbedding().fit(f),
    "selection": lambda f: gm.ForwardSelector().fit(f, "kind"),
    "variance": lambda f: gm.VarianceFilter().fit(f),
    "random": lambda f: gm.RandomFeatures(n_components=3, random_state=0).fit(f),
    "elm": lambda f: gm.ELMClassifier(n_hidden=10, random_state=0).fit(f, "kind"),
    "nmf": lambda f: gm.NMF(n_components=2, random_state=0).fit(f[NUMBERS].abs().fillna(1.0)),
    "dictionary": lambda f: gm.DictionaryLearner(3, random_state=0).fit(f[NUMBERS].fillna(0.0)),
    "quantizer": lambda f: gm.VectorQuantizer(3, random_state=0).fit(f[NUMBERS].fillna(0.0)),
    "states": lambda f: gm.EchoStateFeatures(10, random_state=0).fit([f[NUMBERS].fillna(0.0).to_numpy()]),
    "distances": lambda f: gm.ClassicalMDS(metric="gower").fit(f.iloc[:20]),
}


@pytest.mark.parametrize("kind", SOUND)
def test_sound_models_pass_and_come_back_from_a_file(mixed, tmp_path, kind):
    model = SOUND[kind](mixed)
    try_out(model)
    gm.save(model, tmp_path / "m")
    assert type(gm.load(tmp_path / "m")) is type(model)


def changed(tmp_path, model, change):
    """Return a file of a model whose state was changed, with the checksum written anew."""
    gm.save(model, tmp_path / "m")
    tensors, header = container.read(tmp_path / "m")
    state = json.loads(header["state"])
    change(state["dict"], tensors)
    container.write(tmp_path / "m", tensors, {**header, "state": json.dumps(state)})
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("pca", lambda s, t: s.pop("projection_"), "projection_"),
        ("pca", lambda s, t: s.update(projection_={"list": []}), "projection_|design"),
        ("pca", lambda s, t: t["state.projection_.weights"].fill(np.nan), "do not fit"),
        ("pca", lambda s, t: s.update(n_features_in_=True), "number of columns"),
        ("pca", lambda s, t: t["state.projection_.design.mean"].fill(np.nan), "do not fit"),
        ("density", lambda s, t: s.update(feature_names_in_=-1), "names of its 6 columns"),
        ("density", lambda s, t: s.pop("_counts"), "its counts"),
        ("distances", lambda s, t: t["state.weights_"].fill(np.inf), "do not fit"),
    ],
)
def test_models_that_cannot_take_a_row_are_refused(mixed, tmp_path, kind, change, words):
    path = changed(tmp_path, SOUND[kind](mixed), change)
    with pytest.raises(FileFormatError, match=words) as caught:
        gm.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_atoms_of_another_type_are_refused(mixed, tmp_path, dtype):
    def change(state, tensors):
        tensors["state.dictionary_"] = tensors["state.dictionary_"].astype(dtype)

    path = changed(tmp_path, SOUND["nmf"](mixed), change)
    with pytest.raises(FileFormatError, match="NMF"):
        gm.load(path)
