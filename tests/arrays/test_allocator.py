"""Freed memory is kept within the block, where the environment has it given back, and given back after it."""

import threading

import numpy as np
import pyarrow as pa

from gramian.arrays import memory as allocator
from gramian.arrays.memory import Growth, arrow_from_the_system, memory_reused


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


def test_arrow_takes_its_own_memory_again_once_all_are_done():
    before = pa.default_memory_pool().backend_name
    for limit in (None, 10**9):
        with arrow_from_the_system(limit):
            assert pa.default_memory_pool().backend_name == before
    one, other = arrow_from_the_system(10**8), arrow_from_the_system(10**7)
    one.__enter__()
    other.__enter__()
    # In the order in which threads may end: not the reverse of the one in which they began.
    one.__exit__(None, None, None)
    assert pa.default_memory_pool().backend_name == "system"
    other.__exit__(None, None, None)
    assert pa.default_memory_pool().backend_name == before


def test_free_memory_is_given_back_near_the_limit_and_not_again_before_there_is_more(monkeypatch):
    library, resident = Library(), [1000]
    monkeypatch.setattr(allocator, "_glibc", lambda: library)
    monkeypatch.setattr(allocator, "resident_bytes", lambda: resident[0])
    growth = Growth(100)
    growth.expect(60)
    assert library.calls == []
    growth.expect(61)
    assert library.calls.count("trim") == 1
    assert (allocator._MMAP_THRESHOLD, 2**17) in library.calls
    resident[0] = 1070
    growth.expect(0)
    assert library.calls.count("trim") == 2
    growth.expect(10)
    assert library.calls.count("trim") == 2
    growth.expect(11)
    assert library.calls.count("trim") == 3
    growth.close()
    growth.close()
    assert [value for what, value in library.calls[-2:]] == [2**25, 2**26]


def test_room_is_made_for_large_arrays_where_memory_is_not_reused(monkeypatch):
    made: list[bool] = []
    monkeypatch.setattr(allocator, "give_back", lambda: made.append(True))
    allocator.make_room(2**20)
    assert not made
    allocator.make_room(2**26)
    assert len(made) == 1
    monkeypatch.setattr(allocator, "_users", 1)
    allocator.make_room(2**26)
    assert len(made) == 1
