"""What people do next: after every command, one command line that follows from it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gramian.cli.options import reading_options

if TYPE_CHECKING:
    from gramian.moments.value import Moments

PLACE = "DATA"
"""Stands for data that the command did not see."""


def after_moments(moments: Moments, path: str) -> str:
    """Return the command that fits a method to moments: one that predicts their target, where they have one."""
    targets = [column.name for column in moments.schema if column.target]
    if not moments.n_rows:
        return _line("gramian", "merge", path, "MOMENTS", "-o", "all.moments")
    if targets:
        return _line("gramian", "fit", path, "--method", "mahalanobis", "--target", targets[0], "-o", _model(path))
    return _line("gramian", "fit", path, "--method", "pca", "-o", _model(path))


def after_fit(model: Any, path: str, data: Sequence[str], *, missing: str = "raise") -> str:
    """Return the command that applies a model to data: those it was fitted on, or others where it was fitted on moments."""
    from gramian.estimators.io.registry import find_method

    method = find_method(type(model).__name__)
    rows = [*data, *_read_alike(missing)] if data else [PLACE]
    if method.detects:
        return _line("gramian", "detect", path, *rows, "--top", "5", "--explain")
    if method.predicts:
        return _line("gramian", "predict", path, *rows, "-o", "predicted.parquet")
    if method.transforms:
        return _line("gramian", "transform", path, *rows, "-o", "features.parquet")
    return _line("gramian", "report", path, "-o", "report.html")


def after_rows(model: str, data: Sequence[str], *, missing: str = "raise") -> str:
    """Return the command that shows what a model makes of data."""
    shown = [word for path in data for word in ("--data", path)]
    return _line("gramian", "report", model, *shown, *_read_alike(missing), "-o", "report.html")


def after_preview(paths: Sequence[str], suspected: Sequence[str], *, fill: bool = False) -> str:
    """Return the command that collects data, without the columns that look like the numbers of rows."""
    left_out = [word for name in suspected for word in ("--exclude", name)]
    read = _read_alike("fill" if fill else "raise")
    name = _stem(paths[0]) if len(paths) == 1 else "all"
    return _line("gramian", "collect", *paths, *left_out, *read, "-o", f"{name}.moments")


def after_ranking(
    paths: Sequence[str],
    target: str,
    *,
    exclude: Sequence[str],
    categorical: Sequence[str],
    numeric: Sequence[str],
    weights: str | None,
) -> str:
    """Return the command that keeps the columns which predict the target best together, of data read the same way."""
    from gramian.design.encoder import TARGET_MISSING

    named = {
        "--exclude": exclude,
        "--categorical": categorical,
        "--numeric": numeric,
        "--weights": [weights] if weights else [],
        "--target-missing": [TARGET_MISSING.get()] if TARGET_MISSING.get() != "drop" else [],
    }
    options = [word for option, names in named.items() for name in names for word in (option, name)]
    return _line(
        *("gramian", "select", *paths, "--target", target, *options, *_read_alike()),
        *("--method", "forward", "-o", "columns.model"),
    )


def _read_alike(missing: str = "raise") -> list[str]:
    """Return the options with which data are read as the command that ends here has read them."""
    return [*reading_options(), *(["--missing", missing] if missing != "raise" else [])]


def _line(*words: str) -> str:
    return shlex.join(words)


def _stem(path: str) -> str:
    return os.path.basename(path.rstrip(os.sep)).split(".")[0] or "data"


def _model(path: str) -> str:
    return f"{_stem(path)}.model"
