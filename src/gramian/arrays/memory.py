"""Memory: how much there is, how much is asked for, and rows a block at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy.typing as npt

from gramian.errors import DataError, MemoryLimitError, shown

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


def refuse_beyond(n_bytes: int, limit: int | None, *, what: str, way_out: str) -> None:
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
