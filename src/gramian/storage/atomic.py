"""Files that appear whole or not at all.

The suffixes of table files, in one list: what each is read as, and which can be written.

Importing this module imports nothing else, so that a wrong suffix can be refused before anything heavy is loaded.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.errors import DataError, SourceNotFoundError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A disk without room, a quota that is used up, a file longer than this process may write."""


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a temporary file beside `path`; it takes that name when the block ends well, else it vanishes.

    A symbolic link is written through: the file that it leads to is replaced (or made), and the link stays. A pipe or a device
    is refused: the new file would take its place, and nobody who waits at it would see a byte.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with appearing(folder / "note.txt") as temporary:
    ...     _ = pathlib.Path(temporary).write_text("whole")
    ...     (folder / "note.txt").exists()
    False
    >>> (folder / "note.txt").read_text()
    'whole'
    """
    path = place_for(path)
    _remove_abandoned(path)
    # The name is known before the file is there: a signal in between finds nothing it would have to leave behind.
    temporary = str(path.parent / f".{path.name}.{secrets.token_hex(6)}.part")
    handle: int | None = None
    try:
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        except PermissionError:
            raise DataError(f"cannot write {str(path)!r}: permission denied") from None
        if not _locked(handle):
            os.close(handle)
            handle = None
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        # Private until it is whole; then it gets what the user's umask gives any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            # Whoever wrote knew a handle and no name.
            said = f"{os.strerror(error.errno)}; nothing was written: free some space, or name another place"
            raise OSError(error.errno, said, str(path)) from error
        raise
    finally:
        if handle is not None:
            os.close(handle)


def place_for(path: str | os.PathLike[str]) -> Path:
    """Return the place that a file of this name is written to; raise where there can be none, before the work begins."""
    if "://" in os.fspath(path):
        raise DataError(
            f"cannot write {os.fspath(path)!r}: files are written on this machine; write one here and copy it there"
        )
    place = Path(os.path.expanduser(path))
    place = Path(os.path.realpath(place)) if os.path.islink(place) else place
    if not place.parent.is_dir():
        raise SourceNotFoundError(
            f"cannot write {str(place)!r}: the folder {str(place.parent)!r} does not exist; make it first"
        )
    if place.is_dir():
        raise DataError(f"cannot write {str(place)!r}: it is a folder; name a file in it")
    if place.exists() and not place.is_file():
        raise DataError(f"cannot write {str(place)!r}: it is a pipe or a device; name a file")
    return place


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, and what a process that was killed while writing it left beside it; neither need be there."""
    _remove_abandoned(Path(path))
    Path(path).unlink(missing_ok=True)


def _locked(handle: int) -> bool:
    """Lock an open file for as long as it stays open; False where another process holds it, or the system has no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_abandoned(path: Path) -> None:
    """Remove what a process that was killed left beside `path`: a temporary file that nobody holds the lock of."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with contextlib.suppress(OSError), open(left, "rb") as file:
            if _locked(file.fileno()):
                left.unlink()


READ_AS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "ipc",
    ".arrows": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
"""The format that a suffix stands for."""

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""What may follow the suffix of a text format."""

WRITTEN_AS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
"""The format that a table is written in."""


def written_as(path: str) -> str | None:
    """Return the format that a file of this name is written in, None where it names none.

    Examples
    --------
    >>> written_as("scores.CSV.gz"), written_as("scores.xlsx")
    ('csv', None)
    """
    return next((kind for suffix, kind in WRITTEN_AS.items() if path.lower().endswith(suffix)), None)
