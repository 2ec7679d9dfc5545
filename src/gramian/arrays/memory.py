"""Memory: how much there is, how much is asked for, and rows a block at a time.

Work of minutes is said before it begins, with what would take less: decided here and nowhere else.

Seconds are of one core. Dense algebra of order p takes a constant times p^3 of them, and the constant differs by a factor of
two or three between machines: enough to tell minutes from seconds.

Memory that is asked for again and again, kept for as long as the work lasts where the process would give it back each time.

Dask starts its workers with `MALLOC_TRIM_THRESHOLD_=65536`, so that what a task frees goes back to the system at once. It also
keeps glibc from learning how long the arrays of a program are: each of more than 128 kB is then mapped anew and filled with
zeros by the kernel, page by page, every time. In a pass over 2,000,000 rows that is a third more processor time (0.39 s for
0.29). Within `memory_reused` freed memory is kept and used again; after it all of it goes back, as it was asked for.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy.typing as npt

from gramian.errors import DataError, LongWorkWarning, MemoryLimitError, shown

BLOCK_BYTES = 32 * 2**20
"""Bytes of a block of rows: large enough for BLAS, small beside any matrix worth splitting."""

CACHED_BYTES = 2**20
"""Bytes of a block that several passes of arithmetic go over: it stays in the processor's cache between them."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def available_memory() -> int:
    """Return the bytes this process may still take: the least of what is free, its control groups and `ulimit -v` allow."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") if hasattr(os, "sysconf") else 2**33
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if match:
            free = int(match.group(1)) * 1024
    return max(0, min([int(free), *left_in_groups(), *left_of_addresses()]))


def left_in_groups(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Give the bytes left in each control group of this process that has a limit, of either version, those above it included.

    Parameters
    ----------
    groups : Path
        Where the groups of the process are listed.
    mounted : Path
        Where groups are mounted; inside a container often the process's own group, whatever the list says.
    """
    try:
        listed = [line.split(":", 2) for line in groups.read_text().splitlines() if line.count(":") >= 2]
    except OSError:
        listed = []
    for version, names in (("0", _VERSION_2), ("1", _VERSION_1)):
        root = mounted if version == "0" else mounted / "memory"
        mine = [
            path
            for number, kinds, path in listed
            if (number == "0" if version == "0" else "memory" in kinds.split(","))
        ]
        for path in dict.fromkeys([*mine, "/"]):
            # A limit of a group above holds too.
            place = root / path.strip("/")
            for folder in (place, *(parent for parent in place.parents if parent.is_relative_to(root))):
                left = _left_in(folder, *names)
                if left is not None:
                    yield left


