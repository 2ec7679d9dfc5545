"""Files that are not on a disk of this machine: `s3://`, `gs://`, `abfss://`, `hdfs://` through Arrow, the rest through fsspec.

A path with a scheme stays that text everywhere; here, and only here, it becomes a filesystem and a path in it. One filesystem
is kept for each scheme, host (or bucket) and query, so that a thousand files of a bucket share their connections. Arrow's own
filesystems come first: they read without Python's lock. What they do not know goes to fsspec, whose `https://` needs
aiohttp (`gramian[remote]`).

Credentials and endpoints are those of each service's own tools: its environment variables and configuration files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import has_magic
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pyarrow as pa
import pyarrow.fs as pafs

from gramian.errors import DataError, GramianError, MissingPackageError, SourceNotFoundError, missing_package, optional
from gramian.tables.schemas import one_line

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/?]*)([^?]*)(.*)", re.DOTALL)
# A question mark is a wildcard, unless what follows it reads like the query of an address.
_QUERY = re.compile(r"\?([\w.-]+=.*)", re.DOTALL)

_ARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "gcs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or sign in with the az program",
    "abfss": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or sign in with the az program",
    "hf": "HF_TOKEN",
}
_DENIED = re.compile(
    r"ACCESS_DENIED|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|HTTP status 40[13]"
    r"|\b40[13]\b.*(?:Forbidden|Unauthorized)|[Pp]ermission|[Cc]redential|AuthenticationException|OAuth2 access token"
    r"|[Aa]nonymous caller|Unauthenticated|UNAUTHENTICATED",
)
_UNREACHED = re.compile(
    r"NETWORK_CONNECTION|resolve|Cannot connect|[Cc]onnection refused|timed? ?out|Timeout", re.DOTALL
)
_ABSENT = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|HTTP status 404|\b404\b")
_GIVE_UP_SECONDS = "10"
_WEB = ("fsspec", "aiohttp")


def is_remote(path: str) -> bool:
    """Whether a path has a scheme that leads elsewhere.

    Examples
    --------
    >>> [is_remote(path) for path in ("s3://bucket/x.parquet", "https://host/x.csv", "x.csv", "file:///x.csv", "C:/x.csv")]
    [True, True, False, False, False]
    """
    match = _URL.match(path)
    return match is not None and match[1].lower() != "file"


def local_path(path: str) -> str:
    """Return a `file://` path without its scheme, any other as it is.

    Examples
    --------
    >>> local_path("file:///data/x.csv"), local_path("x.csv")
    ('/data/x.csv', 'x.csv')
    """
    return path[7:] if path[:7].lower() == "file://" else path


def without_query(path: str) -> str:
    """Return an address without what follows its question mark, where that is a query and no wildcard.

    Examples
    --------
    >>> without_query("https://host/x.csv?key=1"), without_query("s3://bucket/day-?.csv")
    ('https://host/x.csv', 's3://bucket/day-?.csv')
    """
    return _QUERY.sub("", path, count=1) if is_remote(path) else path


def _split(path: str) -> tuple[str, str, str, str]:
    """Return scheme, host or bucket, path and query."""
    plain = without_query(path)
    match = _URL.match(plain)
    assert match is not None
    return match[1].lower(), match[2], match[3] + match[4], path[len(plain) + 1 :]


def place(path: str) -> tuple[pafs.FileSystem, str]:
    """Return the filesystem of a remote path, and the path in it."""
    scheme, host, rest, query = _split(path)
    # The query of a web address belongs to the file; to others it says how to connect.
    web = scheme in ("http", "https")
    with reaching(path):
        # Where the environment says that S3 is, as its own tools take it.
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        filesystem, root = _filesystem(scheme, host, "" if web else query, endpoint)
    return filesystem, root.rstrip("/") + rest + (f"?{query}" if web and query else "")


@lru_cache(maxsize=64)
def _filesystem(scheme: str, host: str, query: str, endpoint: str) -> tuple[pafs.FileSystem, str]:
    if scheme in _ARROW:
        options = dict(parse_qsl(query))
        if scheme == "s3" and endpoint and "endpoint_override" not in options:
            kind, _, place = endpoint.rpartition("://")
            options |= {"endpoint_override": place.rstrip("/"), "scheme": kind or "https"}
        if scheme == "s3" and not ({"region", "endpoint_override"} & set(options)):
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            options |= {"region": region} if region else {}
        if scheme == "s3" and options.pop("anonymous", "") == "true":
            # Arrow's own addresses have no word for it.
            return pafs.S3FileSystem(anonymous=True, **options), host
        if scheme in ("gs", "gcs"):
            # By default it tries for a quarter of an hour to find out who is asking.
            options.setdefault("retry_limit_seconds", _GIVE_UP_SECONDS)
        opened: tuple[pafs.FileSystem, str] = pafs.FileSystem.from_uri(
            f"{scheme}://{host}/{'?' + urlencode(options) if options else ''}"
        )
        return opened
    fsspec = optional("fsspec", f"a {scheme}:// path", *_WEB, extra="remote")
    filesystem, root = fsspec.core.url_to_fs(f"{scheme}://{host}")
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), root


@contextmanager
def reaching(path: str) -> Iterator[None]:
    """Turn what goes wrong on the way to a remote file into one line that says what to install or to set."""
    plain, scheme = without_query(path), _split(path)[0]
    try:
        yield
    except (GramianError, MemoryError):
        raise
    except FileNotFoundError:
        raise SourceNotFoundError(f"{plain} does not exist") from None
    except ImportError as error:
        if scheme in ("http", "https"):
            raise missing_package(f"a {scheme}:// path", *_WEB, extra="remote") from None
        raise MissingPackageError(f"{plain} needs another package: {one_line(error)}") from None
    except Exception as error:
        text = f"{type(error).__name__}: {one_line(error, 2_000)}"
        if "Protocol not known" in text or "Unrecognized filesystem" in text:
            raise SourceNotFoundError(
                f"{plain}: neither pyarrow nor fsspec knows {scheme}:// paths; install the fsspec package of that service"
            ) from error
        if _ABSENT.search(text):
            raise SourceNotFoundError(f"{plain} does not exist") from error
        if _DENIED.search(text):
            step = f"; set {_CREDENTIALS[scheme]}" if scheme in _CREDENTIALS else ""
            raise DataError(f"{plain} cannot be read: access denied{step}") from error
        if _UNREACHED.search(text):
            raise DataError(f"{plain} cannot be reached: {one_line(error)}") from error
        raise DataError(f"{plain} cannot be read: {one_line(error)}") from error


def open_file(path: str) -> Any:
    """Open a file, on this machine or not, for reading at any place."""
    if not is_remote(path):
        return open(path, "rb")
    filesystem, inside = place(path)
    with reaching(path):
        if is_web(path) and not filesystem.handler.fs.info(inside).get("partial"):
            # A server that does not say that it gives parts of a file may give none: it is fetched whole.
            return pa.BufferReader(filesystem.open_input_stream(inside).read())
        return filesystem.open_input_file(inside)


def readable(path: str) -> str | pa.NativeFile:
    """Return what Arrow reads a file from: a local path as it is, a remote file opened."""
    return open_file(path) if is_remote(path) else path


def open_stream(path: str, compression: str | None = None) -> pa.NativeFile:
    """Open a remote file for reading from its beginning, decompressed where asked for."""
    filesystem, inside = place(path)
    with reaching(path):
        return filesystem.open_input_stream(inside, compression=compression)


def look_at(path: str) -> pafs.FileInfo:
    """Return what is known of a remote path: whether it is a file or a folder, its size, the time of its last change."""
    filesystem, inside = place(path)
    with reaching(path):
        return filesystem.get_file_info(inside.rstrip("/") if not is_web(path) else inside)


def is_web(path: str) -> bool:
    """Whether a path is a web address, whose folders are pages that list files, if they are anything."""
    return _split(path)[0] in ("http", "https")


def files_below(path: str, *, recursive: bool = True) -> dict[str, int | None]:
    """Return the paths of the files in a remote folder with their sizes, sorted; a size is None where it is not told."""
    filesystem, inside = place(path)
    with reaching(path):
        listed = filesystem.get_file_info(pafs.FileSelector(inside, allow_not_found=True, recursive=recursive))
    plain, query = without_query(path).rstrip("/"), path[len(without_query(path)) :]
    base = inside.rstrip("/") + "/"
    files = [info for info in listed if info.type != pafs.FileType.Directory and info.path.startswith(base)]
    sizes = {info.path[len(base) :]: info.size for info in files}
    return {f"{plain}/{name}{query}": sizes[name] for name in sorted(sizes) if name and not name.endswith("/")}


def matching(pattern: str) -> dict[str, int | None]:
    """Return the paths of the remote files that a pattern matches with their sizes; `**` stands for any folders."""
    plain, query = without_query(pattern), pattern[len(without_query(pattern)) :]
    parts = plain.split("/")
    base = fixed_part(pattern)
    wanted = parts[base.count("/") + 1 :]
    listed = files_below(base + query, recursive=len(wanted) > 1 or wanted == ["**"])
    return {
        path: size for path, size in listed.items() if fits(wanted, without_query(path)[len(base) + 1 :].split("/"))
    }


def fixed_part(pattern: str) -> str:
    """Return a remote pattern up to its first wildcard, by whole folders.

    Examples
    --------
    >>> fixed_part("s3://bucket/year=*/x.parquet")
    's3://bucket'
    """
    parts = without_query(pattern).split("/")
    # The scheme, nothing, and the host or bucket hold no wildcards.
    first = next((k for k, part in enumerate(parts) if k > 2 and has_magic(part)), None)
    if first is None:
        raise DataError(f"{pattern} is not a pattern of files: wildcards must come after the host or bucket")
    return "/".join(parts[:first])


def fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a pattern.

    Examples
    --------
    >>> fits(["**", "day-?.csv"], ["a", "b", "day-1.csv"]), fits(["*.csv"], ["a", "b.csv"])
    (True, False)
    """
    if not parts or not names:
        return not parts and not names
    if parts[0] == "**":
        return any(fits(parts[1:] or ["*"], names[k:]) for k in range(len(names)))
    return fnmatchcase(names[0], parts[0]) and fits(parts[1:], names[1:])


def facts_of(path: str) -> tuple[str, int, int]:
    """Return the address of a remote file, its size and the time of its last change, -1 where they are not told."""
    info = look_at(path)
    return without_query(path), -1 if info.size is None else info.size, -1 if info.mtime_ns is None else info.mtime_ns
