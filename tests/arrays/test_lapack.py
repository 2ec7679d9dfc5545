"""Long calls of LAPACK give what short ones give, and are interrupted while they work."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gramian.arrays import linalg as lapack

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")


@pytest.mark.parametrize("p", [3, 60])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_long_call_gives_the_digits_of_a_short_one(rng, monkeypatch, p, overwrite):
    a = rng.standard_normal((p, p + 3))
    square = a @ a.T
    factor = np.tril(a[:, : p // 2]) * np.geomspace(1, 1e9, p)[:, None]
    found = []
    for seconds in (1e9, 0.0):
        monkeypatch.setattr(lapack, "LONG", seconds)
        assert lapack.is_long(p, 1e-9) == (seconds == 0)
        given = [square.copy(), square.copy(), factor.copy()]
        results = [*lapack.eigh(given[0], overwrite=overwrite), *lapack.tridiagonal(given[1], overwrite=overwrite)]
        found.append([*results, *lapack.rotated(given[2])])
        if not overwrite:
            assert np.array_equal(given[0], square)
            assert np.array_equal(given[1], square)
        assert np.array_equal(given[2], factor)
    for short, long in zip(*found, strict=True):
        np.testing.assert_allclose(long, short, rtol=1e-12, atol=1e-12 * np.abs(short).max())


def test_what_a_task_raises_is_raised(monkeypatch):
    monkeypatch.setattr(lapack, "LONG", 0.0)

    def task():
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        lapack.answering(task)
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        lapack.eigh(np.full((20, 20), np.nan))


def test_another_thread_works_by_itself():
    names: list[str] = []
    other = threading.Thread(target=lambda: lapack.answering(lambda: names.append(threading.current_thread().name)))
    other.start()
    other.join()
    lapack.answering(lambda: names.append(threading.current_thread().name))
    assert names[0] == other.name
    assert names[1] != threading.main_thread().name


PROGRAM = """
import sys
import numpy as np
import gramian as gm
from gramian.arrays import linalg as lapack, memory
from gramian.cli import running
m = gm.collect(np.random.default_rng(0).standard_normal((4_000, 1_800)))
assert lapack.is_long(1_800, memory.EIGENVECTORS)
started = lapack._unlocked
def unlocked(*arguments):
    print("begun", flush=True)
    return started(*arguments)
lapack._unlocked = unlocked
running._invoke = lambda _: gm.PCA().fit(m)
"""

IN_PYTHON = """
try:
    gm.PCA().fit(m)
except KeyboardInterrupt:
    print("interrupted, still at work:", lapack.is_at_work(), flush=True)
"""


def begun(program):
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout.readline() == "begun\n"
    return running


@on_unix
@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, 130)], ids=["once", "twice"])
def test_an_eigenproblem_of_seconds_is_interrupted_while_it_works(more, code):
    running = begun(IN_PYTHON)
    running.send_signal(signal.SIGINT)
    assert running.stdout.readline() == "interrupted, still at work: True\n"
    # The program is at its end, and waits there for LAPACK.
    time.sleep(0.2)
    for _ in range(more):
        running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=240)
    assert (running.returncode, out) == (code, "")


@on_unix
def test_a_command_ends_without_waiting_for_lapack():
    running = begun("sys.exit(running.run([]))")
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=240)
    assert (running.returncode, out) == (143, "")
    assert err == "gramian: interrupted; no partial output is left\n"
