from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from gramian.tables.base import iterate_ahead, run_ahead


def test_results_keep_their_order():
    assert list(run_ahead(((lambda i=i: i * i) for i in range(50)), ahead=3)) == [i * i for i in range(50)]
    assert list(iterate_ahead(iter(range(50)), ahead=3)) == list(range(50))
    assert list(iterate_ahead(iter([]))) == []


def test_several_threads_keep_the_order_too():
    def slow_first(i):
        time.sleep(0.05 * (i == 0))
        return i

    results = run_ahead((partial(slow_first, i) for i in range(20)), ahead=3, threads=3)
    assert list(results) == list(range(20))


def test_closing_closes_what_brings_the_tasks():
    closed = []

    def tasks():
        try:
            for i in range(10):
                yield partial(int, i)
        finally:
            closed.append(True)

    results = run_ahead(tasks(), ahead=2, threads=2)
    assert next(results) == 0
    results.close()
    assert closed == [True]


def test_no_more_than_asked_is_done_ahead():
    done = []
    results = run_ahead(((lambda i=i: done.append(i)) for i in range(100)), ahead=2)
    next(results)
    time.sleep(0.05)
    assert len(done) <= 3
    results.close()
    assert len(done) <= 3


def test_work_overlaps_with_its_use():
    running = threading.Event()

    def second():
        running.set()
        return 2

    results = run_ahead(iter([lambda: 1, second]), ahead=1)
    assert next(results) == 1
    assert running.wait(timeout=5)
    results.close()


def test_an_error_arrives_after_the_results_before_it():
    def numbers():
        yield 1
        yield 2
        raise OSError("broken")

    seen = []
    with pytest.raises(OSError, match="broken"):
        seen.extend(iterate_ahead(numbers(), ahead=5))
    assert seen == [1, 2]


def test_closing_closes_the_source():
    closed = []

    def numbers():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    results = iterate_ahead(numbers())
    next(results)
    results.close()
    assert closed == [True]
    assert not [t for t in threading.enumerate() if t.name.startswith("gramian-read")]
