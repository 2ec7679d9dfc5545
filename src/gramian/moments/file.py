"""Moments as named arrays: labels as bytes and offsets, counts and sums as they are, a small header beside them."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from gramian.design.labels import Labels
from gramian.design.schema import Column, Schema
from gramian.errors import Argument, DataError, FileFormatError, PythonOnly
from gramian.moments.algebra.possible import Peak
from gramian.moments.state.block import Block
from gramian.moments.state.numbers import Numbers
from gramian.moments.state.pair_counts import PairCounts
from gramian.moments.state.powers import HIGHEST
from gramian.moments.validity import check_moments, check_possible
from gramian.moments.value import Moments
from gramian.storage import container

Tensors = dict[str, npt.NDArray]

MEANINGLESS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
"""What building a value from a file that describes none may end in."""


def one_line(error: BaseException) -> str:
    """Return what an exception says, in one short line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def save(moments: Moments, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write moments to one file."""
    container.write(path, *_parts(moments, metadata))


def to_bytes(moments: Moments) -> bytes:
    """Return what `save` would write: how moments travel between processes."""
    return container.write_bytes(*_parts(moments, None))


def _parts(moments: Moments, metadata: Mapping[str, str] | None) -> tuple[Tensors, dict[str, str]]:
    """Return the arrays and the header of a file of moments."""
    tensors: Tensors = {}
    state = pack_moments(moments, tensors, "")
    return tensors, {
        "kind": "moments",
        "version": package_version(),
        "rows": str(moments.n_rows),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "schema": json.dumps(state.pop("schema")),
        "state": json.dumps(state),
        "metadata": json.dumps(checked_notes(metadata)),
    }


def package_version() -> str:
    """Return the version that goes into headers."""
    return version("gramian")


def checked_notes(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Return a user's notes, which must be texts by name."""
    notes = dict(metadata or {})
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in notes.items()):
        raise DataError(Argument("metadata"), " takes texts by name, for example {'site': 'north'}")
    return notes


def load(path: str | os.PathLike[str]) -> Moments:
    """Read moments from a file written by `save`."""
    return _whole(*container.read(path), os.fspath(path))


def from_bytes(data: bytes, name: str = "the bytes") -> Moments:
    """Return moments from what `to_bytes` gave; `name` is what errors call it."""
    return _whole(*container.read_bytes(data, name), name)


def _whole(tensors: Tensors, header: Mapping[str, str], name: str) -> Moments:
    if header.get("kind") != "moments":
        raise FileFormatError(
            f"{name!r} holds a {header.get('kind')}, not moments",
            PythonOnly("; open it with gramian.load"),
        )
    try:
        return unpack_moments({"schema": json.loads(header["schema"]), **json.loads(header["state"])}, tensors, "")
    except FileFormatError as error:
        raise FileFormatError(f"{name!r} holds no moments: {error}") from None
    except MEANINGLESS as error:
        raise FileFormatError(f"{name!r} holds no moments: {one_line(error)}") from None


def pack_moments(moments: Moments, tensors: Tensors, prefix: str) -> dict[str, Any]:
    """Store moments under names that begin with `prefix`; return what else describes them, as JSON."""
    return {"schema": [column.stored() for column in moments.schema], **_pack(moments, tensors, prefix)}


def unpack_moments(description: Mapping[str, Any], tensors: Tensors, prefix: str) -> Moments:
    """Return moments stored by `pack_moments`."""
    schema = Schema(tuple(Column(**column) for column in description["schema"]))
    moments = _unpack(tensors, description, schema, prefix)
    check_moments(moments)
    moments = _laid_out(moments)
    check_possible(moments)
    return moments


def _laid_out(moments: Moments) -> Moments:
    """Return moments with the pairs in the matrix that belong there: an earlier version may have drawn the line elsewhere."""
    sizes = moments.pairs.sizes
    pairs = moments.pairs.transform(range(len(sizes)), [None] * len(sizes), sizes)
    return replace(moments, pairs=pairs, folds=tuple(map(_laid_out, moments.folds)))


