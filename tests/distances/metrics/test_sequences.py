"""Alignment scores as inner products."""

from __future__ import annotations

import numpy as np
import pytest

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.distances.metrics.sequences import AlignmentMetric
from gramian.errors import DataError


def test_alignment_is_the_score_as_inner_product() -> None:
    pytest.importorskip("Bio")
    found = pairwise_distances(["MKVL", "MKVI", "WWWW"], metric="alignment")
    # BLOSUM62: M 5, K 5, V 4, L 4, I 4, I/L 2.
    assert found[0, 1] == pytest.approx(np.sqrt(18 + 18 - 2 * 16))
    assert found[0, 2] > found[0, 1]
    with pytest.raises(DataError, match="holds '1'"):
        pairwise_distances(["M1"], metric="alignment")
    with pytest.raises(DataError, match="no substitution matrix"):
        pairwise_distances(["MK"], metric="alignment", matrix="BLOSUM1")


def test_case_does_not_matter_and_processes_agree(monkeypatch):
    pytest.importorskip("Bio")
    from gramian.distances.metrics import sequences

    metric = AlignmentMetric("alignment", {})
    words = metric.prepare(["mkvl", "MKVI", "WWWW"])
    alone = metric.block(words, words, 1)
    assert (alone.diagonal() == 0).all()
    monkeypatch.setattr(sequences, "SERIAL_CELLS", 0)
    np.testing.assert_array_equal(metric.block(words, words, 2), alone)
