"""Memory: how much there is, how much is asked for, and rows a block at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
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
    """Return the bytes this process may still take: what the machine has free, or its control group allows."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") if hasattr(os, "sysconf") else 2**33
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        found = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if found:
            free = int(found.group(1)) * 1024
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text().strip(), (group / "memory.current").read_text().strip()
        if limit != "max":
            free = min(free, max(0, int(limit) - int(used)))
    except (OSError, ValueError):
        pass
    return int(free)


def parse_bytes(amount: int | float | str) -> int:
    """Return a number of bytes given as a number or in words.

    Examples
    --------
    >>> parse_bytes("1.5 GB"), parse_bytes("2GiB"), parse_bytes(1024)
    (1500000000, 2147483648, 1024)
    """
    n_bytes = amount
    if isinstance(amount, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", amount.lower())
        if not found:
            raise DataError(f"memory_limit {shown(amount)} is not a number of bytes; write for example '2GB'")
        n_bytes = float(found.group(1)) * _UNITS[found.group(2) or ""]
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


def refuse_beyond(n_bytes: int, limit: int | None, *, what: str, way_out: str) -> None:
    """Raise before `n_bytes` are allocated where they exceed `limit` (None: the memory there is)."""
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
