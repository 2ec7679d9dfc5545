"""Moments as named arrays: labels as bytes and offsets, counts and sums as they are, a small header beside them.

Whether moments read from a file mean anything: a checksum shows that a file is whole, not that its author was honest.

Kernels and sparse products trust shapes, types and indices: a table whose indices lead outside it would be read past its end.
So everything that anything later relies on is checked once, when a file is opened, in time linear in what it holds.
"""

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

from gramian.arrays import sparse as sp
from gramian.arrays.types import Array
from gramian.design.schema import Column, Labels, Schema
from gramian.errors import Argument, DataError, FileFormatError, PythonOnly
from gramian.moments.algebra.feasibility import Peak, peak_of, refuse_impossible
from gramian.moments.state.numbers import HIGHEST, Numbers
from gramian.moments.state.pair_counts import Block, PairCounts
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
    schema = Schema(tuple(map(Column.restored, description["schema"])))
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


_STORED_AS = {
    "booleans": (pa.bool_(), np.uint8),
    "unsigned": (pa.uint64(), np.uint64),
    "integers": (pa.int64(), np.int64),
    "floats": (pa.float64(), np.float64),
}
"""Labels that are no texts, by the name of their array in a file: their type, and that of the array."""


def _pack_array(values: pa.Array, tensors: Tensors, prefix: str) -> None:
    tensors[f"{prefix}missing"] = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.uint8)
    if pa.types.is_null(values.type):
        return
    if pa.types.is_large_string(values.type):
        filled = values.fill_null("")
        tensors[f"{prefix}offsets"] = np.cumsum([0, *pa.compute.binary_length(filled).to_numpy(zero_copy_only=False)])
        joined = b"".join(text.as_buffer().to_pybytes() if text.as_buffer() is not None else b"" for text in filled)
        tensors[f"{prefix}bytes"] = np.frombuffer(joined, dtype=np.uint8)
    else:
        name, kind = next((name, kind) for name, (label, kind) in _STORED_AS.items() if label == values.type)
        filled = values.fill_null(pa.scalar(0).cast(values.type))
        tensors[f"{prefix}{name}"] = np.asarray(filled.to_numpy(zero_copy_only=False), dtype=kind)


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
    for name in _STORED_AS:
        if f"{prefix}{name}" in tensors:
            stored = tensors[f"{prefix}{name}"]
            return pa.array(stored.astype(bool) if name == "booleans" else stored, mask=missing)
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


_ROUNDING = 1e-6
"""What sums of weights, added up in another order, may differ by, relative to them; far more than rounding makes."""


def check_moments(moments: Moments) -> None:
    """Raise `FileFormatError`, in one line, where some part of moments contradicts another.

    Examples
    --------
    >>> import gramian as gm
    >>> from dataclasses import replace
    >>> m = gm.collect([[1.0], [2.0]])
    >>> check_moments(m)
    >>> check_moments(replace(m, n_rows=-1))
    Traceback (most recent call last):
    gramian.errors.FileFormatError: the number of rows is -1
    """
    n, weight = moments.n_rows, moments.total_weight
    _require(type(n) is int and 0 <= n < 2**63, f"the number of rows is {n}")
    left_out = moments.rows_left_out
    _require(type(left_out) is int and 0 <= left_out < 2**63, f"the number of rows left out is {left_out}")
    _require(type(weight) in (int, float) and 0 <= weight < np.inf, f"the total weight is {weight}")
    for column in moments.schema:
        _require(column.valid, f"column {column.name!r} is described as {tuple(column)}")
    _require(moments.library in (None, "pandas", "polars"), f"tables are to be of {moments.library!r}")
    _require(type(weight) is float or weight == n, f"the total weight of {n} rows is {weight}")
    _check_levels(moments)
    _check_matrix(moments)
    _check_blocks(moments)
    peak: Any = moments.peak
    squares = peak.squares.values() if isinstance(peak.squares, dict) else ["?"]
    fine = all(type(value) in (int, float) and 0 <= value < np.inf for value in (peak.rows, peak.weight, *squares))
    fine = fine and peak.rows < 2**63
    _require(fine, "the largest sums are not numbers")
    _check_numbers(moments)
    for fold in moments.folds:
        _require(fold.schema == moments.schema, "a fold has other columns")
        _require(not fold.folds, "a fold has folds of its own")
        check_moments(fold)
    if moments.folds:
        _check_folds(moments)


def check_possible(moments: Moments) -> None:
    """Raise `FileFormatError` where no rows whatever have such moments: solvers rely on scatters that are not negative.

    What `check_moments` looks at, and that small tables of pairs share a matrix, is taken for granted.
    """
    # What overflows is neither below a bound nor above.
    with np.errstate(over="ignore", invalid="ignore"):
        peak = peak_of(moments)
        _require(all(map(np.isfinite, peak.squares.values())), "the squares of its numbers are beyond float64")
        # Rows that are kept as they are have a scatter.
        if moments.numbers.scatter is not None and peak.squares:
            try:
                refuse_impossible(moments, peak)
            except DataError as error:
                words = str(error).removeprefix("cannot subtract: ")
                raise FileFormatError(f"no rows have such sums: {words}") from None
    for fold in moments.folds:
        check_possible(fold)


