"""Freed memory is kept within the block, where the environment has it given back, and given back after it."""

import threading

import numpy as np

from gramian.arrays import allocator
from gramian.arrays.allocator import memory_reused


class Library:
    """Notes what is asked of the C library."""

    def __init__(self):
        self.calls = []

    def mallopt(self, what, value):
        self.calls.append((what, value))

    def malloc_trim(self, pad):
        self.calls.append("trim")


def test_nothing_is_set_where_nothing_was_asked(monkeypatch):
    library = Library()
    monkeypatch.setattr(allocator, "_glibc", lambda: library)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with memory_reused():
        pass
    assert library.calls == []


def test_settings_are_put_back_and_memory_given_back_once_all_are_done(monkeypatch):
    library = Library()
    monkeypatch.setattr(allocator, "_glibc", lambda: library)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    inside, leave = threading.Event(), threading.Event()

    def other():
        with memory_reused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with memory_reused():
        thread.start()
        inside.wait(10)
    assert library.calls == [(-1, 2**28), (-3, 2**25)]
    leave.set()
    thread.join()
    assert library.calls[2:] == [(-1, 65536), (-3, 2**17), "trim"]


def test_arrays_survive_it(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with memory_reused():
        kept = [np.full(2**k, k, dtype=float) for k in range(10, 20)]
    assert all((array == k).all() for k, array in enumerate(kept, start=10))
