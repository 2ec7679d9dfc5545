"""How to make the same again: the command, the models with their parameters, and the versions."""

from __future__ import annotations

import datetime
import inspect
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gramian.reporting.gather.context import Context

PACKAGES = ("gramian", "numpy", "scipy", "scikit-learn", "pyarrow", "numba")


def reproduce(context: Context) -> dict[str, Any]:
    """Return the command, the models and the versions behind the report."""
    return {
        "command": context.request.command,
        "models": [_of_model(context, model) for model in context.models],
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _of_model(context: Context, model: Any) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    usual = {name: p.default for name, p in _signature(model).items()}
    changed = {name: value for name, value in parameters.items() if not _same(value, usual.get(name))}
    written = ", ".join(f"{name}={_written(value)}" for name, value in changed.items())
    return {
        "class": type(model).__name__,
        "call": f"gm.{type(model).__name__}({written})",
        "parameters": {name: _written(value) for name, value in parameters.items()},
        "fitted_for_report": context.added(model),
        "pooled": context.added(model) and any(labels.rare for labels in model.design_.labels),
    }


def _signature(model: Any) -> dict[str, Any]:
    return dict(inspect.signature(type(model).__init__).parameters)


def _same(value: Any, usual: Any) -> bool:
    try:
        return bool(value is usual or value == usual)
    except ValueError:
        # Arrays have no single truth; one that was passed is not the default.
        return False


def _written(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 200 else shown[:199] + "…"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
