"""Fitted state as named arrays and a JSON description: what a model file holds.

Only the types listed here can be stored, and loading builds only these: a file cannot name code to run.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.design.bins import Bins
from gramian.design.schema import Column, Cross, Labels, Slope
from gramian.errors import DataError, FileFormatError
from gramian.maps.projection import Design, Projection
from gramian.moments.file import pack_labels, pack_moments, unpack_labels, unpack_moments
from gramian.moments.value import Moments

Tensors = dict[str, npt.NDArray]

_VALUES: dict[str, Any] = {kind.__name__: kind for kind in (Bins, Column, Cross, Design, Projection, Slope)}
"""Dataclasses and named tuples that are stored field by field."""


def pack(value: Any, tensors: Tensors, at: str) -> Any:
    """Return a JSON description of a value, putting its arrays into `tensors` under names that begin with `at`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        # JSON has no NaN or infinity; hexadecimal keeps every bit.
        return {"float": value.hex()}
    if isinstance(value, np.generic):
        return pack(value.item(), tensors, at)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OU":
            items = [pack(v, tensors, at) for v in value.tolist()]
            width = {"width": value.dtype.itemsize // np.dtype("U1").itemsize} if value.dtype.kind == "U" else {}
            return {"labels_array": items, "shape": list(value.shape), **width}
        tensors[at] = value
        return {"array": at, "shape": list(value.shape)}
    if isinstance(value, Labels):
        pack_labels(value, tensors, f"{at}.")
        return {"labels": f"{at}."}
    if isinstance(value, Moments):
        return {"moments": f"{at}.", **pack_moments(value, tensors, f"{at}.")}
    name = type(value).__name__
    if _VALUES.get(name) is type(value):
        names = list(value.stored()) if isinstance(value, Column) else [f.name for f in fields(value)]
        parts = {part: pack(getattr(value, part), tensors, f"{at}.{part}") for part in names}
        return {"value": name, "fields": parts}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [pack(item, tensors, f"{at}.{k}") for k, item in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": {str(key): pack(item, tensors, f"{at}.{key}") for key, item in value.items()}}
    raise DataError(f"{at} is a {name}, which a model file cannot hold; set it to plain values before saving")


_CLAIMED_BYTES = 2**20


def unpack(description: Any, tensors: Tensors) -> Any:
    """Return the value that `pack` described."""
    if not isinstance(description, dict):
        return description
    if "float" in description:
        return float.fromhex(description["float"])
    if "array" in description:
        return tensors[description["array"]].reshape(description["shape"])
    if "labels_array" in description:
        items = [unpack(item, tensors) for item in description["labels_array"]]
        out = np.empty(len(items), dtype=object)
        out[:] = items
        if "width" in description:
            # A width that is only claimed takes memory: beyond a little of it, texts are as wide as the longest of them.
            width, longest = int(description["width"]), max((len(str(item)) for item in items), default=0)
            if np.dtype("U1").itemsize * width * len(items) > _CLAIMED_BYTES:
                width = min(width, longest)
            out = out.astype(f"U{max(width, 1)}")
        return out.reshape(description["shape"])
    if "labels" in description:
        return unpack_labels(tensors, description["labels"])
    if "moments" in description:
        return unpack_moments(description, tensors, description["moments"])
    if "list" in description:
        return [unpack(item, tensors) for item in description["list"]]
    if "tuple" in description:
        return tuple(unpack(item, tensors) for item in description["tuple"])
    if "dict" in description:
        return {key: unpack(item, tensors) for key, item in description["dict"].items()}
    if description.get("value") in _VALUES:
        parts = {name: unpack(item, tensors) for name, item in description["fields"].items()}
        value = _VALUES[description["value"]](**parts)
        check_value(value)
        return value
    name = description.get("value", "value")
    raise FileFormatError(
        f"the file holds a {name}, which this release does not know: fit the model again, or read it with the release that "
        f"wrote it"
    )


def check_value(value: Any) -> None:
    """Raise `FileFormatError` where the parts of a value do not fit each other: kernels trust that they do."""
    fine = True
    if isinstance(value, Design):
        p = len(value.names)
        fine = all(isinstance(column, Column) for column in value.columns)
        fine = fine and len(value.labels) == len(value.categorical)
        fine = fine and all(isinstance(each, Labels) for each in value.labels)
        fine = fine and sum(map(len, value.labels)) + len(value.numeric) == p and _floats(value.mean, (p,))
        fine = fine and (value.offsets is None or _floats(value.offsets, (len(value.numeric),)))
    elif isinstance(value, Projection):
        p, k = len(value.design.names), value.n_features if np.ndim(value.weights) == 2 else -1
        fine = _floats(value.weights, (p, k)) and _floats(value.offset, (k,))
        fine = fine and (value.inverse is None or _floats(value.inverse, (k, p)))
        fine = fine and bool(np.isfinite(value.weights).all() and np.isfinite(value.offset).all())
        fine = fine and bool((np.isfinite(value.design.mean) | ~value.weights.any(axis=1)).all())
    elif isinstance(value, Column | Bins | Cross | Slope):
        fine = value.valid
    if not fine:
        raise FileFormatError(f"the parts of a {type(value).__name__} do not fit each other")


def _floats(values: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape == shape
