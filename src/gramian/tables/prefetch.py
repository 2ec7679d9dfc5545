"""Work done one step ahead in the background, in order, and stopped when nobody wants it any more.

A queue between two threads can be abandoned with its producer blocked on a full queue. Futures cannot: one
worker runs the next tasks while the caller uses the last result, no more than `ahead` are submitted at a
time, and closing the generator cancels those that have not begun. At most one task, a fraction of a second,
is waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from gramian.arrays.threads import one_of

Result = TypeVar("Result")


def run_ahead(tasks: Iterator[Callable[[], Result]], *, ahead: int = 1, threads: int = 1) -> Iterator[Result]:
    """Yield the results of `tasks` in order, with up to `ahead` of them computed before they are asked for.

    With one thread tasks run one after the other, so they may share state such as a sequential reader.

    Examples
    --------
    >>> list(run_ahead(iter([lambda: 1, lambda: 2])))
    [1, 2]
    """
    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="gramian-ahead")

    def run(task: Callable[[], Result]) -> Result:
        with one_of(threads):
            return task()

    try:
        for task in tasks:
            pending.append(pool.submit(run, task))
            # The task may hold a batch, which should not live until the next one is there.
            del task
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        # On an error or an early end the tasks not begun are dropped; waiting for the one that runs keeps its
        # files and buffers from outliving the generator.
        pool.shutdown(wait=True, cancel_futures=True)
        _close(tasks)


def iterate_ahead(source: Iterator[Result], *, ahead: int = 2) -> Iterator[Result]:
    """Yield the items of a sequential iterator, up to `ahead` of them computed in the background."""
    finished = object()

    def tasks() -> Iterator[Callable[[], object]]:
        while True:
            yield lambda: next(source, finished)

    results = run_ahead(tasks(), ahead=ahead)
    try:
        for item in results:
            if item is finished:
                break
            yield item  # type: ignore[misc]
    finally:
        _close(results)
        _close(source)


def _close(source: Iterator[object]) -> None:
    """Close a generator; other iterators have nothing to close."""
    close = getattr(source, "close", None)
    if close is not None:
        close()
