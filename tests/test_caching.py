"""Values kept: computed once, the same for all threads, and without a lock that a fork could leave behind."""

from __future__ import annotations

import copy
import os
import pickle
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from gramian.arrays.threads import cached_property


@dataclass(frozen=True)
class Slow:
    """Takes its time over a value."""

    seconds: float = 0.0

    @cached_property
    def value(self) -> list[int]:
        """A list of its own."""
        time.sleep(self.seconds)
        return [1]


def test_it_is_computed_once_and_kept_on_the_instance():
    one, other = Slow(), Slow()
    assert one.value is one.value
    assert one.value is not other.value
    assert vars(one)["value"] is one.value
    assert Slow.value.__doc__ == "A list of its own."


def test_threads_at_the_same_time_get_the_same():
    slow = Slow(0.05)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: slow.value, range(16)))
    assert all(each is found[0] for each in found)


def test_it_travels():
    slow = Slow()
    assert pickle.loads(pickle.dumps(slow)).value == slow.value
    assert copy.deepcopy(slow).value == [1]


def test_instances_do_not_wait_for_each_other():
    began, go_on = threading.Event(), threading.Event()

    class Waiting:
        def __init__(self, waits):
            self.waits = waits

        @cached_property
        def value(self):
            if self.waits:
                began.set()
                assert go_on.wait(30)
            return self.waits

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: Waiting(True).value)
        assert began.wait(30)
        assert Waiting(False).value is False
        go_on.set()
        assert future.result() is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_it_is_computed_does_not_hang_the_child(in_child):
    slow = Slow(0.5)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    time.sleep(0.1)
    ended = in_child(lambda: Slow().value)
    thread.join()
    assert ended == 0


def test_nothing_in_the_package_uses_the_one_of_functools():
    source = Path(__file__).parents[1] / "src" / "gramian"
    found = [
        path.name
        for path in source.rglob("*.py")
        if re.search(r"from functools import.*cached_property", path.read_text())
    ]
    assert found == []
