"""One file for values that travel: named arrays and a small header, checksummed, appearing whole or not at all.

The file is a safetensors file, so any safetensors reader can open it and opening it executes nothing. The header's `checksum`
is the SHA-256 of the whole file with that field set to zeros: it covers the header as well as the data. The file is
written under a temporary name in the same folder, flushed to disk, and renamed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gramian.errors import Call, FileFormatError, SourceNotFoundError
from gramian.storage.atomic import appearing

FORMAT_VERSION = 1
_BLANK = "0" * 64
_BLOCK = 2**22


def write(path: str | os.PathLike[str], tensors: Mapping[str, npt.NDArray], header: Mapping[str, str]) -> None:
    """Write arrays and a header of texts to one file."""
    with appearing(path) as temporary, open(temporary, "r+b") as file:
        _write_to(file, tensors, header)
        _sign(file, os.fspath(path))


def write_bytes(tensors: Mapping[str, npt.NDArray], header: Mapping[str, str]) -> bytes:
    """Return what `write` would write, for values that travel without a disk."""
    file = io.BytesIO()
    _write_to(file, tensors, header)
    _sign(file, "the bytes")
    return file.getvalue()


def _write_to(file: Any, tensors: Mapping[str, npt.NDArray], header: Mapping[str, str]) -> None:
    """Write a safetensors file: the length of a JSON header, the header, then the arrays.

    Not by safetensors' own writer, which puts a temporary file of its own beside the one it is to write: killed, it would
    leave that behind under a name that nobody knows.
    """
    entries: dict[str, Any] = {"__metadata__": _completed(header)}
    # The widest items first, so that each lies at a multiple of its own size.
    arrays = {name: np.ascontiguousarray(a) for name, a in sorted(tensors.items(), key=lambda t: -t[1].dtype.itemsize)}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for array in arrays.values():
        if array.size:
            file.write(array.data)


def _completed(header: Mapping[str, str]) -> dict[str, str]:
    return {**header, "format": "gramian", "format_version": str(FORMAT_VERSION), "checksum": _BLANK}


def _sign(file: Any, name: str) -> None:
    """Put the checksum into its place."""
    at = _checksum_position(_raw_header(file, name), name)
    digest = _digest(file, at)
    file.seek(at)
    file.write(digest.encode())


def read(path: str | os.PathLike[str]) -> tuple[dict[str, npt.NDArray], dict[str, str]]:
    """Return the arrays and the header of a file, refusing one that is not whole.

    Raises
    ------
    FileFormatError
        One line that names the file: not one of ours, truncated, corrupted, or from a newer version.
    """
    path = _existing(path)
    with _opened(path) as file:
        return _read(file, str(path))


def read_bytes(data: bytes, name: str) -> tuple[dict[str, npt.NDArray], dict[str, str]]:
    """Return the arrays and the header of what `write_bytes` gave, called `name` in errors; raises as `read` does."""
    return _read(io.BytesIO(data), name)


def _read(file: Any, name: str) -> tuple[dict[str, npt.NDArray], dict[str, str]]:
    raw = _raw_header(file, name)
    entries = _entries(raw, name)
    header = _metadata(entries, raw, name)
    if _digest(file, _checksum_position(raw, name)) != header.get("checksum"):
        raise FileFormatError(f"{name!r} is corrupted: its checksum does not match; write it again")
    version = header.get("format_version", "")
    if not (version.isascii() and version.isdigit()) or len(version) > 9 or int(version) > FORMAT_VERSION:
        raise FileFormatError(
            f"{name!r} has format version {version[:9]}, newer than the {FORMAT_VERSION} that this release reads; "
            f"upgrade gramian"
        )
    return _tensors(file, entries, len(raw), name), header


_TYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?",
}  # fmt: skip
"""The types of arrays that a file may hold, by safetensors' names."""

_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}


