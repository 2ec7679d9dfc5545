"""Which fold a row belongs to: by position, or by a seeded hash of a column's value.

By position, every fold occurs once in each k consecutive rows, in an order drawn from the seed and the number of that
group of k, so folds have equal sizes and do not depend on batches. By value, rows that share it share the fold, and the
fold is the same wherever the value is met: in another file, on another machine, with another engine. Whole numbers hash
alike whether they arrive as integers or as floats, because a file with one missing value turns the former into the latter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.design import kernels
from gramian.design.kinds import is_date
from gramian.design.labels import canonical, label_family
from gramian.errors import Argument, ColumnError
from gramian.parameters import check, whole

MAX_FOLDS = 255
_MISSING = np.uint64(0x6D697373696E67)


def check_folds(folds: int) -> int:
    """Return the number of folds, 0 for none."""
    check("folds", folds, 0, whole(2, MAX_FOLDS))
    return int(folds)


def by_position(first_row: int, n_rows: int, folds: int, seed: int) -> npt.NDArray[np.uint8]:
    """Return the folds of `n_rows` consecutive rows, the first of them at `first_row` of the source."""
    out = np.empty(n_rows, dtype=np.uint8)
    kernels.draw_folds(first_row, folds, mix(np.array([seed], dtype=np.int64).view(np.uint64), 0)[0], out)
    return out


def by_value(column: pa.Array, folds: int, seed: int, *, name: str) -> npt.NDArray[np.uint8]:
    """Return the fold of every row from its value in one column."""
    if label_family(column.type) is None and not is_date(column.type):
        raise ColumnError(
            Argument("fold_by", name), f" holds {column.type}, which has no value to hash; name another column"
        )
    if not pa.types.is_dictionary(column.type):
        column = (
            column.dictionary_encode()
            if not pa.types.is_null(column.type)
            else pa.array([None] * len(column), pa.dictionary(pa.int32(), pa.string()))
        )
    hashes = np.append(hash_labels(column.dictionary, seed), mix(np.array([_MISSING]), seed))
    entry_folds = (hashes % np.uint64(folds)).astype(np.uint8)
    indices = column.indices.fill_null(len(column.dictionary)) if column.indices.null_count else column.indices
    return entry_folds[np.asarray(indices.to_numpy(zero_copy_only=False))]


def hash_labels(labels: pa.Array, seed: int) -> npt.NDArray[np.uint64]:
    """Return 64 even bits a label, the same wherever the label is met; missing labels hash alike."""
    if is_date(labels.type):
        labels = labels.cast(pa.timestamp("us") if not pa.types.is_time(labels.type) else pa.time64("us")).cast(
            pa.int64()
        )
    family = label_family(labels.type)
    if family == "text":
        text = labels.cast(pa.large_string())
        offsets = (
            np.frombuffer(text.buffers()[1], dtype=np.int64, count=len(text) + 1, offset=8 * text.offset)
            if len(text)
            else np.zeros(1, dtype=np.int64)
        )
        data = text.buffers()[2] if len(text) else None
        letters = np.frombuffer(data, dtype=np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        hashes = np.empty(len(text), dtype=np.uint64)
        kernels.hash_text(offsets, letters, hashes)
        hashes = mix(hashes, seed)
    elif family in ("number", "boolean"):
        labels = canonical(labels)
        hashes = mix(_bits(labels), seed)
    else:
        hashes = mix(np.full(len(labels), _MISSING), seed)
    if labels.null_count:
        hashes[labels.is_null().to_numpy(zero_copy_only=False)] = mix(np.array([_MISSING]), seed)[0]
    return hashes


def _bits(labels: pa.Array) -> npt.NDArray[np.uint64]:
    """Return 64 bits a label, the same for a whole number in every type."""
    if not pa.types.is_floating(labels.type):
        kind = pa.uint64() if pa.types.is_uint64(labels.type) else pa.int64()
        return np.ascontiguousarray(labels.cast(kind).fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)
    values = labels.fill_null(0.0).to_numpy(zero_copy_only=False)
    signed = (values == np.rint(values)) & (np.abs(values) < 2.0**63)
    large = (values == np.rint(values)) & (values >= 2.0**63) & (values < 2.0**64)
    bits = np.where(signed, np.where(signed, values, 0.0).astype(np.int64).view(np.uint64), values.view(np.uint64))
    return np.where(large, np.where(large, values, 0.0).astype(np.uint64), bits)


def mix(bits: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Scramble 64 bits (splitmix64), so that the remainder by a small k is even."""
    with np.errstate(over="ignore"):
        state = bits + np.uint64(0x9E3779B97F4A7C15) * np.uint64((2 * seed + 1) % 2**64)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))