# Above `memory.high` nothing is refused: whoever asks for more is held up until somebody else has given memory back.
_VERSION_2 = (("memory.max", "memory.high"), "memory.current", "inactive_file")
_VERSION_1 = (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file")


def _left_in(group: Path, limits: Sequence[str], used: str, cached: str) -> int | None:
    """Return the bytes left in one group, None where it has no limit or is not there."""
    try:
        written = [(group / limit).read_text().strip() for limit in limits if (group / limit).exists()]
        most = min((int(limit) for limit in written if limit != "max"), default=_NO_LIMIT)
        if most >= _NO_LIMIT:
            return None
        taken = int((group / used).read_text())
        stat = (group / "memory.stat").read_text() if (group / "memory.stat").exists() else ""
        # Pages of files that nobody has used lately count as taken, and are given up before anything is refused.
        match = re.search(rf"^{cached} (\d+)$", stat, re.MULTILINE)
        return most - taken + (int(match.group(1)) if match else 0)
    except (OSError, ValueError):
        return None


_NO_LIMIT = 2**60
"""Version 1 writes that there is no limit as the largest whole number of pages that 63 bits hold."""


def left_of_addresses() -> Iterator[int]:
    """Give the bytes of addresses this process may still take, where `ulimit -v` sets a limit."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield most - pages * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return


def parse_bytes(amount: int | float | str) -> int:
    """Return a number of bytes given as a number or in words.

    Examples
    --------
    >>> parse_bytes("1.5 GB"), parse_bytes("2GiB"), parse_bytes(1024)
    (1500000000, 2147483648, 1024)
    """
    n_bytes = amount
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", amount.lower())
        if not match:
            raise DataError(f"memory_limit {shown(amount)} is not a number of bytes; write for example '2GB'")
        n_bytes = float(match.group(1)) * _UNITS[match.group(2) or ""]
    if isinstance(amount, bool) or not isinstance(n_bytes, int | float) or not n_bytes >= 1:
        raise DataError(f"memory_limit must be a positive number of bytes; got {shown(amount)}")
    return int(n_bytes)


def in_words(n_bytes: float) -> str:
    """Return a number of bytes as people say it.

    Examples
    --------
    >>> in_words(1_600_000_000)
    '1.6 GB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def allowing_memory(limit: int | None) -> Iterator[None]:
    """Within the block tell those who read a source whole how many bytes they may take; None: what there is."""
    before = _allowed.set(limit)
    try:
        yield
    finally:
        _allowed.reset(before)


def memory_allowed() -> int | None:
    """Return the bytes that reading may take, None where nobody has set a limit.

    Examples
    --------
    >>> with allowing_memory(10**8):
    ...     memory_allowed()
    100000000
    """
    return _allowed.get()


def refuse_beyond(n_bytes: int, limit: int | None = None, *, what: str, way_out: str) -> None:
    """Raise before `n_bytes` are allocated where they exceed `limit` (None: the memory there is)."""
    if limit is None and n_bytes <= CACHED_BYTES:
        # To ask the system takes longer than to fill so little, and a process that lacks it cannot work at all.
        return
    allowed = available_memory() if limit is None else limit
    if n_bytes > allowed:
        raise MemoryLimitError(f"{what} needs {in_words(n_bytes)} and {in_words(allowed)} are allowed; {way_out}")


def row_blocks(matrix: npt.NDArray[Any], n_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices of rows, each of about `n_bytes`: what is made of a block of `CACHED_BYTES` needs no memory of its own.

    Examples
    --------
    >>> import numpy as np
    >>> list(row_blocks(np.zeros((5, 4)), 64))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    n_rows, n_cols = matrix.shape
    step = max(1, min(n_rows, n_bytes // max(1, n_cols * matrix.itemsize)))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


LONG = 60.0
"""Seconds up to which nothing is said."""

EIGENVECTORS = 5e-10
"""Seconds, over p^3, of all eigenvectors of a symmetric matrix: 4 s for 2,000 columns, 8 minutes for 10,000."""

REDUCTION = 1.5e-10
"""The same of a reduction to tridiagonal form, most of the work where few of the vectors are wanted."""

ROTATIONS = 2e-9
"""The same of singular vectors by Jacobi rotations."""

PRODUCT = 1e-10
"""The same of a product of two matrices of that order."""

ELIMINATION = 3e-10
"""The same of an elimination of all columns: an inverse, and p downdates that read all of it."""


def say_first(what: str, order: int, per_cube: float, widest: tuple[str, int], *way_out: object) -> None:
    """Warn where work on a matrix of this order takes minutes.

    Parameters
    ----------
    what : str
        What is worked out.
    order : int
        Of the matrix, p.
    per_cube : float
        Seconds over p^3.
    widest : (str, int)
        The source column that has the most of the p design columns, and how many these are.
    *way_out
        Parts of a message: what takes less.

    Examples
    --------
    >>> say_first("eigenvectors", 2000, EIGENVECTORS, ("city", 1900), "fewer columns take less")
    """
    seconds = per_cube * float(order) ** 3
    if seconds > LONG:
        name, size = widest
        # Of numbers alone none is to blame.
        most = f", {size:,} of them levels of column {name!r}," if size > 1 else ""
        warnings.warn(
            LongWorkWarning(
                f"{what} of {order:,} design columns{most} will take about {seconds / 60:.0f} minutes of processor time; ",
                *way_out,
            ),
            stacklevel=2,
        )


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SETTING = "MALLOC_TRIM_THRESHOLD_"
_KEPT_BYTES = 2**28
_MAPPED_BYTES = 2**25
"""The longest stretch that glibc takes from its heap on a machine of 64 bits."""
_FIRST_MAPPED_BYTES = 2**17
"""What glibc maps from, until it is told otherwise."""

_ROOM_BYTES = 2**24

_users = 0
_lock = Lock()


@cache
def _glibc() -> Any:
    """Return the C library where it is glibc, else None."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    needed = "mallopt", "malloc_trim", "gnu_get_libc_version"
    return library if all(hasattr(library, name) for name in needed) else None


@contextmanager
def memory_reused() -> Iterator[None]:
    """Within the block keep freed memory for what comes next, where the environment asks to give it back at once.

    Examples
    --------
    >>> with memory_reused():
    ...     pass
    """
    global _users
    asked = os.environ.get(_SETTING, "")
    library = _glibc() if asked.isdigit() and int(asked) < _KEPT_BYTES else None
    if library is None:
        yield
        return
    with _lock:
        _users += 1
        if _users == 1:
            library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
            library.mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                library.mallopt(_TRIM_THRESHOLD, int(asked))
                library.mallopt(_MMAP_THRESHOLD, _FIRST_MAPPED_BYTES)
                library.malloc_trim(0)


def resident_bytes() -> int:
    """Return the bytes of memory this process has, 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def make_room(n_bytes: int) -> None:
    """Give free memory back before an array of so many bytes is allocated, where it is large and memory is not reused."""
    if n_bytes > _ROOM_BYTES and not _users:
        give_back()


def give_back() -> None:
    """Give all memory that is free back to the system, whichever thread had it, and what Arrow keeps for this one."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


class Growth:
    """What the process grows by, kept below a limit as far as memory that is free does it.

    Parameters
    ----------
    limit : int
        Bytes.

    Examples
    --------
    >>> growth = Growth(10**9)
    >>> growth.expect(1000)
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._start = limit, resident_bytes()
        self._most = _FREE_SHARE * limit
        self._near = False

    def expect(self, n_bytes: int) -> None:
        """Give free memory back where so many bytes more might pass the limit."""
        if resident_bytes() - self._start + n_bytes <= self._most:
            return
        if not self._near:
            self._near = True
            _map_arrays(1)
        give_back()
        # What is used cannot be given back: no need to try again before there is something new.
        left = resident_bytes() - self._start
        self._most = max(_FREE_SHARE * self._limit, left + _STEP_SHARE * self._limit)

    def close(self) -> None:
        """Have memory kept as before."""
        if self._near:
            self._near = False
            _map_arrays(-1)


_near = 0


def _map_arrays(more: int) -> None:
    """Have arrays mapped each by itself while there is somebody who is near a limit."""
    global _near
    library = _glibc()
    with _lock:
        _near += more
        if library is not None and _near == (more > 0):
            library.mallopt(_MMAP_THRESHOLD, _FIRST_MAPPED_BYTES if _near else _MAPPED_BYTES)
            # As large as glibc lets it become by itself, which it does no more once it was told anything.
            library.mallopt(_TRIM_THRESHOLD, _FIRST_MAPPED_BYTES if _near else 2 * _MAPPED_BYTES)


_FREE_SHARE, _STEP_SHARE = 0.6, 0.1
_LOW_LIMIT = 10**9

_pools: list[Any] = []


@contextmanager
def arrow_from_the_system(limit: int | None) -> Iterator[None]:
    """Within the block have Arrow take memory from the C library, and give it back there, where a limit is low.

    Parameters
    ----------
    limit : int or None
        Bytes. From a gigabyte on, what Arrow keeps is little beside it, and memory of its own is 5% faster.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with arrow_from_the_system(10**8):
    ...     pa.default_memory_pool().backend_name
    'system'
    """
    import pyarrow as pa

    if limit is None or limit >= _LOW_LIMIT:
        yield
        return
    with _lock:
        _pools.append(pa.default_memory_pool())
        pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        with _lock:
            # Blocks of several threads may end in any order: the pool that was there before all comes back with the last.
            first = _pools[0]
            _pools.pop()
            if not _pools:
                pa.set_memory_pool(first)