def _tensors(file: Any, entries: Mapping[str, Any], begins: int, name: str) -> dict[str, npt.NDArray]:
    """Return the arrays of a file, read into memory of their own: a map of a file that shrinks would kill the process.

    Places and sizes are compared with the file before anything is allocated. Arrays that share a place would be small in the
    file and large in memory, so together they may not be more than what there is.
    """
    room = free = file.seek(0, os.SEEK_END) - begins
    out = {}
    for key, entry in entries.items():
        if key == "__metadata__":
            continue
        try:
            kind, shape, (begin, end) = np.dtype(_TYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
            sizes = [*shape, begin, end]
            fine = all(type(size) is int and size >= 0 for size in sizes) and begin <= end <= room and len(shape) <= 32
            fine = fine and math.prod(shape) * kind.itemsize == end - begin <= free
        except (KeyError, TypeError, ValueError):
            fine = False
        if not fine:
            raise FileFormatError(f"{name!r} is corrupted: array {key[:60]!r} does not fit its place; write it again")
        free -= end - begin
        file.seek(begins + begin)
        values = np.empty(math.prod(shape), dtype=kind)
        if file.readinto(values.view(np.uint8)) != values.nbytes:
            raise FileFormatError(f"{name!r} became shorter while it was read; write it again")
        try:
            out[key] = values.reshape(shape)
        except (ValueError, OverflowError):
            # Of nothing there may be any number of columns: [0, 2**70].
            raise FileFormatError(
                f"{name!r} is corrupted: array {key[:60]!r} has an impossible shape; write it again"
            ) from None
    return out


def read_header(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the header alone, without reading the data or checking it."""
    path = _existing(path)
    with _opened(path) as file:
        raw = _raw_header(file, str(path))
    return _metadata(_entries(raw, str(path)), raw, str(path))


def _existing(path: str | os.PathLike[str]) -> Path:
    if "://" in os.fspath(path):
        raise FileFormatError(
            f"{os.fspath(path)!r}: moments and models are read from this machine; copy the file here first"
        )
    path = Path(os.path.expanduser(path))
    if path.is_dir():
        raise FileFormatError(f"{str(path)!r} is a folder; name the file in it")
    if not path.exists():
        raise SourceNotFoundError(f"no file at {str(path)!r}")
    if not path.is_file():
        # Opened, it would wait for a writer.
        raise FileFormatError(
            f"{str(path)!r} is a pipe or a device, not a file; write what comes from it to a file first"
        )
    return path


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except PermissionError:
        raise FileFormatError(f"{str(path)!r} cannot be read: permission denied") from None


_MARKS = ((b'"format":"gramian"',), (b'"format_version":"', b'"checksum":"'))
"""What the header of a file of ours holds, in two places: one damaged byte leaves one of them."""


def _foreign(name: str, header: bytes) -> FileFormatError:
    """Return the error for a header that cannot be read: of a damaged file of ours, or of something else."""
    if any(all(mark in header for mark in marks) for marks in _MARKS):
        return FileFormatError(f"{name!r} is corrupted: it is a gramian file whose header is damaged; write it again")
    return FileFormatError(f"{name!r} is not a gramian file; expected one written by ", Call("save"))


def _raw_header(file: Any, name: str) -> bytes:
    """Return the length and the JSON of a safetensors header, as bytes."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    file.seek(0)
    start = file.read(8)
    if len(start) < 8:
        raise FileFormatError(f"{name!r} is truncated or empty; write it again")
    (length,) = struct.unpack("<Q", start)
    text = file.read(min(length, size)) if length <= 100 * 2**20 else b""
    if not text.startswith(b"{"):
        file.seek(8)
        raise _foreign(name, file.read(_BLOCK))
    if len(text) < length:
        raise FileFormatError(f"{name!r} is truncated; write it again")
    return bytes(start + text)


_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MOST_VALUES = 2**19
"""Values, and texts, that a header may have: those of 60,000 arrays. Parsed, each takes about a hundred bytes."""


def _entries(raw: bytes, name: str) -> dict[str, Any]:
    """Return the parsed header, its values counted before they are made."""
    signs = (b",", b"{", b"[")
    count, texts = sum(map(raw.count, signs)), 0
    if count > _MOST_VALUES:
        for texts, text in enumerate(_TEXT.finditer(raw), start=1):
            count -= sum(raw.count(sign, *text.span()) for sign in signs)
            if texts > _MOST_VALUES:
                break
    if max(count, texts) > _MOST_VALUES:
        raise FileFormatError(
            f"{name!r} is corrupted: its header lists more than {_MOST_VALUES:,} values; write it again"
        )
    try:
        return dict(json.loads(raw[8:]))
    except (ValueError, TypeError, RecursionError):
        raise _foreign(name, raw) from None


def _metadata(entries: Mapping[str, Any], raw: bytes, name: str) -> dict[str, str]:
    header = entries.get("__metadata__")
    if not isinstance(header, dict) or header.get("format") != "gramian":
        raise _foreign(name, raw)
    if not all(isinstance(value, str) for value in header.values()):
        raise FileFormatError(f"{name!r} is corrupted: its header holds a value that is not text; write it again")
    return header


def _checksum_position(raw: bytes, name: str) -> int:
    """Return where the 64 digits stand in the file.

    Every quote inside a value is escaped in JSON, so this key cannot be imitated from within a text.
    """
    key = b'"checksum":"'
    at = raw.find(key)
    if at < 0:
        raise FileFormatError(f"{name!r} is corrupted: its header has no checksum; write it again")
    return at + len(key)


def _digest(file: Any, blank_at: int) -> str:
    digest = hashlib.sha256()
    file.seek(0)
    digest.update(file.read(blank_at))
    digest.update(_BLANK.encode())
    file.seek(blank_at + 64)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
