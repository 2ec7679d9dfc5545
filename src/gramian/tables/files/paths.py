"""Which files a path, a list, a pattern or a folder stands for, their format, and their hive partitions.

The format is read off the suffix; an unknown suffix is settled by the first bytes. All files of one call have
one format. In a folder or under a pattern, directories named ``key=value`` give one more column, as Hive and
Spark write them.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from gramian.errors import DataError, FileFormatError, NoRowsError, SourceNotFoundError
from gramian.storage.suffixes import COMPRESSED, READ_AS
from gramian.tables.failures import reading

PathSource = str | os.PathLike[str]

FORMAT_NAMES = {"parquet": "Parquet", "csv": "CSV", "ipc": "Arrow IPC", "json": "JSON lines", "excel": "a spreadsheet"}
KNOWN = f"{', '.join(READ_AS)} (text also as .gz)"

OLD_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Files:
    """The files of one call, in reading order.

    Attributes
    ----------
    paths
        One path a file; a file listed twice is here twice.
    format
        ``"parquet"``, ``"csv"``, ``"ipc"``, ``"json"`` or ``"excel"``.
    describe
        Short words for error messages.
    partitions
        Per key of a hive-partitioned folder, one value a file (None for Hive's null).
    """

    paths: list[str]
    format: str
    describe: str
    partitions: dict[str, list[str | None]] = field(default_factory=dict)


def only(files: Files, *chosen: int) -> Files:
    """Return some of the files, by their places, with their own values of the keys of folders."""
    partitions = {key: [values[k] for k in chosen] for key, values in files.partitions.items()}
    return replace(files, paths=[files.paths[k] for k in chosen], partitions=partitions)


def facts(paths: Iterable[str]) -> dict[str, tuple[str, int, int]]:
    """Return per file its full name, its size in bytes and the time of its last change in nanoseconds."""
    known = {}
    for path in dict.fromkeys(paths):
        with reading(path, "a data file"):
            stat = os.stat(path)
        known[path] = (os.path.abspath(path), stat.st_size, stat.st_mtime_ns)
    return known


def is_path(source: object) -> bool:
    """Whether `source` names a file rather than holding data."""
    return isinstance(source, str | os.PathLike)


def find_files(source: PathSource | Sequence[PathSource]) -> Files:
    """Expand `source` into files that exist and share a format."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: list[tuple[str, str]] = []
    for item in given:
        found.extend(_expand(os.path.expanduser(os.fspath(item))))
    # A day without a row is no bytes of text, and nothing to read; every other format has some, or is broken.
    found = [pair for pair in found if not _is_empty_text(pair[1])] or found
    formats = _one_format([path for _, path in found])
    paths = [path for _, path in found]
    describe = os.path.basename(paths[0]) if len(paths) == 1 else f"{len(paths)} {FORMAT_NAMES[formats]} files"
    return Files(paths, formats, describe, _partitions(found))


def _expand(path: str) -> list[tuple[str, str]]:
    """Return (root, file) pairs; hive keys are looked for between the two."""
    if not path:
        raise SourceNotFoundError("the path is empty")
    # A file whose name holds brackets is itself before it is a pattern.
    if os.path.isdir(path):
        return [(path, file) for file in _folder(path)]
    if os.path.exists(path):
        return [(os.path.dirname(path), path)]
    if glob.has_magic(path):
        root = _fixed_part(path)
        matches = sorted(m for m in glob.glob(path, recursive=True) if not _skipped(m, root))
        # `**` also matches directories, whose files it matches too: only a pattern that names folders expands
        # them.
        files = [m for m in matches if os.path.isfile(m)]
        if files:
            return [(root, file) for file in files]
        if matches:
            return [(root, file) for folder in matches for file in _folder(folder)]
        raise SourceNotFoundError(f"no file matches {path!r}")
    if re.match(r"[a-z][a-z0-9]+://", path):
        raise SourceNotFoundError(
            f"{path} is not a local path; for remote files pass pyarrow.dataset.dataset({path!r})"
        )
    raise SourceNotFoundError(f"{path} does not exist")


def _fixed_part(pattern: str) -> str:
    """Return the directories of `pattern` before its first wildcard."""
    head = pattern
    while glob.has_magic(head):
        head = os.path.dirname(head)
    return head


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _skipped(path: str, root: str) -> bool:
    """Whether a matched path lies in, or is, something that writers leave beside the data."""
    parts = os.path.relpath(path, root or os.curdir).split(os.sep)
    return any(_hidden(part) for part in parts if part not in (os.curdir, os.pardir))


def _folder(folder: str) -> list[str]:
    """Return the data files under `folder`, sorted; hidden files and marks such as ``_SUCCESS`` are not."""
    everything: list[str] = []
    with reading(folder, "a folder"):
        for where, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = sorted(name for name in folders if not _hidden(name))
            everything.extend(os.path.join(where, name) for name in names if not _hidden(name))
    everything.sort()
    files = [path for path in everything if format_of_suffix(path)]
    # Notes and logs beside data files are left alone; files without any suffix may still be data.
    files = files or [path for path in everything if _sniff(path)]
    if not files:
        raise DataError(f"{folder} holds no data files; known suffixes are {KNOWN}")
    return files


def _raise(error: OSError) -> None:
    raise error


def split_suffix(path: str) -> tuple[str, str | None]:
    """Return the suffix in lower case without a compression suffix, and the compression."""
    stem, suffix = os.path.splitext(os.path.basename(path).lower())
    if suffix in COMPRESSED:
        return os.path.splitext(stem)[1], COMPRESSED[suffix]
    return suffix, None


def format_of_suffix(path: str) -> str | None:
    """Return the format that the suffix of `path` names, if any."""
    suffix, compression = split_suffix(path)
    kind = READ_AS.get(suffix)
    return None if compression and kind not in ("csv", "json") else kind


def _sniff(path: str) -> str | None:
    """Return the format that the first bytes show, if any."""
    with reading(path, "a data file"), open(path, "rb") as file:
        head = file.read(6)
        if head[:4] == b"PAR1":
            return "parquet"
        if head == b"ARROW1":
            return "ipc"
        if head[:2] == b"\x1f\x8b":
            import gzip

            file.seek(0)
            with gzip.open(file) as text:
                start = text.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
            return "json" if start[:1] in (b"{", b"[") else "csv"
    return None


def _is_empty_text(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) == 0 and format_of_suffix(path) in ("csv", "json")


def _one_format(paths: list[str]) -> str:
    formats: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        kind = format_of_suffix(path)
        if os.path.isfile(path) and os.path.getsize(path) == 0:
            wrong = NoRowsError if _is_empty_text(path) else FileFormatError
            raise wrong(f"{path} is empty (0 bytes)")
        kind = kind or _sniff(path)
        if kind is None and os.path.splitext(path)[1].lower() in OLD_SPREADSHEETS:
            raise FileFormatError(f"{path} is a spreadsheet of a kind that is not read; save it as .xlsx or .csv")
        if kind is None:
            raise FileFormatError(f"the format of {path} is not known; rename it to one of {KNOWN}")
        formats.setdefault(kind, path)
    if not formats:
        raise DataError("the list of files is empty")
    if len(formats) > 1:
        (a, first), (b, second) = list(formats.items())[:2]
        raise DataError(f"{first} is {FORMAT_NAMES[a]} and {second} is {FORMAT_NAMES[b]}; read one format at a time")
    return next(iter(formats))


def _partitions(found: Iterable[tuple[str, str]]) -> dict[str, list[str | None]]:
    """Return per hive key one value a file."""
    rows: list[dict[str, str | None]] = []
    paths: list[str] = []
    for root, path in found:
        between = os.path.relpath(os.path.dirname(path) or os.curdir, root or os.curdir)
        pairs = (part.split("=", 1) for part in between.split(os.sep) if "=" in part)
        rows.append({unquote(key): None if value == _HIVE_NULL else unquote(value) for key, value in pairs})
        paths.append(path)
    keys = list(rows[0])
    for row, path in zip(rows, paths, strict=True):
        if row.keys() != set(keys):
            missing = next(iter(set(keys) ^ row.keys()))
            raise DataError(
                f"{path} and {paths[0]} do not lie under the same partition keys: {missing!r} is on one path only"
            )
    return {key: [row[key] for row in rows] for key in keys}
