"""The line that one in a hundred drawn rows passes."""

import numpy as np

import gramian as gm
from gramian.linear.density.dependence import dependence
from gramian.linear.density.detector import tree_score
from gramian.linear.density.sampling import DRAWN_ROWS, TAIL, draw_rows, threshold
from gramian.linear.layout import layout_of


def test_a_hundredth_of_rows_drawn_with_other_numbers_lies_beyond(mixed):
    m = gm.collect(mixed)
    depends, score = dependence(m, layout_of(m, None)), tree_score(m)
    line = threshold(score, m, depends)
    drawn = score.apply_rows(draw_rows(m, score.design, depends, 4 * DRAWN_ROWS, 1))
    beyond = float((drawn > line).mean())
    # The line is itself that of a sample: a tenth of 1% or so either way, and as much again here; five of both.
    assert abs(beyond - TAIL) < 5 * np.sqrt(TAIL / DRAWN_ROWS + TAIL / (4 * DRAWN_ROWS))
    assert threshold(score, m, depends) == line
    assert threshold(score, m, depends, seed=1) != line