def pack_labels(labels: Labels, tensors: Tensors, prefix: str) -> None:
    """Store the labels of one column, and the ones it pooled."""
    for part, values in (("values", labels.values), ("pooled", labels.pooled)):
        _pack_array(values, tensors, f"{prefix}{part}.")
    tensors[f"{prefix}rare"] = np.array([labels.rare], dtype=np.uint8)


def unpack_labels(tensors: Tensors, prefix: str) -> Labels:
    """Return labels stored by `pack_labels`."""
    values = _unpack_array(tensors, f"{prefix}values.")
    pooled = _unpack_array(tensors, f"{prefix}pooled.")
    return Labels(values, bool(tensors[f"{prefix}rare"][0]), pooled)


def _pack_array(values: pa.Array, tensors: Tensors, prefix: str) -> None:
    tensors[f"{prefix}missing"] = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.uint8)
    if pa.types.is_null(values.type):
        return
    if pa.types.is_large_string(values.type):
        filled = values.fill_null("")
        tensors[f"{prefix}offsets"] = np.cumsum([0, *pa.compute.binary_length(filled).to_numpy(zero_copy_only=False)])
        joined = b"".join(text.as_buffer().to_pybytes() if text.as_buffer() is not None else b"" for text in filled)
        tensors[f"{prefix}bytes"] = np.frombuffer(joined, dtype=np.uint8)
    elif pa.types.is_boolean(values.type):
        tensors[f"{prefix}booleans"] = np.asarray(
            values.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.uint8
        )
    elif pa.types.is_uint64(values.type):
        tensors[f"{prefix}unsigned"] = np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.uint64)
    elif pa.types.is_int64(values.type):
        tensors[f"{prefix}integers"] = np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    else:
        tensors[f"{prefix}floats"] = np.asarray(values.fill_null(0.0).to_numpy(zero_copy_only=False), dtype=np.float64)


def _unpack_array(tensors: Tensors, prefix: str) -> pa.Array:
    missing = tensors[f"{prefix}missing"].astype(bool)
    if f"{prefix}offsets" in tensors:
        offsets = np.ascontiguousarray(tensors[f"{prefix}offsets"], dtype=np.int64)
        letters = np.ascontiguousarray(tensors[f"{prefix}bytes"])
        plain = pa.LargeStringArray.from_buffers(len(missing), pa.py_buffer(offsets), pa.py_buffer(letters))
        plain.validate(full=True)
        return (
            pa.compute.if_else(pa.array(missing), pa.scalar(None, pa.large_string()), plain) if missing.any() else plain
        )
    if f"{prefix}booleans" in tensors:
        return pa.array(tensors[f"{prefix}booleans"].astype(bool), mask=missing)
    for kind in ("integers", "unsigned", "floats"):
        if f"{prefix}{kind}" in tensors:
            return pa.array(tensors[f"{prefix}{kind}"], mask=missing)
    return pa.nulls(len(missing))


def _pack_block(block: Block, tensors: Tensors, prefix: str) -> None:
    if sp.issparse(block):
        tensors[f"{prefix}data"], tensors[f"{prefix}indices"] = block.data, block.indices
        tensors[f"{prefix}indptr"] = block.indptr
    else:
        tensors[f"{prefix}dense"] = block


def _unpack_block(tensors: Tensors, prefix: str, shape: tuple[int, int]) -> Block:
    if f"{prefix}dense" in tensors:
        return tensors[f"{prefix}dense"]
    parts = (tensors[f"{prefix}data"], tensors[f"{prefix}indices"], tensors[f"{prefix}indptr"])
    return sp.csr_array(parts, shape=shape)


