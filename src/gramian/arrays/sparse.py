"""`scipy.sparse`, imported when a name of it is first used: most tables and moments are dense, and the import takes 0.1 s."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.sparse import block_diag, coo_array, csr_array, diags_array, eye_array, hstack


def issparse(value: Any) -> bool:
    """Whether a value is a sparse matrix or array; there is none before `scipy.sparse` was imported.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> issparse([[0.0]]), issparse(csr_array([[0.0]]))
    (False, True)
    """
    known = sys.modules.get("scipy.sparse")
    return known is not None and bool(known.issparse(value))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    globals()[name] = value = getattr(import_module("scipy.sparse"), name)  # the next time it is at hand
    return value


__all__ = ["block_diag", "coo_array", "csr_array", "diags_array", "eye_array", "hstack", "issparse"]
