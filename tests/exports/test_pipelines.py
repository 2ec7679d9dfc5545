"""Our steps within a Pipeline are exported as a whole by skl2onnx."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.exports.pipelines import register

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")


@pytest.fixture(scope="module")
def rows():
    register()
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({
        "city": rng.choice(["Bonn", "Kiel", "it's Ulm"], n),
        "kind": rng.choice(["a", "b", "c", "d"], n),
        "size": rng.normal(size=n),
        "age": rng.normal(size=n),
    })  # fmt: skip
    return frame, (frame["size"] + (frame["city"] == "Bonn") + rng.normal(size=n) > 0).astype(int)


def run(pipeline, frame: pd.DataFrame) -> list:
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    words = {name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    types = [(name, (StringTensorType if name in words else FloatTensorType)([None, 1])) for name in frame]
    options = {"zipmap": False} if hasattr(pipeline, "classes_") else None
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=types, options=options)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: frame[[name]].to_numpy(object if name in words else np.float32) for name in frame})


def test_an_encoder_in_a_column_transformer(rows):
    frame, y = rows
    columns = make_column_transformer((gm.JointTargetEncoder(), ["city", "kind"]), (StandardScaler(), ["size", "age"]))
    pipeline = make_pipeline(columns, LogisticRegression()).fit(frame, y)
    later = frame.head(20).assign(city=["never seen", *frame["city"][1:20]])
    label, probability = run(pipeline, later)
    assert label.tolist() == pipeline.predict(later).tolist()
    np.testing.assert_allclose(probability, pipeline.predict_proba(later), atol=1e-5)


def test_a_first_step_that_reads_every_column(rows):
    frame, y = rows
    pipeline = make_pipeline(gm.PCA(3), Ridge()).fit(frame, y)
    (found,) = run(pipeline, frame)
    np.testing.assert_allclose(found.ravel(), pipeline.predict(frame), atol=1e-5)


def test_a_classifier_at_the_end(rows):
    frame, y = rows
    pipeline = make_pipeline(StandardScaler(), gm.FisherDiscriminant()).fit(frame[["size", "age"]].to_numpy(), y)
    from skl2onnx.common.data_types import DoubleTensorType

    types = [("X", DoubleTensorType([None, 2]))]
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=types, options={"zipmap": False})
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    X = frame[["size", "age"]].to_numpy()
    label, probability = session.run(None, {"X": X})
    assert label.tolist() == pipeline.predict(X).tolist()
    np.testing.assert_allclose(probability, pipeline.predict_proba(X), atol=1e-6)
