"""Tables that go back to the user: in the library scikit-learn is set to, else the one the data came from, else pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from gramian.errors import optional

Axis = tuple[str, Sequence[Any]]


def output_library(library: str | None) -> str:
    """Return `"pandas"`, `"polars"` or `"pyarrow"`.

    Parameters
    ----------
    library : str or None
        Where the input came from.
    """
    from sklearn import get_config

    wanted = get_config()["transform_output"]
    return wanted if wanted in ("pandas", "polars") else library or "pyarrow"


def _package(name: str) -> Any:
    return optional(name, f"a {name} table", name)


def table(columns: Mapping[str, Any], *, library: str | None = None) -> Any:
    """Return named columns as a table."""
    chosen = output_library(library)
    if chosen == "pandas":
        plain = {name: c.to_pandas() if isinstance(c, pa.Array) else c for name, c in columns.items()}
        return _package("pandas").DataFrame(plain)
    if chosen == "polars":
        return _package("polars").DataFrame(dict(columns))
    return pa.table(dict(columns))


def labelled_table(
    values: npt.NDArray, rows: Axis, cols: Axis, heads: Sequence[str], *, library: str | None = None
) -> Any:
    """Return a matrix with labels on both sides.

    In pandas the labels are the index and the columns; elsewhere the row labels are the first column, under
    the name of the row variable, and `heads`, the column labels as text, are the names of the others.
    """
    if output_library(library) == "pandas":
        pandas = _package("pandas")
        index = pandas.Index(list(rows[1]), name=rows[0], dtype=object)
        columns = pandas.Index(list(cols[1]), name=cols[0], dtype=object)
        return pandas.DataFrame(values, index=index, columns=columns)
    named: dict[str, Any] = {rows[0]: _label_column(rows[1])}
    for k, head in enumerate(heads):
        unique = head
        while unique in named:
            unique += "'"
        named[unique] = values[:, k]
    return table(named, library=library)


def _label_column(labels: Sequence[Any]) -> list[Any] | pa.Array:
    if any(type(label) is int and label >= 2**63 for label in labels) and not any(
        isinstance(label, str) for label in labels
    ):
        # Arrow would try int64, and raise.
        return pa.array(labels, pa.uint64())
    kinds = {type(label) for label in labels if label is not None}
    return list(labels) if len(kinds) <= 1 else [None if label is None else str(label) for label in labels]
