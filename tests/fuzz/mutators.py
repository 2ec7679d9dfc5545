"""Ways to harm bytes, arrays, Arrow columns and descriptions, each drawn from a generator: the same seed, the same harm."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pyarrow as pa

_WORDS = (0, 1, -1, 2, 7, 127, 128, 255, 2**15, 2**16, 2**30, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**62), 2**63 - 1)


def harmed_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with some bits, bytes, words or stretches changed; a third of the time one bit alone."""
    if rng.random() < 0.35:
        return flipped(rng, data)
    for _ in range(rng.integers(1, 4)):
        data = _HARMS[rng.integers(len(_HARMS))](rng, data)
    return data


def flipped(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with a single bit changed."""
    if not data:
        return data
    at = int(rng.integers(8 * len(data)))
    out = bytearray(data)
    out[at // 8] ^= 1 << (at % 8)
    return bytes(out)


def _word(rng: np.random.Generator, data: bytes) -> bytes:
    """Overwrite an aligned integer of 1, 2, 4 or 8 bytes."""
    width = int(rng.choice([1, 2, 4, 8]))
    if len(data) < width:
        return data
    at = int(rng.integers(len(data) // width)) * width
    value = int(_WORDS[rng.integers(len(_WORDS))]) % 2 ** (8 * width)
    if rng.random() < 0.4:
        value = (int.from_bytes(data[at : at + width], "little") + int(rng.integers(-8, 9))) % 2 ** (8 * width)
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _stretch(rng: np.random.Generator, data: bytes) -> tuple[int, int]:
    begin = int(rng.integers(len(data) + 1))
    return begin, min(len(data), begin + int(rng.integers(1, 65)))


def _cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _without(rng: np.random.Generator, data: bytes) -> bytes:
    begin, end = _stretch(rng, data)
    return data[:begin] + data[end:]


def _twice(rng: np.random.Generator, data: bytes) -> bytes:
    begin, end = _stretch(rng, data)
    return data[:end] + data[begin:]


def _moved(rng: np.random.Generator, data: bytes) -> bytes:
    begin, end = _stretch(rng, data)
    at = int(rng.integers(max(1, len(data) - (end - begin) + 1)))
    return data[:at] + data[begin:end] + data[at + end - begin :]


def _filled(rng: np.random.Generator, data: bytes) -> bytes:
    begin, end = _stretch(rng, data)
    return data[:begin] + bytes([int(rng.choice([0, 1, 127, 128, 255]))]) * (end - begin) + data[end:]


def _noise(rng: np.random.Generator, data: bytes) -> bytes:
    begin, end = _stretch(rng, data)
    return data[:begin] + rng.bytes(end - begin) + data[end:]


_HARMS = (flipped, _word, _word, _word, _cut, _without, _twice, _moved, _filled, _noise)

_FRAGMENTS = (
    "\0", "\ufeff", '"', '""', "'", ",", ";", "\t", "\n", "\r\n", "\r", "\\", "\\u0000", "\\ud800", "1e999", "-1e999", "NaN",
    "nan", "null", "true", "[]", "{}", "{", "}", "[", "]", "9223372036854775808", "-9223372036854775809", "1.5", "1,5",
    "2024-02-30", "30.02.2024", "NA", "n/a", "\x1b[31m", "\x1f\x8b", "é", "\U0001f600", " ", "#",
    "[" * 30_000, '{"a":' * 30_000, '"a":' + "[" * 300 + "]" * 300,
    "=1+1", "0x10", "1_000", "99999999999999999999999999", ":", "e", "+", "-", ".",
)  # fmt: skip


def harmed_text(rng: np.random.Generator, data: bytes) -> bytes:
    """Return text with fields, quotes, separators or lines put in, taken out or doubled; now and then its bytes are harmed."""
    if rng.random() < 0.25:
        return harmed_bytes(rng, data)
    for _ in range(rng.integers(1, 4)):
        lines = data.split(b"\n")
        how = rng.integers(6)
        at = int(rng.integers(len(lines)))
        if how <= 2:
            place = int(rng.integers(len(data) + 1))
            skipped = int(rng.integers(0, 4)) if rng.random() < 0.5 else 0
            fragment = _FRAGMENTS[rng.integers(len(_FRAGMENTS))].encode("utf-8", "surrogatepass")
            data = data[:place] + fragment + data[place + skipped :]
        elif how == 3:
            data = b"\n".join([*lines[:at], *lines[at + 1 :]])
        elif how == 4:
            data = b"\n".join([*lines[: at + 1], *lines[at:]])
        else:
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
            data = b"\n".join(lines)
    return data


_NAMES = (
    "\x1b[31mred\x1b[0m",
    '"a\nb"',
    "a\rb",
    "\x9b2J",
    "\u202eabc",
    "\x00",
    "NA",
    "-",
    "1.5",
    "",
    " ",
    "x" * 100_000,
    "color",
    "#",
    "sep=;",
)


def odd_header(rng: np.random.Generator, data: bytes) -> bytes:
    """Return text with one name in its first line replaced: by what steers a terminal, by a number, by nothing."""
    head, end, body = data.partition(b"\n")
    names = re.findall(rb"\w+", head)
    if not names:
        return data
    odd = _NAMES[rng.integers(len(_NAMES))].encode()
    return head.replace(names[rng.integers(len(names))], odd, 1) + end + body


_CELLS = (
    '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    '<row r="1048576"><c r="B1048576" t="str"><v>far</v></c></row>',
    '<row r="1048576"><c r="XFD1048576" s="0"/></row>',
    '<row r="4294967295"><c r="A4294967295"><v>1</v></c></row>',
    '<row r="18446744073709551617"><c r="A18446744073709551617"><v>1</v></c></row>',
    '<row r="7"><c r="ZZZZZZZ7"><v>1</v></c></row>',
    '<row r="0"><c r="A0"><v>1</v></c></row>',
    '<row><c><v>1</v></c><c t="s"><v>4000000000</v></c></row>',
    '<row r="3"><c r="A3" t="d"><v>2024-02-30</v></c><c r="B3" t="b"><v>7</v></c><c r="C3" t="e"><v>#N/A</v></c></row>',
    '<row r="9"><c r="C9" t="inlineStr"><is><t>NA</t></is></c><c r="D9" t="str"><v>n/a</v></c></row>',
    '<row r="2"><c r="A2"><v>1e999</v></c><c r="B2" s="99999"><v>1</v></c></row>',
    '<row r="1"><c r="A1" t="str"><v>a\x85\u202eb&#10;c</v></c></row>',
    "<row><c><v>1</v></c>" * 2000,
    '<!-- <c r="XFD9"> -->',
    "<c",
)
_DIMENSIONS = ("A1:XFD1048576", "A1", "B9:A1", "XFD1048576:XFD1048576", "A1:ZZZZZ99999999999", "")


def harmed_book(rng: np.random.Generator, parts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the parts of a spreadsheet, some of them with odd cells or dimensions, harmed, emptied or left out."""
    parts = dict(parts)
    sheet = next(name for name in parts if "worksheets/" in name)
    for _ in range(rng.integers(1, 4)):
        how, name = rng.integers(6), sheet if rng.random() < 0.5 else str(rng.choice(list(parts)))
        if how <= 2:
            odd = _CELLS[rng.integers(len(_CELLS))].encode("utf-8")
            place = b"<sheetData>" if rng.random() < 0.3 else b"</sheetData>"
            new = odd + place if place.startswith(b"</") else place + odd
            parts[sheet] = parts.get(sheet, b"").replace(place, new, 1)
        elif how == 3:
            size = b'<dimension ref="%s"/><sheetData>' % _DIMENSIONS[rng.integers(len(_DIMENSIONS))].encode()
            parts[sheet] = parts.get(sheet, b"").replace(b"<sheetData>", size, 1)
        elif how == 4 and name in parts:
            parts[name] = harmed_text(rng, parts[name])
        elif len(parts) > 1:
            parts.pop(name, None)
    return parts


def harmed_array(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Return an array with an entry, its shape, its type or its order changed."""
    values = values.copy()
    how = rng.integers(8)
    if how == 0 and values.size:
        whole, floats = (
            [-1, 0, 1, 2**30, 2**31, -(2**62), 2**62],
            [np.nan, np.inf, -1.0, 1e300, 0.0, 5e-324, 1e155, -0.0],
        )
        odd = whole if values.dtype.kind in "iu" else floats
        with np.errstate(all="ignore"):
            values.flat[rng.integers(values.size)] = np.array(odd[rng.integers(len(odd))]).astype(values.dtype)
    elif how == 1 and values.ndim:
        values = values[: rng.integers(0, len(values) + 1)]
    elif how == 2 and values.ndim:
        values = np.concatenate([values, values[-1:]])
    elif how == 3:
        with np.errstate(all="ignore"):
            values = values.astype(rng.choice(["float32", "int32", "int64", "float64", "uint8"]))
    elif how == 4:
        values = values.reshape(-1) if values.ndim > 1 else values[:, None] if values.ndim else values
    elif how == 5:
        values = np.ascontiguousarray(values.T)
    elif how == 6 and values.dtype.kind == "f":
        values = values * rng.choice([-1.0, 0.0, 2.0, 1e160, 1e-160])
    elif values.size:
        values = np.ascontiguousarray(rng.permutation(values.ravel()).reshape(values.shape))
    return values


def harmed_json(rng: np.random.Generator, value: Any) -> Any:
    """Return a description with one entry changed, dropped or replaced."""
    odd = [
        None,
        -1,
        2**40,
        1.5,
        "x",
        [],
        {},
        True,
        {"float": "nan"},
        {"array": "nothing", "shape": [1]},
        "x" * 5000,
        10**30,
    ]
    odd += [{"labels_array": ["a"], "shape": [1], "width": 2**28}]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[rng.integers(len(value))]
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: harmed_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = int(rng.integers(len(value)))
        between = [] if rng.random() < 0.2 else [harmed_json(rng, value[at])]
        return [*value[:at], *between, *value[at + 1 :]]
    return odd[rng.integers(len(odd))]


def harmed_container(
    rng: np.random.Generator, tensors: dict[str, np.ndarray], header: dict[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and the header of a moments or model file, one or two of their parts changed."""
    tensors = dict(tensors)
    header = {k: v for k, v in header.items() if k not in ("checksum", "format", "format_version")}
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.6 and tensors:
            name = list(tensors)[rng.integers(len(tensors))]
            other = list(tensors)[rng.integers(len(tensors))]
            drawn = rng.random()
            if drawn < 0.1:
                del tensors[name]
            elif drawn < 0.2:
                tensors[name], tensors[other] = tensors[other], tensors[name]
            elif drawn < 0.25:
                tensors[name] = tensors[other]
            else:
                tensors[name] = harmed_array(rng, tensors[name])
        else:
            key = rng.choice([key for key in ("schema", "state", "parameters", "class", "kind") if key in header])
            if key in ("class", "kind"):
                header[key] = str(rng.choice(["PCA", "moments", "model", "Moments", ""]))
            else:
                header[key] = json.dumps(harmed_json(rng, json.loads(header[key])))
    return tensors, header


def harmed_sparse(rng: np.random.Generator, matrix: Any) -> Any:
    """Return a scipy sparse matrix of any format, some of its indices, pointers or values changed."""
    matrix = matrix.asformat(rng.choice(["csr", "csc", "coo", "bsr"])).copy()
    names = ["row", "col", "data"] if matrix.format == "coo" else ["indices", "indptr", "data"]
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(3)]
        values = getattr(matrix, name)
        if not len(values):
            continue
        if name == "data":
            values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, 1e200, -1.0, 0.0])
        elif rng.random() < 0.2 and matrix.format != "coo":
            setattr(matrix, name, values[: rng.integers(len(values))])
        else:
            wild = np.array(_WORDS[rng.integers(len(_WORDS))]).astype(values.dtype)
            values[rng.integers(len(values))] = wild if rng.random() < 0.7 else rng.integers(8)
    return matrix


