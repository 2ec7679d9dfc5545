"""Signals in blocks, a thread a block: what every coder that works row by row shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.arrays.threads import in_threads, one_blas_thread, usable_cores
from gramian.arrays.types import Array

BLOCK_ROWS = 256
"""Rows of a block: their correlations with a few hundred atoms stay in the cache of one core."""


def coded(signals: Array, atoms: Array, code: Callable[[Array, Array, Array], Any]) -> tuple[Array, list[Any]]:
    """Return codes (n, k) and what `code` returned for each block.

    Parameters
    ----------
    signals : (n, p) array of floats
    atoms : (k, p) array
    code : function of a block of signals, their correlations with the atoms, and the (zero) codes to be written
        Called in threads.
    """
    n, k = len(signals), len(atoms)
    codes = np.zeros((n, k))
    # Blocks no longer than a thread's share: a few rows of long searches are spread over the cores too.
    step = max(1, min(BLOCK_ROWS, -(-n // (4 * usable_cores(None)))))

    def one(start: int) -> Any:
        rows = slice(start, start + step)
        block = np.ascontiguousarray(signals[rows], dtype=np.float64)
        return code(block, block @ atoms.T, codes[rows])

    with one_blas_thread():
        told = in_threads(one, range(0, n, step))
    return codes, told