def _check_folds(moments: Moments) -> None:
    """Raise where the rows of the folds, level by level, are not those of the whole."""
    _require(sum(fold.n_rows for fold in moments.folds) == moments.n_rows, "the folds do not add up to the rows")
    _require(
        abs(sum(fold.total_weight for fold in moments.folds) - moments.total_weight) <= _slack(moments),
        "the folds do not add up to the total weight",
    )
    for k, name in enumerate(moments.coded):
        labels, rows = moments.labels[k], np.zeros_like(moments.pairs.level_rows[k])
        for fold in moments.folds:
            own = fold.labels[k]
            codes = labels.codes(own.values) if len(own.values) else np.zeros(0, dtype=np.int64)
            codes = np.append(codes, len(labels.values) if labels.rare else -1) if own.rare else codes
            _require(bool((codes >= 0).all()), f"a fold has a level of column {name!r} that the whole has not")
            np.add.at(rows, codes, fold.pairs.level_rows[k])
        _require(
            bool((rows == moments.pairs.level_rows[k]).all()),
            f"the folds do not add up to the levels of column {name!r}",
        )


def _slack(moments: Moments) -> float:
    """Return what weights may differ by: those that were subtracted leave their rounding behind."""
    most = float(moments.peak.weight)
    return _ROUNDING * max(moments.total_weight, most if np.isfinite(most) else 0.0)


def _require(fine: Any, words: str) -> None:
    if not fine:
        raise FileFormatError(words)


