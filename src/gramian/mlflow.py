"""Models in MLflow: `save_model`, `log_model`, `load_model`, and a pyfunc flavour over Gramian's own file.

An MLflow model is a folder. Here it holds the file that `gm.save` writes, which is read without executing anything, and the
name of the method that `mlflow.pyfunc` calls. The signature and the input example come from what the model reads: one column
per source column, of the type that fit saw, and one row of the first label of each category and the mean of each number.
"""

from __future__ import annotations

from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gramian.design.bins import Bins
from gramian.design.schema import Cross
from gramian.errors import DataError, missing_package
from gramian.estimators.spine.files import load, save, transform_stream
from gramian.estimators.spine.outputs import outputs_of
from gramian.maps.projection import Design

try:
    import mlflow
    from mlflow import pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, Schema
except ImportError:
    raise missing_package("gramian.mlflow", "mlflow", extra="mlflow") from None

FLAVOR = "gramian"
DATA, FILE, METHOD = "gramian", "model.gramian", "method"

_TYPES = {"text": "string", "number": "double", "boolean": "boolean", "null": "string"}


def signature_of(model: Any, method: str) -> ModelSignature:
    """Return the columns that a fitted model reads and those that a method gives, with their types."""
    outputs = outputs_of(model)
    given = outputs.types(method, pa.schema([]), "float64") if method != "transform" else []
    names = outputs.names(method)
    kinds = [_kind(kind) for kind in given] or ["double"] * len(names)
    # Every column may hold missing values, but none may lack.
    inputs = Schema([ColSpec(kind, name) for name, (kind, _) in _read_by(model.design_).items()])
    return ModelSignature(inputs, Schema([ColSpec(kind, name) for name, kind in zip(names, kinds, strict=True)]))


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "double"
    return "boolean" if pa.types.is_boolean(kind) else "long" if pa.types.is_integer(kind) else "string"


def example_of(model: Any) -> Any:
    """Return one row that the model can read: the first label of each category and the mean of each number."""
    import pandas as pd

    return pd.DataFrame([{name: value for name, (_, value) in _read_by(model.design_).items()}])


def _read_by(design: Design) -> dict[str, tuple[str, Any]]:
    """Return the type of each source column and a value of it."""
    found: dict[str, tuple[str, Any]] = {}
    means = dict(zip(design.names, np.nan_to_num(design.as_given(design.mean)).tolist(), strict=True))
    for column in sorted(design.numeric, key=lambda column: column.crossed):
        found.setdefault(column.origin, ("double", 0.0 if column.crossed else means[column.name]))
    for column, labels in zip(design.categorical, design.labels, strict=True):
        if isinstance(column.part, str):
            found.setdefault(column.origin, ("datetime", datetime(2024, 1, 1)))
        elif isinstance(column.part, Bins | Cross):
            for side in column.part.sides if isinstance(column.part, Cross) else (column,):
                if isinstance(side.part, Bins):
                    found.setdefault(side.origin, ("double", 0.0))
        else:
            first = next((label for label in labels.values.to_pylist() if label is not None), None)
            whole = isinstance(first, int) and not isinstance(first, bool)
            found.setdefault(
                column.origin, (_TYPES[labels.family], float(first) if first is not None and whole else first)
            )
    return {name: found.get(name, ("string", None)) for name in design.origins}


def save_model(
    model: Any,
    path: Any,
    *,
    method: str | None = None,
    signature: Any = None,
    input_example: Any = None,
    mlflow_model: Any = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model as a folder of MLflow.

    Parameters
    ----------
    model : fitted estimator
        One that reads columns.
    path : str or path
        The folder, which is made.
    method : str, optional
        What `mlflow.pyfunc` calls; by default `predict` where the model has it, else `transform`.
    signature, input_example, mlflow_model, metadata
        As in every flavour of MLflow. The first two are found from the model where they are not given.
    """
    outputs = outputs_of(model)
    asked = method or ("predict" if "predict" in outputs.methods else "transform")
    outputs.require([asked])
    if outputs.columns is None:
        raise DataError(
            f"{type(model).__name__} does not read columns of a table, and MLflow scores tables; use gm.save"
        )
    folder = Path(path)
    data = folder / DATA
    data.mkdir(parents=True, exist_ok=True)
    save(model, data / FILE)
    (data / METHOD).write_text(asked)
    written = Model(metadata=metadata) if mlflow_model is None else mlflow_model
    written.signature = signature_of(model, asked) if signature is None else signature
    example = example_of(model) if input_example is None else input_example
    from mlflow.models.utils import _save_example

    _save_example(written, example, str(folder))
    release = version("gramian")
    pyfunc.add_to_model(written, loader_module="gramian.mlflow", data=DATA, python_env=_environment(folder, release))
    written.add_flavor(FLAVOR, gramian_version=release, data=DATA, method=asked)
    written.save(str(folder / "MLmodel"))


def _environment(folder: Path, release: str) -> str:
    from mlflow.utils.environment import _PythonEnv

    (folder / "requirements.txt").write_text(f"gramian=={release}\npandas\n")
    environment = _PythonEnv.current()
    environment.dependencies = ["-r requirements.txt"]
    environment.to_yaml(str(folder / "python_env.yaml"))
    return "python_env.yaml"


def log_model(model: Any, name: str = "model", *, registered_model_name: str | None = None, **options: Any) -> Any:
    """Log a fitted model in the active run of MLflow, and return what MLflow knows of it.

    Parameters
    ----------
    model : fitted estimator
    name : str
        Of the model within the run.
    registered_model_name : str, optional
        Also register it under this name.
    **options
        As in `save_model`.
    """
    import sys

    flavor = sys.modules[__name__]
    return Model.log(None, flavor, registered_model_name=registered_model_name, name=name, model=model, **options)


def load_model(model_uri: Any) -> Any:
    """Return the fitted estimator of an MLflow model: of a folder, `runs:/...` or `models:/...`."""
    folder = Path(model_uri)
    local = folder if folder.is_dir() else Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    return load(local / DATA / FILE)


def _load_pyfunc(path: str) -> Any:
    return _Scorer(load(Path(path) / FILE), (Path(path) / METHOD).read_text())


class _Scorer:
    """What `mlflow.pyfunc` calls."""

    def __init__(self, model: Any, method: str) -> None:
        self.model, self.method = model, method

    def predict(self, rows: Any, params: Any = None) -> Any:
        """Return a frame with one column per output."""
        return transform_stream(self.model, rows, method=self.method).read_pandas()
