"""Work of minutes is said before it begins, with what would take less: decided here and nowhere else.

Seconds are of one core. Dense algebra of order p takes a constant times p^3 of them, and the constant differs by a factor of
two or three between machines: enough to tell minutes from seconds.
"""

from __future__ import annotations

import warnings

from gramian.errors import LongWorkWarning

LONG = 60.0
"""Seconds up to which nothing is said."""

EIGENVECTORS = 5e-10
"""Seconds, over p^3, of all eigenvectors of a symmetric matrix: 4 s for 2,000 columns, 8 minutes for 10,000."""

ELIMINATION = 3e-10
"""The same of an elimination of all columns: an inverse, and p downdates that read all of it."""


def say_first(what: str, order: int, per_cube: float, *way_out: object) -> None:
    """Warn where work on a matrix of this order takes minutes.

    Parameters
    ----------
    what : str
        What is worked out.
    order : int
        Of the matrix, p.
    per_cube : float
        Seconds over p^3.
    *way_out
        Parts of a message: what takes less.

    Examples
    --------
    >>> say_first("eigenvectors", 2000, EIGENVECTORS, "fewer columns take less")
    """
    seconds = per_cube * float(order) ** 3
    if seconds > LONG:
        warnings.warn(
            LongWorkWarning(
                f"{what} of {order:,} design columns will take about {seconds / 60:.0f} minutes of processor time; ",
                *way_out,
            ),
            stacklevel=2,
        )
