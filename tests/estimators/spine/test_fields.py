"""A file is compared with what its estimator declares: sound models pass, and others are refused by the name of a field."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError
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
    "spikes": lambda f: gm.LiquidStateFeatures(27, random_state=0).fit([f[NUMBERS].fillna(0.0).to_numpy()]),
    "forecast": lambda f: gm.EchoStateRegressor(10, random_state=0).fit(f["cost"].fillna(0.0).to_numpy()),
    "rule": lambda f: gm.HebbianPCA(1, random_state=0).fit(f[NUMBERS].fillna(0.0)),
    "words": lambda f: gm.MDSFDA(metric="levenshtein").fit(list("abcabcab"), list("xyzxyzxy")),
    "classes": lambda f: gm.MDSFDA(metric="euclidean").fit(f[NUMBERS].fillna(0.0), f["size"] > 0),
    "distances": lambda f: gm.ClassicalMDS(metric="gower").fit(f.iloc[:20]),
}


@pytest.mark.parametrize("kind", SOUND)
def test_sound_models_pass_and_come_back_from_a_file(mixed, tmp_path, kind):
    model = SOUND[kind](mixed)
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
        ("pca", lambda s, t: s.update(n_features_in_=True), "n_features_in_ is a bool"),
        ("pca", lambda s, t: t["state.projection_.design.mean"].fill(np.nan), "do not fit"),
        ("density", lambda s, t: s.update(feature_names_in_=-1), "feature_names_in_ is a int, not a list of texts"),
        ("density", lambda s, t: s.pop("_counts"), "_counts is missing"),
        ("density", lambda s, t: s.pop("offset_"), "offset_ is missing"),
        ("distances", lambda s, t: t["state.weights_"].fill(np.inf), "weights_"),
        ("words", lambda s, t: s["objects_"].update(list=[1] * len(s["objects_"]["list"])), "MDSFDA"),
        # Loops follow these wherever they lead.
        (
            "spikes",
            lambda s, t: t["state._wiring.1"].__setitem__(0, 2**40),
            "_wiring is a list, not synapses",
        ),
        (
            "spikes",
            lambda s, t: t["state._wiring.0"].__setitem__(1, 2**40),
            "_wiring is a list, not synapses",
        ),
        ("spikes", lambda s, t: t.update({"state._wiring.2": t["state._wiring.2"][:-1]}), "LiquidState"),
        ("states", lambda s, t: t["state._columns"].__setitem__((0, 0), 2**30), "_columns"),
        ("states", lambda s, t: t["state._values"].fill(np.nan), "_values"),
        ("states", lambda s, t: s.update(_width=11), "_width"),
        ("forecast", lambda s, t: t["state._columns"].__setitem__((0, 0), 10), "_columns"),
        ("forecast", lambda s, t: t.update({"state._last_state": t["state._last_state"].astype("f4")}), "_last_state"),
        ("rule", lambda s, t: s.update(_total="many"), "_total is a str, not a finite number"),
        ("rule", lambda s, t: s["_history"]["dict"].update(angle={"list": [{"list": []}, 1]}), "HebbianPCA"),
        ("rule", lambda s, t: s.pop("_history"), "_history is missing"),
        ("rule", lambda s, t: s.pop("_updates"), "_updates is missing"),
        ("rule", lambda s, t: s.update(_columns_in=None), "_columns_in"),
        ("whitening", lambda s, t: s.update(_columns_in=2.5), "_columns_in"),
        ("rule", lambda s, t: s.update(_stopped="no"), "_stopped is a str"),
        ("rule", lambda s, t: s.update(reference_="x"), "reference_"),
        ("dictionary", lambda s, t: s.update(history_=None), "history_"),
        ("classes", lambda s, t: s.update(saturation_=-1), "saturation_"),
        ("pca", lambda s, t: s.update(n_features_in_="1" * 5000), "n_features_in_ is a str"),
        ("pca", lambda s, t: s.update(note_=1), "note_ is not an attribute of a fitted PCA"),
        ("pca", lambda s, t: s.update(transform=1), "transform is not an attribute"),
        ("pca", lambda s, t: s["selection_"]["dict"].pop("cumulative_ratio"), "selection_"),
        (
            "mahalanobis",
            lambda s, t: s.update(p_value_moments_={"float": "nan"}),
            "p_value_moments_ is a float, not one of",
        ),
        ("dictionary", lambda s, t: s.pop("start_"), "start_ is missing"),
        ("elm", lambda s, t: s.update(ridge_={"list": []}), "ridge_ is a list, not a number"),
    ],
)
def test_models_that_cannot_take_a_row_are_refused(mixed, tmp_path, kind, change, words):
    path = changed(tmp_path, SOUND[kind](mixed), change)
    with pytest.raises(FileFormatError, match=words) as caught:
        gm.load(path)
    assert "\n" not in str(caught.value)


def test_coordinates_beyond_floating_point_are_refused_when_they_are_asked_for(mixed, tmp_path):
    path = changed(tmp_path, SOUND["classes"](mixed), lambda s, t: t["state.weights_"].__imul__(1e200))
    with np.errstate(all="ignore"), pytest.raises(DataError, match="too large or too small"):
        gm.load(path).predict(mixed[NUMBERS].fillna(0.0))


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (gm.PCA, "transform"),
        (gm.Whitening, "transform"),
        (lambda: gm.NeuralICA(random_state=0), "transform"),
        (lambda: gm.MahalanobisFeatures(solver="sgd", ridge=1.0), "transform"),
        (lambda: gm.ELMRegressor(4, direct_links=True, random_state=0), "predict"),
    ],
)
def test_models_of_a_column_without_a_value_come_back_and_do_not_look_at_it(mixed, tmp_path, make, method):
    # With dates the scatter has a rank less than its columns, and eigenvectors are zero there but for rounding.
    frame = mixed.assign(nothing=np.nan, day=pd.date_range("2024-01-01", periods=len(mixed)))
    model = (
        make().fit(frame, frame["cost"])
        if isinstance(make(), gm.MahalanobisFeatures | gm.ELMRegressor)
        else make().fit(frame)
    )
    gm.save(model, tmp_path / "m")
    expected = getattr(model, method)(frame)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(getattr(gm.load(tmp_path / "m"), method)(frame.assign(nothing=7.0)), expected)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_atoms_of_another_type_are_refused(mixed, tmp_path, dtype):
    def change(state, tensors):
        tensors["state.dictionary_"] = tensors["state.dictionary_"].astype(dtype)

    path = changed(tmp_path, SOUND["nmf"](mixed), change)
    with pytest.raises(FileFormatError, match="NMF"):
        gm.load(path)


def test_a_vector_quantizer_without_its_counts_is_refused(tmp_path):
    model = gm.VectorQuantizer(2, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    del model.uses_
    gm.save(model, tmp_path / "model")
    with pytest.raises(FileFormatError, match="uses_ is missing"):
        gm.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("make", "name", "value", "words"),
    [
        (lambda: gm.MDSFDA(metric="euclidean"), "priors_", np.array([np.nan, 0.5]), "priors_"),
        (lambda: gm.MDSFDA(metric="euclidean"), "means_", np.full((2, 1), np.nan), "means_"),
        (
            lambda: gm.DictionaryLearner(2, n_nonzero=1, random_state=0),
            "dictionary_",
            np.full((2, 3), np.nan),
            "dictionary_",
        ),
        (lambda: gm.DictionaryLearner(2, n_nonzero=1, random_state=0), "_code_signal", None, "_code_signal"),
        (lambda: gm.ELMRegressor(3, random_state=0), "coef_", np.array([np.nan, 1.0, 1.0]), "coef_"),
        (lambda: gm.VectorQuantizer(2, random_state=0), "uses_", None, "uses_"),
        (lambda: gm.LinearAutoencoder(1, random_state=0), "_updates", -1, "_updates"),
        (lambda: gm.HebbianPCA(1, random_state=0), "n_samples_seen_", None, "n_samples_seen_"),
        (lambda: gm.RandomFeatures(3, random_state=0), "n_components_", float("nan"), "n_components_"),
        (lambda: gm.DictionaryLearner(2, n_nonzero=1, random_state=0), "_code_signal", [np.ones(3)], "_code_signal"),
        (lambda: gm.PearsonFilter(k=1), "support_", np.zeros(3), "support_"),
        (lambda: gm.MDSFDA(metric="euclidean"), "_codes", np.full(12, 2**30), "_codes"),
        (lambda: gm.HebbianPCA(1, random_state=0), "_history", {"weights": ["x"]}, "_history"),
    ],
)
def test_a_file_of_numbers_that_are_none_is_refused(make, name, value, words, tmp_path):
    rng = np.random.default_rng(0)
    model = make().fit(rng.normal(size=(12, 3)), np.arange(12) % 2)
    gm.save(model, tmp_path / "model")
    gm.load(tmp_path / "model")
    setattr(model, name, value)
    gm.save(model, tmp_path / "model")
    with pytest.raises(FileFormatError, match=words):
        gm.load(tmp_path / "model")


@pytest.mark.parametrize("kind", ["pca", "selection", "rule", "elm"])
def test_a_file_that_names_no_library_of_frames_gives_arrow_tables(mixed, tmp_path, kind):
    model = gm.load(changed(tmp_path, SOUND[kind](mixed), lambda state, tensors: state.pop("_frames")))
    if kind == "elm":
        assert (model + model).moments_.n_rows == 2 * model.moments_.n_rows
    else:
        assert isinstance(model.summary() if kind == "selection" else model.loadings(), pa.Table)


@pytest.mark.parametrize(
    ("make", "group"),
    [
        (lambda: gm.HebbianPCA(1, random_state=0), ["_learnt", "_directions", "_variances"]),
        (lambda: gm.HebbianPCA(1, learning_rate=0.01, random_state=0), ["_weights", "_rate", "_first"]),
        (lambda: gm.LinearAutoencoder(1, random_state=0), ["_learnt", "_directions", "_variances"]),
        (lambda: gm.LinearAutoencoder(1, learning_rate=0.01, random_state=0), ["_decoder", "_encoder"]),
    ],
)
def test_a_model_without_what_it_has_learnt_transforms_and_takes_no_more_rows(make, group, tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    model = make().fit(rows)
    expected = model.transform(rows)
    copy.deepcopy(model).partial_fit(rows)
    delattr(model, group[0])
    gm.save(model, tmp_path / "m")
    with pytest.raises(FileFormatError, match=f"{group[0]} is missing"):
        gm.load(tmp_path / "m")
    for name in group[1:]:
        delattr(model, name)
    gm.save(model, tmp_path / "m")
    found = gm.load(tmp_path / "m")
    np.testing.assert_array_equal(found.transform(rows), expected)
    with pytest.raises(DataError, match="cannot add rows"):
        found.partial_fit(rows)


@pytest.mark.parametrize("kind", [gm.HebbianPCA, gm.LinearAutoencoder])
def test_a_rate_that_is_named_after_the_fit_takes_no_more_rows(kind):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    model = kind(1, random_state=0).fit(rows).set_params(learning_rate=0.01)
    with pytest.raises(DataError, match="its parameters were changed after the fit; fit it again"):
        model.partial_fit(rows)