def _pack(moments: Moments, tensors: Tensors, prefix: str) -> dict[str, Any]:
    """Store the arrays of some moments; return what goes into the header."""
    pairs, numbers = moments.pairs, moments.numbers
    for k, labels in enumerate(moments.labels):
        pack_labels(labels, tensors, f"{prefix}labels.{k}.")
        tensors[f"{prefix}rows.{k}"] = pairs.level_rows[k]
        tensors[f"{prefix}sums.{k}"] = moments.sums[k]
        if moments.weighted:
            tensors[f"{prefix}weights.{k}"] = pairs.level_weights[k]
    tensors[f"{prefix}narrow"] = np.array(pairs.narrow, dtype=np.int64)
    tensors[f"{prefix}matrix"] = pairs.matrix
    for (i, j), block in pairs.blocks.items():
        _pack_block(block, tensors, f"{prefix}block.{i}.{j}.")
    tensors[f"{prefix}anchors"], tensors[f"{prefix}number_sums"] = numbers.anchors, numbers.sums
    tensors[f"{prefix}number_powers"] = numbers.powers
    tensors[f"{prefix}number_missing"] = np.array(numbers.missing, dtype=np.int64)
    if numbers.rows is not None:
        tensors[f"{prefix}centred_rows"] = numbers.rows
    else:
        tensors[f"{prefix}scatter"] = numbers.dense()
    return {
        "n_rows": moments.n_rows,
        "total_weight": moments.total_weight,
        "library": moments.library,
        "forms": [column.form for column in moments.schema],
        "blocks": [list(pair) for pair in pairs.blocks],
        "peak": asdict(moments.peak),
        **({"rows_left_out": moments.rows_left_out} if moments.rows_left_out else {}),
        "folds": [_pack(fold, tensors, f"{prefix}fold{k}.") for k, fold in enumerate(moments.folds)],
    }


def _unpack(tensors: Tensors, state: Mapping[str, Any], schema: Schema, prefix: str) -> Moments:
    schema = Schema(tuple(column._replace(form=form) for column, form in zip(schema, state["forms"], strict=True)))
    n_coded = len(schema.coded)
    rows = [tensors[f"{prefix}rows.{k}"] for k in range(n_coded)]
    weighted = isinstance(state["total_weight"], float)
    weights = [tensors[f"{prefix}weights.{k}"] for k in range(n_coded)] if weighted else rows
    blocks = {}
    for i, j in state["blocks"]:
        blocks[i, j] = _unpack_block(tensors, f"{prefix}block.{i}.{j}.", (len(rows[i]), len(rows[j])))
    narrow = tuple(int(k) for k in tensors[f"{prefix}narrow"])
    names = schema.numbers
    powers = tensors.get(f"{prefix}number_powers")
    numbers = Numbers(
        names=names,
        anchors=tensors[f"{prefix}anchors"],
        missing=tuple(int(k) for k in tensors[f"{prefix}number_missing"]),
        sums=tensors[f"{prefix}number_sums"],
        # Files of the first form hold none: skewness and kurtosis are unknown.
        powers=np.full((HIGHEST - 2, len(names)), np.nan) if powers is None else powers,
        scatter=tensors.get(f"{prefix}scatter"),
        rows=tensors.get(f"{prefix}centred_rows"),
    )
    folds = [_unpack(tensors, fold, schema, f"{prefix}fold{k}.") for k, fold in enumerate(state["folds"])]
    return Moments(
        schema=schema,
        n_rows=state["n_rows"],
        total_weight=state["total_weight"],
        labels=tuple(unpack_labels(tensors, f"{prefix}labels.{k}.") for k in range(n_coded)),
        pairs=PairCounts(rows, weights, narrow, tensors[f"{prefix}matrix"], blocks),
        numbers=numbers,
        sums=tuple(tensors[f"{prefix}sums.{k}"] for k in range(n_coded)),
        folds=tuple(folds),
        # Files of moments that nothing was subtracted from need none.
        peak=Peak(**state.get("peak", {})),
        library=state.get("library"),
        rows_left_out=state.get("rows_left_out", 0),
    )
