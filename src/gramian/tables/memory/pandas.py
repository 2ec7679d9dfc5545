"""pandas frames, converted a slice at a time so that no second copy of the frame exists.

Floats of numpy stay numpy: a frame of nothing else is an `ArrayTable`, and where pandas keeps it as one 2-d
block that block is handed on as it lies. Categories are converted once, so that all batches share one
dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gramian.errors import Argument, DataError
from gramian.tables.base import ArrayTable, ArrowTable, require_unique_names
from gramian.tables.memory.arrays import narrowed
from gramian.tables.schemas import Inspector, arrow_array, cast_array, plain_type, subset, type_of_objects

if TYPE_CHECKING:
    import pandas as pd


def open_pandas(frame: pd.DataFrame, *, describe: str) -> ArrowTable | ArrayTable:
    """Return the rows of `frame`; its index is left out."""
    names = [str(name) for name in frame.columns]
    require_unique_names(names, describe)
    if not names:
        raise DataError(f"{describe} has no columns")
    if all(isinstance(dtype, np.dtype) and dtype.kind == "f" for dtype in frame.dtypes):
        return PandasFloats(frame, names, describe=describe)
    return PandasTable(frame, names, describe=describe)


class PandasFloats(ArrayTable):
    """A frame of numpy floats."""

    def __init__(self, frame: pd.DataFrame, names: list[str], *, describe: str) -> None:
        kind = np.result_type(*frame.dtypes)
        kind = kind if kind.itemsize <= 8 else np.dtype(np.float64)
        super().__init__(names, dtype=kind, describe=describe, n_rows=len(frame))
        self._frame = frame

    def _chunks(self) -> Iterator[np.ndarray]:
        head = self._frame.iloc[:1]
        if np.shares_memory(head.to_numpy(), head.to_numpy()):
            # One block: the whole frame is a view.
            yield narrowed(self._frame.to_numpy())
            return
        step = self._batch_rows(len(self.names))
        for start in range(0, len(self._frame), step):
            yield narrowed(self._frame.iloc[start : start + step].to_numpy())


class PandasTable(ArrowTable):
    """A frame with any columns."""

    def __init__(self, frame: pd.DataFrame, names: list[str], *, describe: str) -> None:
        self._frame = frame
        self._place = {name: place for place, name in enumerate(names)}
        self._dictionaries: dict[str, pa.Array] = {}
        fields = [pa.field(name, self._type(name, frame.iloc[:, j], describe)) for name, j in self._place.items()]
        super().__init__(pa.schema(fields), describe=describe, n_rows=len(frame))

    def _type(self, name: str, series: Any, describe: str) -> pa.DataType:
        dtype = series.dtype
        if _holds_objects(dtype):
            return type_of_objects(series.to_numpy(), name, describe)
        if type(dtype).__name__ == "PeriodDtype":
            # Arrow would hand on the ordinal numbers, which count from 1970 in units that are lost.
            raise DataError(
                f"column {name!r} of {describe} holds periods; convert it with .dt.to_timestamp(), or leave it "
                "out with ",
                Argument("exclude", [name]),
            )
        if hasattr(dtype, "categories") and hasattr(dtype, "ordered"):
            categories = dtype.categories
            if _holds_objects(categories.dtype):
                kind = type_of_objects(categories.to_numpy(), name, describe)
                dictionary = arrow_array(categories.to_numpy(), kind, name, describe)
            else:
                dictionary = arrow_array(categories, None, name, describe)
            dictionary = cast_array(dictionary, plain_type(dictionary.type))
            self._dictionaries[name] = dictionary
            return pa.dictionary(pa.from_numpy_dtype(series.cat.codes.dtype), dictionary.type, bool(dtype.ordered))
        return plain_type(_column(series.iloc[:0], None, name, describe).type)

    def _read(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = subset(self.schema, columns)
        step = self._batch_rows(len(columns))
        for start in range(0, len(self._frame), step):
            arrays = [self._slice(name, self._frame.iloc[start : start + step, self._place[name]]) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _slice(self, name: str, series: Any) -> pa.Array:
        kind = self.schema.field(name).type
        if name in self._dictionaries:
            codes = series.cat.codes.to_numpy()
            # pandas can be told not to look at codes; the loops that follow do not look either.
            if codes.max(initial=-1) >= len(self._dictionaries[name]):
                raise DataError(f"column {name!r} of {self.describe} is damaged: a code leads outside its categories")
            # Without a mask the codes are taken as they lie in memory.
            indices = pa.array(codes, mask=codes < 0 if codes.min(initial=0) < 0 else None)
            return pa.DictionaryArray.from_arrays(indices, self._dictionaries[name], ordered=kind.ordered, safe=False)
        return cast_array(_column(series, kind, name, self.describe), kind)


def _holds_objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _column(series: Any, kind: pa.DataType | None, name: str, describe: str) -> pa.Array:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        # NaN may stay NaN: downstream it is missing as null is, and looking for it would be one more pass.
        return pa.array(series.to_numpy(), from_pandas=False)
    if type(dtype).__name__ == "SparseDtype":
        return pa.array(series.sparse.to_dense().to_numpy(), from_pandas=False)
    array = arrow_array(series, kind if _holds_objects(dtype) else None, name, describe)
    if not isinstance(dtype, np.dtype):
        # Text of pandas, and whatever else it keeps in Arrow's form.
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
            Inspector(describe).check(pa.record_batch([chunk], names=[name]))
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    return array
