"""Objects of a model of distances, as texts that a page can show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gramian.estimators.base.distance_estimator import DistanceTransformer
from gramian.reporting.gather.json_values import text

NUMBERS_SHOWN = 4


def namer(model: DistanceTransformer, described: pa.Table | None = None) -> Callable[[int], str]:
    """Return what gives the name of a training object: itself, its name in a table that describes it, or its position.

    Parameters
    ----------
    model : DistanceTransformer
    described : pyarrow.Table, optional
        One row an object; its first column of texts, no two alike, names them where the model does not keep them.

    Examples
    --------
    >>> from gramian.estimators.mds import ClassicalMDS
    >>> namer(ClassicalMDS(1, metric="levenshtein").fit(["aa", "ab", "bb"]))(1)
    'ab'
    >>> model = ClassicalMDS(1).fit([[0.0, 1.0], [1.0, 0.0]])
    >>> namer(model)(1), namer(model, pa.table({"name": ["first", "second"]}))(1)
    ('object 1', 'second')
    """
    names = None if described is None else _names(described)

    def name(position: int) -> str:
        kept = _kept(model, position)
        if kept is None and names is not None:
            kept = text(names[position].as_py())
        return f"object {position:,}" if kept is None else kept

    return name


def _names(table: pa.Table) -> pa.ChunkedArray | None:
    for column in table.columns:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if is_text and pc.count_distinct(column).as_py() == len(column):
            return column
    return None


def _kept(model: DistanceTransformer, position: int) -> str | None:
    objects = vars(model).get("objects_")
    if objects is None or model.metric == "gower":
        # Distances alone, or rows of a table as codes and numbers: neither can be read.
        return None
    if model.landmarks_ is not None:
        places = np.flatnonzero(model.landmarks_ == position)
        if not len(places):
            return None
        position = int(places[0])
    one = objects[position]
    if isinstance(one, str):
        return text(one)
    if isinstance(one, np.ndarray):
        values = one.ravel()
        more = ", …" if len(values) > NUMBERS_SHOWN else ""
        return f"({', '.join(f'{v:.3g}' for v in values[:NUMBERS_SHOWN])}{more})"
    if isinstance(one, list | tuple | set | frozenset):
        return text(" ".join(map(str, one)))
    return text(one)
