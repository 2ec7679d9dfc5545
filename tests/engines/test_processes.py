"""`collect` inside threads, forked and spawned processes."""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm


def table_of(seed: int, n: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "a": rng.integers(0, 30, n).astype(str),
            "b": rng.integers(0, 4, n),
            "x": rng.normal(size=n),
            "y": rng.normal(size=n),
        }
    )


def collect_and_save(seed: int, path: str) -> None:
    gm.collect(table_of(seed), n_jobs=2).save(path)


def test_four_threads_at_once_equal_one_after_the_other() -> None:
    tables = [table_of(seed) for seed in range(8)]
    expected = [gm.collect(table, n_jobs=2) for table in tables]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda table: gm.collect(table, n_jobs=2), tables))
    assert found == expected


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_collects_after_its_parent(method: str, tmp_path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not there")
    expected = gm.collect(table_of(1), n_jobs=2)
    path = tmp_path / "child.moments"
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        # Python warns of forking while threads of other libraries (Arrow's) live: that is what is tested here.
        warnings.simplefilter("ignore", DeprecationWarning)
        if method == "spawn":
            target = _module_of_this_file()
            process = context.Process(target=target.collect_and_save, args=(1, str(path)))
        else:
            process = context.Process(target=collect_and_save, args=(1, str(path)))
        process.start()
    process.join(timeout=60)
    if process.exitcode is None:
        process.kill()
        process.join()
        pytest.fail("the child hangs")
    assert process.exitcode == 0
    assert gm.load(path) == expected


def _module_of_this_file():
    """Return this module in a form that a spawned child can import by name."""
    import importlib
    from pathlib import Path

    folder = str(Path(__file__).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(Path(__file__).stem)
