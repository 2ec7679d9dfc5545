"""One run of the program: exceptions and warnings become one line, and an exit code."""

from __future__ import annotations

import errno
import warnings

import pytest

from gramian.cli import running
from gramian.cli.shared.usage import UsageError
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
