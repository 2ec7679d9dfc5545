"""Where `predict` draws the line without rows of data: the 99% point of rows drawn from the fitted model.

A share of 1% of clean rows lies beyond it as far as the model is right. Where the data hold more than pairs of columns can
tell, rows of data are more alike than those of the model, and fewer are flagged. See `sampling` for how rows are drawn.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gramian.linear.density.dependence import Dependence
from gramian.linear.density.sampling import draw_rows
from gramian.maps.frozen_encoder import Design, Rows
from gramian.moments.value import Moments

TAIL = 0.01
"""Share of the drawn rows above the threshold."""

DRAWN_ROWS = 2**13
"""Rows drawn: the share above the threshold is then 1% give or take a tenth of it."""

DRAWN_PAIRS = 2**30
"""Rows times squared columns. Above 362 columns fewer rows are drawn, at least 1,024: the share is 1% give or take a third."""


class Score(Protocol):
    """What gives each row a number."""

    @property
    def design(self) -> Design:
        """What is read."""
        ...

    def apply_rows(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the score of encoded rows."""
        ...


def threshold(score: Score, moments: Moments, depends: Dependence, *, seed: int = 0) -> float:
    """Return the score that a share `TAIL` of rows drawn from the model exceeds.

    Parameters
    ----------
    score : Score
        Any of the three.
    moments : Moments
    depends : Dependence
        Of the columns of the score.
    seed : int
    """
    columns = len(score.design.columns)
    # The score of a row is a sum over pairs of columns.
    n_rows = min(DRAWN_ROWS, max(DRAWN_PAIRS // columns**2, 2**10))
    rows = draw_rows(moments, score.design, depends, n_rows, seed)
    drawn = score.apply_rows(rows)
    line = float(np.quantile(drawn, 1.0 - TAIL, method="higher"))
    # A row that scores the same in another batch, with another rounding, is on the same side.
    return line + 1e-9 * max(1.0, abs(line))
