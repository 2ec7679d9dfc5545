from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 -- which brings a BLAS of its own
from threadpoolctl import threadpool_info, threadpool_limits

from gramian.arrays import threads
from gramian.arrays.threads import each_block, in_threads, lock_of, one_blas_thread, one_of, usable_cores


def test_cores_follow_scikit_learns_convention() -> None:
    every = usable_cores(None)
    assert every >= 1
    assert usable_cores(-1) == every
    assert usable_cores(-2) == max(1, every - 1)
    assert usable_cores(-(10**6)) == 1
    assert usable_cores(3) == 3


def test_blas_is_held_to_one_thread_and_released() -> None:

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


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_holders_that_overlap_leave_blas_as_it_was() -> None:
    """The last to leave set back what it had found: the one thread of the first, for the rest of the process."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) <= {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_sixteen_threads_that_come_and_go_leave_blas_as_it_was() -> None:

    def hold(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        held = True
        for _ in range(20):
            with one_blas_thread():
                time.sleep(rng.random() * 1e-3)
                held = held and set(blas_threads()) <= {1}
        return held

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(hold, range(16)))
        assert blas_threads() == before


def test_a_value_has_one_lock_for_all_threads():
    class Value:
        pass

    one, other = Value(), Value()
    with ThreadPoolExecutor(16) as pool:
        found = set(map(id, pool.map(lambda _: lock_of(one), range(64))))
    assert len(found) == 1
    assert lock_of(one) is not lock_of(other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_off_inherits_no_lock_that_is_held(in_child):
    class Value:
        pass

    value, held, go_on = Value(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock_of(value), threads._shared.lock, one_of(2):
            held.set()
            go_on.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    try:

        def child() -> None:
            with one_blas_thread(), lock_of(value):
                pass

        assert in_child(child) == 0
    finally:
        go_on.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_others_hold_blas_counts_its_own(in_child):
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            held.set()
            go_on.wait(60)

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(30)
        try:

            def child() -> None:
                with one_blas_thread():
                    assert set(blas_threads()) <= {1}
                assert blas_threads() == before

            assert in_child(child) == 0
        finally:
            go_on.set()
            thread.join()
        assert blas_threads() == before
