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
from typing import NamedTuple
from urllib.parse import unquote

from gramian.errors import Call, DataError, FileFormatError, NoRowsError, PythonOnly, SourceNotFoundError
from gramian.storage import container
from gramian.storage.atomic import COMPRESSED, READ_AS
from gramian.tables.files import remote
from gramian.tables.schemas import reading

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
        if remote.is_remote(path):
            known[path] = remote.facts_of(path)
            continue
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
    files: list[_Found] = []
    for item in given:
        path = remote.local_path(os.fspath(item))
        files.extend(_expand_remote(path) if remote.is_remote(path) else _expand(os.path.expanduser(path)))
    # A text file of a day without rows has no bytes. In every other format an empty file is broken.
    files = [file for file in files if file.size != 0 or format_of_suffix(file.path) not in ("csv", "json")] or files
    formats = _one_format(files)
    paths = [file.path for file in files]
    describe = (
        os.path.basename(remote.without_query(paths[0]))
        if len(paths) == 1
        else f"{len(paths)} {FORMAT_NAMES[formats]} files"
    )
    return Files(paths, formats, describe, _partitions(files))


class _Found(NamedTuple):
    """A file: hive keys are looked for between `root` and its path; the size is None where it is not known."""

    root: str
    path: str
    size: int | None


def _local(root: str, path: str) -> _Found:
    return _Found(root, path, os.path.getsize(path) if os.path.isfile(path) else None)


def _expand_remote(path: str) -> list[_Found]:
    """Return the files that a remote path stands for: itself, those of a folder, or those that match."""
    plain = remote.without_query(path)
    info = remote.look_at(path)
    if info.is_file and not plain.endswith("/"):
        return [_Found(os.path.dirname(plain), path, info.size)]
    if glob.has_magic(plain):
        root, files = remote.fixed_part(path), remote.matching(path)
        if not files:
            raise SourceNotFoundError(f"no file matches {plain!r}")
    else:
        root, files = plain.rstrip("/"), remote.files_below(path)
        if not files:
            if remote.is_web(path):
                # A server that refuses says so only when it is asked for the file itself.
                remote.open_stream(path).close()
            raise SourceNotFoundError(f"{plain} does not exist")
    seen = {name: size for name, size in files.items() if not _skipped(remote.without_query(name), root)}
    data = {name: size for name, size in seen.items() if format_of_suffix(name)} or seen
    if not data:
        raise DataError(f"{plain} holds no data files; known suffixes are {KNOWN}")
    return [_Found(root, name, size) for name, size in data.items()]


def _expand(path: str) -> list[_Found]:
    """Return the files that a path on this machine stands for."""
    if not path:
        raise SourceNotFoundError("the path is empty")
    # A file whose name holds brackets is itself before it is a pattern.
    if os.path.isdir(path):
        return [_local(path, file) for file in _folder(path)]
    if os.path.exists(path):
        if not os.path.isfile(path):
            raise FileFormatError(
                f"{path} is a pipe or a device, not a file: its rows can be read only once, and a table is looked at "
                "before it is read; write them to a file first",
                PythonOnly(", or pass batches"),
            )
        return [_local(os.path.dirname(path), path)]
    if glob.has_magic(path):
        root = _fixed_part(path)
        matches = sorted(m for m in glob.glob(path, recursive=True) if not _skipped(m, root))
        # `**` also matches directories, whose files it matches too: only a pattern that names folders expands
        # them.
        files = [m for m in matches if os.path.isfile(m)]
        if files:
            return [_local(root, file) for file in files]
        if matches:
            return [_local(root, file) for folder in matches for file in _folder(folder)]
        raise SourceNotFoundError(f"no file matches {path!r}")
    if re.match(r"[a-z][a-z0-9+.-]+:/[^/]", path):
        raise SourceNotFoundError(f"{path} does not exist; a remote path is a text with two slashes, not a Path")
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
    stem, suffix = os.path.splitext(os.path.basename(remote.without_query(path)).lower())
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
    with reading(path, "a data file"), remote.open_file(path) as file:
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


def _ours(path: str) -> str | None:
    """Return what a file of this package holds; None for any other."""
    try:
        return {"moments": "a sum of rows (moments)", "model": "a model"}.get(
            container.read_header(path).get("kind", "model")
        )
    except (DataError, OSError):
        return None


def _one_format(files: Sequence[_Found]) -> str:
    formats: dict[str, str] = {}
    for path, size in dict.fromkeys((file.path, file.size) for file in files):
        kind = format_of_suffix(path)
        if size == 0:
            wrong = NoRowsError if kind in ("csv", "json") else FileFormatError
            raise wrong(f"{path} is empty (0 bytes)")
        kind = kind or _sniff(path)
        if kind is None and os.path.splitext(remote.without_query(path))[1].lower() in OLD_SPREADSHEETS:
            raise FileFormatError(f"{path} is a spreadsheet of a kind that is not read; save it as .xlsx or .csv")
        if kind is None and (ours := _ours(path)) is not None:
            raise FileFormatError(
                f"{path} holds {ours}, which has no rows to read", PythonOnly("; open it with ", Call("load"))
            )
        if kind is None:
            raise FileFormatError(f"the format of {path} is not known; rename it to one of {KNOWN}")
        formats.setdefault(kind, path)
    if not formats:
        raise DataError("the list of files is empty")
    if len(formats) > 1:
        (a, first), (b, second) = list(formats.items())[:2]
        raise DataError(f"{first} is {FORMAT_NAMES[a]} and {second} is {FORMAT_NAMES[b]}; read one format at a time")
    return next(iter(formats))


def _partitions(files: Iterable[_Found]) -> dict[str, list[str | None]]:
    """Return per hive key one value a file."""
    rows: list[dict[str, str | None]] = []
    paths: list[str] = []
    known: dict[tuple[str, str], dict[str, str | None]] = {}
    for root, path, _ in files:
        folder = os.path.dirname(remote.without_query(path))
        if (root, folder) not in known:
            between = os.path.relpath(folder or os.curdir, root or os.curdir)
            pairs = (part.split("=", 1) for part in between.split(os.sep) if "=" in part)
            known[root, folder] = {
                unquote(key): None if value == _HIVE_NULL else unquote(value) for key, value in pairs
            }
        rows.append(known[root, folder])
        paths.append(path)
    keys = list(rows[0])
    for row, path in zip(rows, paths, strict=True):
        if row.keys() != set(keys):
            missing = next(iter(set(keys) ^ row.keys()))
            raise DataError(
                f"{path} and {paths[0]} do not lie under the same partition keys: {missing!r} is on one path only"
            )
    return {key: [row[key] for row in rows] for key in keys}
