"""Moments and models as plain data, and as tables: what `collect`, `fit` and `inspect` say of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gramian.cli.printing import after_moments, plain, show, show_json, show_next, show_table
from gramian.cli.wording import in_options

if TYPE_CHECKING:
    from gramian.engines.preview import Preview
    from gramian.moments.value import Moments

_SHOWN = 40
"""Columns of a table that is printed; JSON has them all."""


_TYPES = {
    "dictionary": "text",
    "string": "text",
    "large_string": "text",
    "double": "float",
    "date32[day]": "date",
    "null": "empty",
}
"""Type of Arrow -> what people call it; others read well."""

_WORDS = {
    "alpha_": "ridge penalty",
    "classes_": "classes",
    "component_r2_": "R² of each feature",
    "criterion_": "Fisher's criterion",
    "eigenvalues_": "variance along each axis",
    "explained_variance_": "variance of each feature",
    "explained_variance_ratio_": "share of the variance",
    "intercept_": "intercept",
    "n_samples_": "rows",
    "noise_variance_": "variance left over",
    "offset_": "threshold of the normal score",
    "p_value_": "p-value",
    "p_value_moments_": "law of the p-value",
    "precision_eigenvalues_": "precision of each feature",
    "priors_": "share of each class",
    "r2_": "R² on the rows fitted",
    "r2_cv_": "R² on held-out folds",
    "rank_": "rank of the data",
    "ridge_": "ridge, in rows",
    "shrinkage_": "shrinkage",
    "singular_values_": "singular values",
    "statistic_": "test statistic",
}
"""Fitted attribute -> what it holds; others read well without their underscores."""


def describe_moments(moments: Moments) -> dict[str, Any]:
    """Return what moments have seen, as plain data."""
    return {"kind": "moments", **moments.summary().to_dict()}


def show_moments(moments: Moments) -> None:
    """Print what moments have seen."""
    summary = moments.summary()
    show(summary.heading + "\n")
    rows = [column.cells() for column in summary.columns]
    show_columns(("column", "kind", "levels", "missing", ""), rows, right=(2, 3))


def deliver_moments(moments: Moments, output: str, *, as_json: bool) -> None:
    """Save moments; say what they have seen, where they are, and what to do with them."""
    from gramian.moments.advice import identifiers

    moments.save(output)
    if as_json:
        show_json({**describe_moments(moments), "output": output})
        return
    show_moments(moments)
    ids = identifiers(moments, moments.schema.features)
    if ids:
        show("")
    for name, levels in ids.items():
        option = shlex.quote(name)
        show(
            f"{name}: {levels:,} levels in {moments.n_rows:,} rows, an identifier, which methods set aside; leave it out with "
            f"--exclude {option}, or keep it with --categorical {option}"
        )
    show(f"\nwrote {output}")
    show_next(after_moments(moments, output))


def describe_preview(preview: Preview, path: str) -> dict[str, Any]:
    """Return what a pass over data would collect, as plain data."""
    own = {name: value for name, value in vars(preview).items() if name != "columns"}
    return {"kind": "data", "file": path, **own, "columns": [dict(vars(column)) for column in preview.columns]}


def show_preview(preview: Preview) -> None:
    """Print what a pass over data would collect."""
    from gramian.arrays.memory import in_words

    total = "" if preview.n_rows is None else f" of {preview.n_rows:,}"
    size = in_words(preview.estimated_bytes)
    show(f"{preview.n_sampled:,}{total} rows sampled, {len(preview.columns)} columns, about {size} of moments\n")
    rows = [
        (c.name, c.kind, _called(c.type), c.distinct, f"{c.missing:.1%}" if c.missing else "") for c in preview.columns
    ]
    show_columns(("column", "kind", "type", "distinct", "missing"), rows, right=(3, 4))
    notes = [f"{c.name}: {in_options(c.note)}" for c in preview.columns if c.note]
    if notes:
        show("\n" + "\n".join(notes[:_SHOWN]))
    if preview.totals:
        show(f"\n{preview.totals_note}")


def _called(kind: str) -> str:
    """Return what people call a type of Arrow."""
    name = kind.partition("<")[0]
    return _TYPES.get(name, name)


def show_columns(head: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int]) -> None:
    """Print a table with one row per column of the data, the first of them."""
    show_table(head, rows[:_SHOWN], right=right)
    if len(rows) > _SHOWN:
        show(f"... and {len(rows) - _SHOWN} more columns; --json lists all")


def describe_model(model: Any) -> dict[str, Any]:
    """Return a fitted model as plain data: parameters, and what it learned as far as numbers and names tell it."""
    design = getattr(model, "design_names_", None)
    names = getattr(model, "feature_names_in_", None)
    out: dict[str, Any] = {"kind": "model", "class": type(model).__name__, "parameters": model.get_params(deep=False)}
    if names is not None:
        out["columns"] = [str(name) for name in names]
    if design is not None:
        out["n_design_columns"] = len(design)
    if hasattr(model, "get_feature_names_out"):
        out["features"] = [str(name) for name in model.get_feature_names_out()]
    out["learned"] = {name: value for name, value in vars(model).items() if _is_plain(name, value)}
    return out


def in_words(attribute: str) -> str:
    """Return what a fitted attribute holds, as people say it.

    Examples
    --------
    >>> in_words("p_value_"), in_words("n_landmarks_")
    ('p-value', 'number of landmarks')
    """
    if attribute in _WORDS:
        return _WORDS[attribute]
    words = attribute.strip("_").replace("_", " ")
    return f"number of {words[2:]}" if words.startswith("n ") else words


def _is_plain(name: str, value: Any) -> bool:
    """Whether a fitted attribute is a number, a text, or a short row of them."""
    import numpy as np

    if not name.endswith("_") or name.startswith("_") or name in ("feature_names_in_", "design_names_"):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "fiubOU" and 0 < len(value) <= 1000
    return isinstance(value, bool | int | float | str | np.generic) and name != "n_features_in_"


def show_model(description: dict[str, Any]) -> None:
    """Print a description of a model."""
    columns, features = description.get("columns", []), description.get("features", [])
    width = description.get("n_design_columns")
    words = [description["class"]]
    words += [f"{len(columns)} columns"] if columns else []
    words += [f"{width:,} design columns"] if width else []
    words += [f"{len(features)} feature{'s' if len(features) > 1 else ''}"] if features else []
    show(", ".join(words) + "\n")
    learned = {name: plain(value) for name, value in description["learned"].items()}
    rows = {
        "columns": columns,
        # What there is one of for every design column is no summary.
        **{in_words(name): v for name, v in learned.items() if not (isinstance(v, list) and len(v) == width)},
        "features": features,
    }
    show_table(None, [(name, value) for name, value in rows.items() if value not in (None, [])])