def harmed_column(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    """Return an Arrow array whose buffers, indices, length or count of nulls are not what they must be."""
    while True:
        try:
            return _harmed_column(rng, column)
        except pa.ArrowException:
            # Arrow itself refuses to make some of them.
            continue


def _harmed_column(rng: np.random.Generator, column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        if rng.random() < 0.3:
            entries = harmed_column(rng, column.dictionary)
            return pa.DictionaryArray.from_arrays(column.indices, entries, safe=False)
        indices = column.indices.to_numpy(zero_copy_only=False).copy()
        indices = np.nan_to_num(indices).astype(column.type.index_type.to_pandas_dtype())
        for _ in range(rng.integers(1, 4)):
            with np.errstate(all="ignore"):
                wild = np.array(_WORDS[rng.integers(len(_WORDS))]).astype(indices.dtype)
            indices[rng.integers(len(indices))] = wild
        return pa.DictionaryArray.from_arrays(pa.array(indices), column.dictionary, safe=False)
    buffers = column.buffers()
    there = [k for k, buffer in enumerate(buffers) if buffer is not None]
    how = rng.integers(4)
    n, nulls = len(column), -1
    if how <= 1 and there:
        # Where there are offsets they do more harm than text.
        k = there[1] if len(there) > 2 - (buffers[0] is None) and rng.random() < 0.6 else int(rng.choice(there))
        buffers[k] = pa.py_buffer(harmed_bytes(rng, buffers[k].to_pybytes()))
    elif how == 2:
        n = int(rng.choice([n + 1, n + 100, 2 * n, 2**20, 2**31]))
    else:
        nulls = int(rng.choice([0, 1, n, n + 1]))
    return pa.Array.from_buffers(column.type, n, buffers, null_count=nulls)
