"""A signal leaves no partial output: Ctrl-C and a request to end say so, and kill -9 leaves a temporary at most."""

from __future__ import annotations

import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gramian as gm


@pytest.fixture(scope="module")
def long_work(files, tmp_path_factory):
    """Data and commands that write for long enough to be stopped while they do."""
    folder = tmp_path_factory.mktemp("long")
    rows = pq.read_table(files / "payments.parquet")
    pq.write_table(rows, folder / "short.parquet")
    pq.write_table(pa.concat_tables([rows] * 30), folder / "long.parquet")
    gm.save(gm.PCA(40).fit(gm.load(files / "payments.moments")), folder / "pca.model")
    # A thousand levels beside a thousand, ten times: 270 MB of moments, which take longer to write than to count.
    rng = np.random.default_rng(0)
    wide = {name: pa.array(rng.integers(1_000, size=20_000).astype(str)) for name in "ab"}
    pq.write_table(pa.table(wide), folder / "wide.parquet")
    return folder


COMMANDS = {
    "transform": (["transform", "pca.model", "long.parquet", "-o", "out.csv"], "out.csv"),
    "collect": (["collect", "wide.parquet", "--folds", "10", "-o", "out.moments"], "out.moments"),
}


def temporaries(folder, name):
    return list(folder.glob(f".{name}.*.part"))


def stopped_while_writing(program_path, folder, arguments, name, number):
    """Start a command, send it a signal once it writes, and return how it ended."""
    running = subprocess.Popen(
        [program_path, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not temporaries(folder, name):
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    running.send_signal(number)
    out, err = running.communicate(timeout=120)
    return running.returncode, out, err


@pytest.mark.parametrize(("command", "number"), [("transform", signal.SIGINT), ("collect", signal.SIGTERM)])
def test_a_request_to_end_leaves_nothing(program_path, long_work, command, number):
    arguments, name = COMMANDS[command]
    code, out, err = stopped_while_writing(program_path, long_work, arguments, name, number)
    assert (code, out, err) == (128 + number, "", "gramian: interrupted; no partial output is left\n")
    assert not (long_work / name).exists()
    assert not temporaries(long_work, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_kill_leaves_a_temporary_that_the_next_run_removes(program_path, program, long_work, command):
    arguments, name = COMMANDS[command]
    code, _, _ = stopped_while_writing(program_path, long_work, arguments, name, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not (long_work / name).exists()
    assert len(temporaries(long_work, name)) == 1
    # Another run that writes the same file, of fewer rows.
    shorter = [{"long.parquet": "short.parquet", "wide.parquet": "short.parquet"}.get(each, each) for each in arguments]
    done = program(*shorter, cwd=long_work)
    assert done.code == 0, done.err
    assert (long_work / name).exists()
    assert not temporaries(long_work, name)
    (long_work / name).unlink()
