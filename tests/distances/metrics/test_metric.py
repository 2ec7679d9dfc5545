"""What metrics share: objects as lists, some of them taken, rows in threads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gramian.distances.metrics.metric import as_list, over_rows, take
from gramian.errors import DataError


@pytest.mark.parametrize("index", [np.array([2, 0]), slice(1, 3)])
def test_some_objects_are_taken_alike_from_lists_and_arrays(index):
    values = [10, 20, 30]
    assert list(take(values, index)) == list(take(np.array(values), index)) == list(np.array(values)[index])


def test_objects_come_as_a_list():
    assert as_list(pd.Series(["a", "b"]), metric="x") == ["a", "b"]
    assert as_list(("a", "b"), metric="x") == ["a", "b"]
    with pytest.raises(DataError, match="one text"):
        as_list("ab", metric="x")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_row_is_worked_on_once(n_jobs):
    seen = np.zeros(101, dtype=int)

    def work(part):
        seen[part] += 1

    over_rows(work, 101, n_jobs)
    assert (seen == 1).all()
