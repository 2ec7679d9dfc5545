"""Figures as people read them, for templates: each function is a filter of its own name."""

from __future__ import annotations

from gramian.reporting.sections.findings import p_words


def count(value: float | None) -> str:
    """Return a whole number with separators, a dash where there is none.

    Examples
    --------
    >>> count(1234567), count(None)
    ('1,234,567', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number of a few digits.

    Examples
    --------
    >>> figure(1948.2), figure(0.00012349), figure(12.0), figure(None)
    ('1,948', '0.0001235', '12', '–')
    """
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def share(value: float | None, digits: int = 1) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> share(0.1234), share(0.5, 0), share(None)
    ('12.3%', '50%', '–')
    """
    return "–" if value is None else f"{value:.{digits}%}"


def p_value(value: float | None) -> str:
    """Return a p-value without the sign of equality.

    Examples
    --------
    >>> p_value(0.03214), p_value(0.0)
    ('0.032', '< 1e-300')
    """
    return p_words(value).removeprefix("= ")


def size(n: int) -> str:
    """Return a number of bytes in the unit that suits it.

    Examples
    --------
    >>> size(640), size(81_920), size(3_200_000)
    ('640 bytes', '82 kB', '3.2 MB')
    """
    if n < 1000:
        return f"{n:,} bytes"
    return f"{n / 1e3:,.0f} kB" if n < 1e6 else f"{n / 1e6:,.{0 if n >= 1e7 else 1}f} MB"


FILTERS = {"count": count, "figure": figure, "share": share, "p_value": p_value, "size": size}
