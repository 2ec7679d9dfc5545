from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from gramian.arrays.threads import each_block, in_threads, one_blas_thread, one_of, usable_cores


def test_cores_follow_scikit_learns_convention() -> None:
    every = usable_cores(None)
    assert every >= 1
    assert usable_cores(-1) == every
    assert usable_cores(-2) == max(1, every - 1)
    assert usable_cores(-(10**6)) == 1
    assert usable_cores(3) == 3


def test_blas_is_held_to_one_thread_and_released() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))

    def in_use() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = in_use()
    with one_blas_thread():
        assert set(in_use()) <= {1}
    assert in_use() == before


def test_threads_keep_the_order_of_items_and_pass_on_errors():
    assert in_threads(lambda k: k * k, range(50)) == [k * k for k in range(50)]
    assert in_threads(lambda k: k * k, range(3), n_threads=1) == [0, 1, 4]
    assert in_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda k: 1 / k, [1, 0])


def test_threads_share_the_cores_with_those_beside_them(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert usable_cores(None) == 8
    with one_of(2):
        assert usable_cores(None) == 4
        assert in_threads(lambda _: usable_cores(None), range(4)) == [1] * 4
        assert usable_cores(3) == 3
    assert usable_cores(None) == 8
    assert in_threads(lambda _: usable_cores(None), range(2)) == [4, 4]


def test_blocks_of_rows_cover_a_matrix_once():
    a = np.zeros((5000, 100))

    def add(tile):
        a[tile] += 1.0

    each_block(add, a)
    assert (a == 1.0).all()
