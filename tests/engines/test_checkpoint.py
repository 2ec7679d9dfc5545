"""A pass that is stopped at any instant goes on and ends with the same bits; a checkpoint of anything else is refused.

Stretches are made short and every sum is closed and written, so that a small file has many places to stop at.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.engines import local
from gramian.engines.checkpoint import Checkpoint, KeptProgress
from gramian.errors import CheckpointWarning, DataError, FileFormatError, SourceNotFoundError
from gramian.storage import container

N_ROWS = 48_000


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def rows():
    """Labels that turn up late, an integer that passes 64 levels late, long integers, gaps, weights, dates and booleans."""
    rng = np.random.default_rng(7)
    n = N_ROWS
    late = np.where(np.arange(n) < n // 2, rng.integers(5, size=n), rng.integers(40, size=n))
    many = np.where(np.arange(n) < 2 * n // 3, rng.integers(9, size=n), rng.integers(200, size=n))
    gaps = rng.random(n) < 0.1
    return pa.table(
        {
            "late": pa.array([f"level {k}" for k in late], mask=gaps),
            "many": many,
            "few": pa.array(rng.integers(3, size=n), mask=rng.random(n) < 0.02),
            "long": 2**60 + 1000 * np.arange(n) + rng.integers(1000, size=n),
            "x": pa.array(rng.normal(1e6, 3.0, n), mask=rng.random(n) < 0.01),
            "y": rng.standard_cauchy(n),
            "yes": rng.random(n) < 0.3,
            "day": pa.array((1_700_000_000 + rng.integers(10**7, size=n)).astype("datetime64[s]")),
            "w": rng.integers(0, 4, size=n) / 3,
            "who": pa.array(rng.integers(500, size=n).astype(str)),
        }
    )


@pytest.fixture(scope="module")
def parquet(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(rows, path, row_group_size=7_000)
    return path


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    monkeypatch.setattr(local, "STRETCH_ROWS", 2**11)


def often(path, **how):
    return Checkpoint(path, seconds=0.0, segment_ns=0.0, share=np.inf, **how)


def die_after(monkeypatch, n_writes):
    """End the process, as far as a test can, right after some checkpoint."""
    done = []
    write = KeptProgress._write

    def write_and_die(self, *state):
        write(self, *state)
        done.append(self.row)
        if len(done) == n_writes:
            raise Killed

    monkeypatch.setattr(KeptProgress, "_write", write_and_die)
    return done


def same(a, b):
    """Whether everything is the same: labels in the same order, every bit of every number."""
    assert a == b
    for mine, theirs in zip([a, *a.folds], [b, *b.folds], strict=True):
        assert [mine.levels(c) for c in mine.coded] == [theirs.levels(c) for c in theirs.coded]
    return True


OPTIONS = {
    "plain": {},
    "weights": {"sample_weight": "w"},
    "folds by position": {"folds": 3, "random_state": 5},
    "folds by value": {"folds": 4, "fold_by": "who", "exclude": "who"},
    "weighted folds": {"folds": 2, "sample_weight": "w", "targets": "yes"},
    "columns": {"columns": ["x", "late"], "categorical": "late"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_resumed_pass_ends_with_the_same_bits(parquet, tmp_path, monkeypatch, options):
    whole = gm.collect(parquet, checkpoint=often(tmp_path / "whole"), n_jobs=2, **options)
    plain = gm.collect(parquet, n_jobs=2, **options)
    assert plain.isclose(whole)
    assert all((plain.counts(c) == whole.counts(c)).all() for c in plain.coded if not plain.weighted)
    assert [plain.levels(c) for c in plain.coded] == [whole.levels(c) for c in whole.coded]
    path = tmp_path / "kept"
    with monkeypatch.context() as patch:
        done = die_after(patch, 2)
        for _ in range(2):
            done.clear()
            with pytest.raises(Killed):
                gm.collect(parquet, checkpoint=often(path), n_jobs=2, **options)
    rows = done[-1]
    assert 0 < rows < N_ROWS
    read = []
    batches = local.stretches

    def counted(groups, *sizes):
        for group in batches(groups, *sizes):
            read.append(sum(batch.num_rows for batch in group))
            yield group

    monkeypatch.setattr(local, "stretches", counted)
    assert same(gm.collect(parquet, checkpoint=often(path), n_jobs=2, **options), whole)
    assert sum(read) == N_ROWS - rows
    assert not path.exists()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow", "arrows", "fill", "hive"])
def test_every_kind_of_file_is_entered_where_it_was_left(rows, tmp_path, monkeypatch, kind):
    rows = rows.select(["late", "few", "x", "w"]).slice(0, 40_000)
    source = tmp_path / "data"
    source.mkdir()
    for k, start in enumerate(range(0, rows.num_rows, 10_000)):
        part = rows.slice(start, 10_000)
        if kind == "csv":
            csv.write_csv(part, source / f"{k}.csv")
        elif kind == "jsonl":
            lines = (json.dumps(row) for row in part.to_pylist())
            (source / f"{k}.jsonl").write_text("\n".join(lines))
        elif kind == "arrow":
            feather.write_feather(part, source / f"{k}.arrow", chunksize=3_000)
        elif kind == "arrows":
            with pa.ipc.new_stream(source / f"{k}.arrows", part.schema) as stream:
                stream.write_table(part, max_chunksize=3_000)
        elif kind == "fill":
            csv.write_csv(part if k % 2 else part.drop_columns(["x"]), source / f"{k}.csv")
        else:
            (source / f"day={k}").mkdir()
            pq.write_table(part, source / f"day={k}" / "part.parquet")
    options = {"folds": 3, "missing": "fill" if kind == "fill" else "raise"}
    whole = gm.collect(source, checkpoint=often(tmp_path / "whole"), **options)
    with monkeypatch.context() as patch:
        done = die_after(patch, 2)
        with pytest.raises(Killed):
            gm.collect(source, checkpoint=often(tmp_path / "kept"), **options)
    assert 10_000 < done[-1] < 40_000
    opened = []
    if kind in ("csv", "fill"):
        from gramian.tables.files.csv import CsvTable

        read = CsvTable._open
        monkeypatch.setattr(
            CsvTable, "_open", lambda self, path, *more: (opened.append(path), read(self, path, *more))[1]
        )
    assert same(gm.collect(source, checkpoint=often(tmp_path / "kept"), **options), whole)
    # Files that are in are not read again.
    assert not any(path.endswith("0.csv") for path in opened)


def test_a_resumed_pass_closes_its_sums_where_the_other_did(parquet, tmp_path, monkeypatch):
    """Segments that double: where the next one ends depends on those before it."""
    doubling = {"seconds": 0.0, "segment_ns": 0.0, "share": 1e-9}
    options = {"columns": ["x", "y", "late"], "n_jobs": 2}
    closed = []
    settle = local.FoldCounters.settle
    monkeypatch.setattr(local.FoldCounters, "settle", lambda self: (closed.append(1), settle(self))[1])

    def slow(path):
        return Checkpoint(path, **doubling)

    monkeypatch.setattr("gramian.engines.checkpoint.time.monotonic", lambda: 0.0)
    whole = gm.collect(parquet, checkpoint=slow(tmp_path / "whole"), **options)
    assert len(closed) == 3
    with monkeypatch.context() as patch:
        die_after(patch, 2)
        with pytest.raises(Killed):
            gm.collect(parquet, checkpoint=slow(tmp_path / "kept"), **options)
    closed.clear()
    assert same(gm.collect(parquet, checkpoint=slow(tmp_path / "kept"), **options), whole)
    assert len(closed) == 1


def test_nothing_is_closed_before_a_segment_is_worth_it(parquet, tmp_path):
    assert same(gm.collect(parquet, checkpoint=tmp_path / "kept"), gm.collect(parquet))


def test_other_threads_give_the_same_counts(parquet, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        die_after(patch, 3)
        with pytest.raises(Killed):
            gm.collect(parquet, checkpoint=often(tmp_path / "kept"), n_jobs=2)
    resumed, plain = gm.collect(parquet, checkpoint=tmp_path / "kept", n_jobs=1), gm.collect(parquet)
    assert resumed.isclose(plain)
    assert all((plain.crosstab("late", c) == resumed.crosstab("late", c)).all() for c in ("few", "yes"))


@pytest.fixture
def kept(parquet, tmp_path, monkeypatch):
    """A checkpoint of a pass that was stopped."""
    path = tmp_path / "kept"
    with monkeypatch.context() as patch:
        die_after(patch, 2)
        with pytest.raises(Killed):
            gm.collect(parquet, folds=3, checkpoint=often(path))
    return path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 4}, "it has folds=3, and now it is folds=4"),
        ({"folds": 0}, "it has folds=3, and now it is no folds="),
        ({"folds": 3, "random_state": 1}, "no random_state=, and now it is random_state=1"),
        ({"folds": 3, "sample_weight": "w"}, "'w' (number) where 'who' (category) is asked for now"),
        ({"folds": 3, "exclude": "x"}, "it collects 'x' (number) where 'y' (number) is asked for now"),
        ({"folds": 3, "targets": "yes"}, "'yes' (category) where 'yes' (category, target)"),
        ({"folds": 3, "categorical": "many"}, "'many' (integer) where 'many' (category)"),
        ({"folds": 3, "fold_by": "who"}, "no fold_by=, and now it is fold_by='who'"),
        ({"folds": 3, "sample_weight": np.ones(N_ROWS)}, "the values of sample_weight= were others"),
    ],
)
def test_other_settings_are_refused_and_named(parquet, kept, options, words):
    with pytest.raises(DataError, match="is of another pass") as error:
        gm.collect(parquet, checkpoint=kept, **options)
    assert words in str(error.value)
    assert "delete it to begin anew" in str(error.value)
    assert "\n" not in str(error.value)
    assert kept.exists()


def test_other_data_are_refused_and_named(rows, parquet, kept, tmp_path):
    def refused(source):
        with pytest.raises(DataError, match="is of another pass") as error:
            gm.collect(source, folds=3, checkpoint=kept)
        assert kept.exists()
        return str(error.value)

    copy = tmp_path / "copy.parquet"
    copy.write_bytes(parquet.read_bytes())
    assert "rows.parquet' where " in refused(copy)
    assert "of 1 files, and there are 2 now" in refused([parquet, copy])
    before = os.stat(parquet)
    data = parquet.read_bytes()
    try:
        os.utime(parquet, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        assert "has been written again since" in refused(parquet)
        pq.write_table(rows.slice(1), parquet)
        assert "bytes and has" in refused(parquet)
    finally:
        parquet.write_bytes(data)
        os.utime(parquet, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert gm.collect(parquet, folds=3, checkpoint=kept).n_rows == N_ROWS


def test_a_damaged_checkpoint_is_one_line_with_the_next_step(parquet, kept):
    whole = kept.read_bytes()
    for damaged, words in (
        (whole[:-1], "corrupted"),
        (whole[:100], "truncated"),
        (whole[:-9] + b"damaged!!", "corrupted"),
        (b"", "truncated or empty"),
    ):
        kept.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=words) as error:
            gm.collect(parquet, folds=3, checkpoint=kept)
        assert str(error.value).endswith("delete it to begin anew, or name another file")
        assert kept.read_bytes() == damaged


@pytest.mark.parametrize(
    "change",
    [
        lambda state, tensors: state.update(row=state["row"] + 1),
        lambda state, tensors: state.update(row=-1),
        lambda state, tensors: state["encoder"].__setitem__(0, 10**9),
        lambda state, tensors: state["parts"].pop(),
        lambda state, tensors: state["parts"][0].update(n_rows=1),
        lambda state, tensors: state["encoder"][1].pop("x"),
        lambda state, tensors: state["encoder"][1].update(late="number"),
        lambda state, tensors: state.pop("due"),
        lambda state, tensors: state.update(part_rows=[10**9]),
        lambda state, tensors: tensors["part0.matrix"].__iadd__(1),
        lambda state, tensors: tensors["labels.0.values.bytes"].__setitem__(slice(None), 65),
        lambda state, tensors: tensors.pop("part1.scatter"),
    ],
)
def test_a_checkpoint_whose_checksum_is_right_and_whose_meaning_is_not_is_refused(parquet, kept, change):
    tensors, header = container.read(kept)
    state = json.loads(header["state"])
    change(state, tensors)
    container.write(kept, tensors, {"kind": "checkpoint", "plan": header["plan"], "state": json.dumps(state)})
    with pytest.raises(FileFormatError, match=r"is damaged: .*delete it to begin anew"):
        gm.collect(parquet, folds=3, checkpoint=kept)


def test_what_is_no_checkpoint_is_left_alone(parquet, tmp_path):
    moments = tmp_path / "day.moments"
    gm.collect([[1.0], [2.0]]).save(moments)
    text = tmp_path / "notes.txt"
    text.write_text("a thousand words")
    for path, words in ((moments, "holds moments"), (text, "is not a checkpoint"), (parquet, "is not a checkpoint")):
        before = path.read_bytes()
        with pytest.raises(FileFormatError, match=words) as error:
            gm.collect(parquet, checkpoint=path)
        assert "delete" not in str(error.value)
        assert path.read_bytes() == before
    container.write(tmp_path / "kept", {}, {"kind": "checkpoint"})
    with pytest.raises(FileFormatError, match="the same collect"):
        gm.load(tmp_path / "kept")


def test_rows_that_cannot_be_found_again_are_refused(rows, tmp_path):
    for source, words in (
        (rows, "a pyarrow Table"),
        (np.ones((3, 2)), "a numpy array"),
        ((batch for batch in rows.to_batches()), "a generator of batches"),
    ):
        with pytest.raises(DataError, match=f"{words} is not one or more files; write it to Parquet"):
            gm.collect(source, checkpoint=tmp_path / "kept")


def test_a_place_that_cannot_be_written_is_refused_before_a_row_is_read(parquet, tmp_path):
    with pytest.raises(SourceNotFoundError, match=r"the folder .* does not exist"):
        gm.collect(parquet, checkpoint=tmp_path / "nowhere" / "kept")
    with pytest.raises(DataError, match="cannot be written there"):
        gm.collect(parquet, checkpoint=tmp_path)
    with pytest.raises(DataError, match="progress is kept on this machine"):
        gm.collect(parquet, checkpoint="s3://bucket/kept")
    for wrong in (3, ""):
        with pytest.raises(DataError, match="takes the path of a file; got"):
            gm.collect(parquet, checkpoint=wrong)


def test_an_engine_that_keeps_nothing_says_so(parquet, tmp_path):
    class Elsewhere(local.LocalEngine):
        reduce_kept = local.Engine.reduce_kept

    with pytest.raises(DataError, match="kept by the local engine, not by Elsewhere"):
        gm.collect(parquet, checkpoint=tmp_path / "kept", engine=Elsewhere())


def test_ctrl_c_leaves_the_checkpoint_and_says_how_to_go_on(parquet, tmp_path, monkeypatch):
    path = tmp_path / "kept"
    calls = []

    def interrupted(self, state):
        calls.append(state)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return advance(self, state)

    advance = local.Progress.advance
    with monkeypatch.context() as patch:
        patch.setattr(local.Progress, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt) as error:
            gm.collect(parquet, checkpoint=often(path))
    assert error.value.__notes__[0].startswith("progress up to row ")
    assert f"the same collect(checkpoint={str(path)!r}) goes on from there" in error.value.__notes__[0]
    assert same(gm.collect(parquet, checkpoint=often(path)), gm.collect(parquet, checkpoint=often(tmp_path / "other")))


def test_with_the_result_not_yet_safe_the_whole_sum_is_kept(parquet, tmp_path, monkeypatch):
    checkpoint = often(tmp_path / "kept", keep=True)
    whole = gm.collect(parquet, folds=3, checkpoint=checkpoint)
    assert (tmp_path / "kept").exists()
    monkeypatch.setattr(local.FoldCounters, "add", None)
    assert same(gm.collect(parquet, folds=3, checkpoint=checkpoint), whole)
    checkpoint.remove()
    assert list(tmp_path.iterdir()) == []


def test_every_checkpoint_is_written_within_its_share_of_the_time(parquet, tmp_path, monkeypatch):
    """A file that takes a second to write is not written again for fifty."""
    clock = [0.0]
    monkeypatch.setattr("gramian.engines.checkpoint.time.monotonic", lambda: clock[0])
    written = []

    def slow(path, tensors, header):
        written.append(path)
        clock[0] += 1.0

    monkeypatch.setattr(container, "write", slow)
    gm.collect(parquet, checkpoint=Checkpoint(tmp_path / "kept", seconds=0.0, segment_ns=0.0))
    assert len(written) == 1


PROCESS = """
    import os, sys, json, resource, signal, warnings
    import gramian as gm
    from gramian.engines import local
    from gramian.engines.checkpoint import Checkpoint
    import gramian.tables.files.parquet, gramian.moments.file, safetensors.numpy

    local.STRETCH_ROWS = 2**11
    source, folder = sys.argv[1:3]
    options = dict(folds=2, columns=["late", "many", "x", "yes"], sample_weight="w", n_jobs=2)

    def collect(path, out):
        gm.collect(source, checkpoint=Checkpoint(path, seconds=0.0, segment_ns=0.0, share=1e9), **options).save(out)

    # One child per line that is read, begun with every loop compiled.
    collect(os.path.join(folder, "whole.kept"), os.path.join(folder, "whole.moments"))
    print("ready", flush=True)
    for line in sys.stdin:
        name, limit = line.split()
        child = os.fork()
        if not child:
            if int(limit):
                warnings.simplefilter("ignore")
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
            try:
                collect(os.path.join(folder, name + ".kept"), os.path.join(folder, name + ".moments"))
            except BaseException as error:
                print("failed", type(error).__name__, error, flush=True)
                os._exit(1)
            print("done", flush=True)
            os._exit(0)
        print(child, flush=True)
        print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def children(parquet, tmp_path_factory):
    """Run `collect` in real processes: `start(name)` gives the id of one, `end()` what it said and its exit status."""
    folder = tmp_path_factory.mktemp("children")
    script = [sys.executable, "-c", textwrap.dedent(PROCESS), str(parquet), str(folder)]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"

        def start(name, limit=0):
            process.stdin.write(f"{name} {limit}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        def end():
            said = ""
            while not (line := process.stdout.readline()).startswith("ended"):
                assert line, "the process is gone"
                said += line
            return said.strip(), int(line.split()[1])

        yield start, end, folder
        process.stdin.close()
    assert process.returncode == 0


def test_killed_at_any_instant_a_pass_ends_with_the_same_bits(children, rng):
    start, end, folder = children
    whole = gm.Moments.load(folder / "whole.moments")
    path = folder / "kept.kept"

    def run(seconds):
        """Return the exit status of a child that is killed after so many seconds, and the row that is kept then."""
        child = start("kept")
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = end()
        if not path.exists():
            return status, 0
        header = container.read(path)[1]
        return status, json.loads(header["state"])["row"]

    # How long a pass takes here, so that instants lie within it whatever the machine.
    began = time.monotonic()
    start("again")
    end()
    length = time.monotonic() - began
    kept_at, n_killed = set(), 0
    while n_killed < 20:
        status, row = run(float(rng.uniform(0.1, 0.9)) * length)
        if status == 0:
            # It came to its end first.
            assert gm.Moments.load(folder / "kept.moments") == whole
            (folder / "kept.moments").unlink()
            length *= 0.9
            continue
        n_killed += 1
        assert status == -signal.SIGKILL
        kept_at.add(row)
    start("kept")
    assert end() == ("done", 0)
    assert same(gm.Moments.load(folder / "kept.moments"), whole)
    # The instants were spread over the pass, or this was a test of nothing.
    assert len(kept_at) >= 3
    assert [p.name for p in folder.iterdir() if not p.name.endswith("moments")] == []


def test_a_full_disk_stops_no_pass_and_spoils_no_checkpoint(children, rng):
    start, end, folder = children
    whole = gm.Moments.load(folder / "whole.moments")
    size = (folder / "whole.moments").stat().st_size
    path = folder / "kept.kept"
    for limit in rng.integers(1, int(1.2 * size), size=6):
        start("kept", int(limit))
        said, _ = end()
        # The moments at the end do not fit either; the pass itself went through.
        assert "failed OSError" in said or said == "done"
        if path.exists():
            container.read(path)
    start("kept")
    assert end() == ("done", 0)
    assert same(gm.Moments.load(folder / "kept.moments"), whole)


def test_a_disk_that_is_full_for_a_while_is_a_warning_and_the_checkpoint_before_stays(parquet, tmp_path, monkeypatch):
    path = tmp_path / "kept"
    write, turns = container.write, []

    def full(*what):
        turns.append(1)
        if len(turns) > 1:
            raise OSError(28, "No space left on device")
        write(*what)

    monkeypatch.setattr(container, "write", full)
    with pytest.warns(CheckpointWarning, match="No space left on device") as warned:
        done = gm.collect(parquet, checkpoint=often(path))
    assert len(warned) == 1
    assert "stays, and the pass goes on" in str(warned[0].message)
    monkeypatch.undo()
    assert done.isclose(gm.collect(parquet))
