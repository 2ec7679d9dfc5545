"""Values as JSON has them: texts, finite numbers, lists."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

MISSING = "(missing)"
_LONGEST = 80


def number(value: Any, digits: int = 6) -> float | int | None:
    """Return a number of a few significant digits, None where it is not finite.

    Examples
    --------
    >>> number(np.float64(3.14159265)), number(np.int64(7)), number(float("nan"))
    (3.14159, 7, None)
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    value = float(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def numbers(values: Iterable[Any] | npt.NDArray, digits: int = 4) -> list[float | int | None]:
    """Return numbers of a few significant digits, None where one is not finite."""
    return [number(value, digits) for value in np.asarray(values).tolist()]


def text(value: Any) -> str:
    """Return a label as text of bearable length.

    Examples
    --------
    >>> text(None), text("red"), text(2.0), len(text("x" * 500))
    ('(missing)', 'red', '2', 80)
    """
    if value is None:
        return MISSING
    if isinstance(value, float):
        shown = MISSING if np.isnan(value) else f"{value:.6g}"
    elif isinstance(value, datetime.datetime):
        shown = value.isoformat(sep=" ", timespec="seconds")
    else:
        shown = str(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
