"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.errors import DataError, SourceNotFoundError


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a temporary file beside `path`; it takes that name when the block ends well, else it vanishes.

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
    path = Path(path)
    if not path.parent.is_dir():
        raise SourceNotFoundError(f"cannot write {str(path)!r}: the folder {str(path.parent)!r} does not exist")
    if path.is_dir():
        raise DataError(f"cannot write {str(path)!r}: it is a folder")
    _remove_abandoned(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except PermissionError:
        raise DataError(f"cannot write {str(path)!r}: permission denied") from None
    held = _locked(handle)
    if not held:
        os.close(handle)
    try:
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        # mkstemp makes files private; a new file gets what the user's umask gives any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    finally:
        if held:
            os.close(handle)


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