def _is_array(values: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in kinds and values.shape == shape


def _counts_fine(values: Array) -> bool:
    """Whether counts or weights are finite and not negative."""
    return values.size == 0 or bool(np.isfinite(values).all() and values.min() >= 0)


def _total(rows: Array) -> int:
    """Return the sum of counts without wrapping past 2^63."""
    return (int((rows >> 32).sum()) << 32) + int((rows & 0xFFFFFFFF).sum())


def _check_levels(moments: Moments) -> None:
    pairs = moments.pairs
    for k, name in enumerate(moments.coded):
        labels, rows, weights = moments.labels[k], pairs.level_rows[k], pairs.level_weights[k]
        n_levels = len(labels)
        what = f"column {name!r} has {n_levels} labels"
        _require(
            _is_array(rows, "i", (n_levels,)) and rows.dtype == np.int64, f"{what}, and counts of another shape or type"
        )
        _require(
            _is_array(weights, "f" if moments.weighted else "i", (n_levels,)), f"{what}, and weights of another shape"
        )
        _require(_counts_fine(rows) and _counts_fine(weights), f"column {name!r} has a count below zero or not finite")
        _require(_total(rows) == moments.n_rows, f"the levels of column {name!r} do not add up to the rows")
        _require(
            abs(float(weights.sum()) - moments.total_weight) <= _slack(moments),
            f"the levels of column {name!r} do not add up to the total weight",
        )
        _require(len(labels.values.unique()) == len(labels.values), f"column {name!r} has a label twice")


def _check_matrix(moments: Moments) -> None:
    pairs, sizes = moments.pairs, moments.pairs.sizes
    narrow = pairs.narrow
    _require(
        list(narrow) == sorted(set(narrow)) and all(0 <= k < len(sizes) for k in narrow),
        "a column of the pairs is not there",
    )
    size = sum(sizes[k] for k in narrow)
    kinds = "f" if moments.weighted and narrow else "if"
    _require(_is_array(pairs.matrix, kinds, (size, size)), "the table of pairs has another shape or type")
    _require(_counts_fine(pairs.matrix), "a pair has a count below zero or not finite")
    _require(_symmetric(pairs.matrix), "the table of pairs is not symmetric")
    slack = _slack(moments)
    weights = np.concatenate([np.zeros(0, dtype=np.int64), *(pairs.level_weights[k] for k in narrow)])
    _require(_same(np.diagonal(pairs.matrix), weights, slack), "the table of pairs does not match the levels")
    for k, start in pairs.offsets().items():
        # Over the levels of a column every level adds up to itself; over its own, nothing is left beside the diagonal.
        along = pairs.matrix[:, start : start + sizes[k]].sum(axis=1)
        _require(
            _same(along, weights, slack), f"the pairs of column {moments.coded[k]!r} do not add up to their levels"
        )


def _check_blocks(moments: Moments) -> None:
    pairs, sizes = moments.pairs, moments.pairs.sizes
    narrow = set(pairs.narrow)
    wanted = {(i, j) for j in range(len(sizes)) for i in range(j) if not (i in narrow and j in narrow)}
    _require(set(pairs.blocks) == wanted, "a pair of columns is missing, or is there twice")
    for (i, j), block in pairs.blocks.items():
        what = f"the table of {moments.coded[i]!r} and {moments.coded[j]!r}"
        _require(block.shape == (sizes[i], sizes[j]), f"{what} has another shape than their levels")
        _require(block.dtype.kind in "if", f"{what} holds no counts")
        if sp.issparse(block):
            _check_csr(block, what)
        _require(
            _counts_fine(block.data if sp.issparse(block) else block), f"{what} has a count below zero or not finite"
        )
        for axis, k in ((1, i), (0, j)):
            _require(
                _same(np.asarray(block.sum(axis=axis)).ravel(), pairs.level_weights[k], _slack(moments)),
                f"{what} does not match their levels",
            )


def _check_csr(block: Any, what: str) -> None:
    """Raise where indices lead outside the table or are out of order."""
    n_rows, n_cols = block.shape
    starts, indices = block.indptr, block.indices
    fine = _is_array(starts, "i", (n_rows + 1,)) and _is_array(indices, "i", (len(block.data),))
    _require(fine and block.data.ndim == 1, f"{what} has indices of another shape or type")
    # Compared, not subtracted: differences of wild numbers wrap.
    _require(
        starts[0] == 0 and starts[-1] == len(indices) and bool((starts[1:] >= starts[:-1]).all()),
        f"{what} has rows out of order",
    )
    if len(indices):
        _require(indices.min() >= 0 and indices.max() < n_cols, f"{what} has an index outside its {n_cols} columns")
        rising = np.diff(indices) > 0
        # Where a row begins, an index may be smaller than the one before it.
        begins = starts[1:-1]
        rising[begins[(begins > 0) & (begins < len(indices))] - 1] = True
        _require(bool(rising.all()), f"{what} has indices out of order")


def _check_numbers(moments: Moments) -> None:
    numbers = moments.numbers
    p, q = len(numbers.names), len(numbers.names) + len(numbers.missing)
    missing = list(numbers.missing)
    _require(missing == sorted(set(missing)) and all(0 <= k < p for k in missing), "a number with gaps is not there")
    shapes = {"anchors": (p,), "sums": (q,), "powers": (HIGHEST - 2, p)}
    for what, shape in shapes.items():
        values = getattr(numbers, what)
        _require(_is_array(values, "f", shape), f"the {what} of the {p} numbers have another shape or type")
    for what in ("sums", "scatter", "rows"):
        values = getattr(numbers, what)
        _require(values is None or np.isfinite(values).all(), f"the {what} of the {p} numbers are not all numbers")
    gaps, weight, slack = numbers.sums[p:], moments.total_weight, _slack(moments)
    _require(
        bool(((gaps >= -slack) & (gaps <= weight + slack)).all()),
        "a number is missing in more rows than there are, or in less than none",
    )
    # A number that was never seen has no anchor.
    seen = np.full(p, float(weight))
    seen[missing] -= gaps
    _require(
        bool((np.isfinite(numbers.anchors) | np.isnan(numbers.anchors) & (seen <= slack)).all()),
        f"the anchors of the {p} numbers are not all numbers",
    )
    _require((numbers.scatter is None) != (numbers.rows is None), "the scatter is missing, or is there twice")
    if numbers.scatter is not None:
        _require(_is_array(numbers.scatter, "f", (q, q)), f"the scatter of the {p} numbers has another shape or type")
        _require(_symmetric(numbers.scatter), "the scatter is not symmetric")
    elif numbers.rows is not None:
        _require(
            _is_array(numbers.rows, "f", (len(numbers.rows), q)),
            f"the rows of the {p} numbers have another shape or type",
        )
    for name, sums, size in zip(moments.coded, moments.sums, moments.pairs.sizes, strict=True):
        _require(_is_array(sums, "f", (size, q)), f"the sums by level of column {name!r} have another shape or type")
        _require(np.isfinite(sums).all(), f"the sums by level of column {name!r} are not all numbers")


def _symmetric(matrix: Array) -> bool:
    if matrix.dtype.kind == "i":
        return bool((matrix == matrix.T).all())
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.sqrt(np.abs(np.diagonal(matrix)))
        near = np.abs(matrix - matrix.T) <= _ROUNDING * np.outer(scale, scale)
    return bool(near.all())


def _same(array: Array, expected: Array, slack: float) -> bool:
    """Whether counts are equal, or weights to rounding, which `slack` is at least."""
    if array.dtype.kind == "i" and expected.dtype.kind == "i":
        return bool((array == expected).all())
    return bool(np.allclose(array, expected, rtol=_ROUNDING, atol=slack))
