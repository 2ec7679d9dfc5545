"""One run of the program: exceptions and warnings become one line, and an exit code."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
import weakref

import pytest

from gramian.cli import running
from gramian.cli.wording import UsageError
from gramian.errors import Argument, DataError, WideColumnWarning

CASES = [
    (UsageError("keep ", Argument("exclude", ["a"])), 2, "keep --exclude a"),
    (DataError("two\nlines, ", Argument("ridge", "cv")), 1, "two lines, --set ridge=cv"),
    (MemoryError(), 1, "out of memory"),
    (OSError(errno.ENOSPC, "No space left on device"), 1, "the disk is full"),
    (OSError(errno.EFBIG, "File too large"), 1, "the output was not written: it is longer than a file"),
    (PermissionError(13, "Permission denied", "x.csv"), 1, "x.csv"),
    (RuntimeError("a bug"), 1, "a bug (RuntimeError; GRAMIAN_TRACEBACK=1 shows where)"),
]


@pytest.mark.parametrize(("error", "code", "words"), CASES, ids=lambda each: type(each).__name__)
def test_an_exception_is_one_line_and_a_code(monkeypatch, capsys, error, code, words):
    def fail(arguments):
        raise error

    monkeypatch.setattr(running, "_invoke", fail)
    assert running.run([]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("gramian: ")
    assert words in shown.err


def test_a_bug_can_be_looked_at(monkeypatch):
    def fail(arguments):
        raise RuntimeError("a bug")

    monkeypatch.setattr(running, "_invoke", fail)
    monkeypatch.setenv(running.TRACEBACK, "1")
    with pytest.raises(RuntimeError, match="a bug"):
        running.run([])


def test_warnings_are_lines_in_the_words_of_the_command_line(capsys):
    running._show_warning(WideColumnWarning("leave it out with ", Argument("exclude", ["a"])), WideColumnWarning)
    assert capsys.readouterr().err == "gramian: warning: leave it out with --exclude a\n"


def test_signals_are_as_before_afterwards(monkeypatch, program, files):
    import signal

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), warnings.showwarning
    program("--version", cwd=files)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), warnings.showwarning) == before


# Standard streams that are closed, full, or know few letters


EMOJI = "color,size\n\N{GRINNING FACE},1.5\nblue,2.5\n\N{GRINNING FACE},3.5\nred,0.5\n"


def in_shell(tmp_path, words: str, **environment: str) -> subprocess.CompletedProcess:
    """Run a command line of the shell in which `gramian` is the program of this tree."""
    (tmp_path / "emoji.csv").write_text(EMOJI, encoding="utf-8")
    program = f'gramian() {{ "{sys.executable}" -m gramian "$@"; }}; cd "{tmp_path}"; {words}'
    settings = {**os.environ, "COLUMNS": "80", **environment}
    return subprocess.run(["bash", "-c", program], capture_output=True, env=settings, timeout=300, check=False)


@pytest.mark.parametrize(
    "command",
    [
        "methods >&-",
        "inspect emoji.csv >&- <&- 2>&-",
        "inspect emoji.csv --json >&-",
        "collect emoji.csv -o a.moments >&- <&- 2>&-",
    ],
)
def test_a_closed_standard_output_is_nobody_who_reads(tmp_path, command):
    done = in_shell(tmp_path, f"gramian {command}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_closed_standard_error_leaves_standard_output_to_the_results(tmp_path):
    done = in_shell(tmp_path, "gramian inspect nope.csv 2>&-")
    assert (done.returncode, done.stdout) == (1, b"")
    done = in_shell(tmp_path, "gramian inspect emoji.csv --json 2>&-")
    assert json.loads(done.stdout)["n_sampled"] == 4


def test_closed_streams_cannot_be_read_or_written(tmp_path):
    done = in_shell(tmp_path, "gramian inspect - <&-")
    assert done.returncode == 2
    assert done.stderr == b"gramian: standard input, -, is closed; pipe data into it, or name a file\n"
    done = in_shell(tmp_path, "gramian collect emoji.csv -o - >&-")
    assert done.returncode == 2
    assert done.stderr == b"gramian: standard output is closed, and -o - would write to it; name a file\n"


@pytest.mark.parametrize("encoding", ["ascii:strict", "latin-1:surrogateescape", ""])
def test_letters_that_the_output_does_not_know_are_written_out(tmp_path, encoding):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    done = in_shell(tmp_path, "gramian collect emoji.csv -o a.moments", **plain)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\U0001f600: 50.0%" in done.stdout
    assert done.stdout.endswith(b"next: gramian fit a.moments --method pca -o a.model\n")
    if encoding == "ascii:strict":
        found = json.loads(in_shell(tmp_path, "gramian inspect a.moments --json", **plain).stdout)
        assert found["columns"][0]["top"] == "\N{GRINNING FACE}"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device without room")
def test_nothing_is_said_to_be_written_to_a_full_device(tmp_path):
    done = in_shell(tmp_path, "gramian collect emoji.csv -o - > /dev/full")
    assert done.returncode == 1
    assert done.stderr.startswith(b"gramian: the disk is full")
    assert done.stderr.count(b"\n") == 1
    done = in_shell(tmp_path, "gramian collect emoji.csv -o - > piped.moments")
    assert (done.returncode, b"wrote standard output" in done.stderr) == (0, True)
    done = in_shell(tmp_path, "gramian inspect emoji.csv > /dev/full")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


def test_an_interrupt_that_python_drops_is_raised_again():
    class Key:
        pass

    keys = [Key()]
    # What is raised in such a callback is dropped.
    watched = weakref.ref(keys[0], lambda _: signal.raise_signal(signal.SIGINT))

    def lose_it() -> None:
        with running._signals():
            keys.clear()
            time.sleep(5.0)

    with pytest.raises(running.Stopped):
        lose_it()
    assert watched() is None
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
