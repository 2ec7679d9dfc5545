"""One run of the program: signals become a clean end, exceptions become one line and an exit code.

Exit codes: 0 done; 1 the data, a file or the machine is at fault; 2 wrong usage; 128 + n stopped by signal n.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gramian.cli.printing import shown_as
from gramian.cli.wording import UsageError, in_options, one_line
from gramian.errors import GramianError

DONE, AT_FAULT, WRONG_USAGE = 0, 1, 2

TRACEBACK = "GRAMIAN_TRACEBACK"
"""Environment variable that lets exceptions through as Python shows them, for whoever looks for a bug."""


class Stopped(BaseException):
    """A signal asked the process to end. Not an `Exception`: what cleans up on any failure cleans up here too."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(arguments: list[str]) -> int:
    """Run one command line and return the exit code."""
    with _signals(), _open_streams():
        try:
            return _invoke(arguments)
        except Stopped as stopped:
            kept = [in_options(note) for note in getattr(stopped, "__notes__", [])]
            _say("; ".join(["interrupted", *(kept or ["no partial output is left"])]))
            from gramian.arrays.linalg import is_at_work

            if is_at_work():
                # What goes on in the background would hold up the end of the process, and nobody waits for it.
                sys.stderr.flush()
                os._exit(128 + stopped.number)
            return 128 + stopped.number
        except BrokenPipeError:
            # Whoever read our output has seen enough; the rest goes nowhere, without a complaint at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return AT_FAULT
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            return _explain(error)


def _invoke(arguments: list[str]) -> int:
    from gramian.cli.program import build

    warnings.showwarning = _show_warning
    log = logging.getLogger("gramian")
    log.setLevel(logging.INFO)
    notes = _Notes()
    log.addHandler(notes)
    try:
        result = build().main(arguments or ["--help"], prog_name="gramian", standalone_mode=False)
    finally:
        log.removeHandler(notes)
    sys.stdout.flush()
    return result if isinstance(result, int) else DONE


class _Notes(logging.Handler):
    """Says what long work decides, each thing once, however often a file is opened."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = in_options(record.msg) if not record.args else record.getMessage()
        if text not in self._said:
            self._said.add(text)
            _say(f"note: {text}")


def _explain(error: Exception) -> int:
    """Print an exception as one line; return the exit code that belongs to it."""
    if isinstance(error, UsageError):
        _say(in_options(error))
        return WRONG_USAGE
    # typer's own exceptions, in whichever module its release keeps them, can format themselves.
    shown = getattr(error, "format_message", None)
    if shown is not None:
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gramian"
        text = one_line(shown()).rstrip(".")
        end = "" if text.endswith("?") else ";"
        _say(f"{text[:1].lower()}{text[1:]}{end} see {command} --help")
        return int(getattr(error, "exit_code", WRONG_USAGE))
    if isinstance(error, GramianError):
        _say(in_options(error))
        return AT_FAULT
    if isinstance(error, MemoryError):
        _say("out of memory; leave wide columns out with --exclude, or use fewer rows at a time")
        return AT_FAULT
    if isinstance(error, OSError) or "os error" in str(error).lower():
        _say(_of_the_system(error))
        return AT_FAULT
    _say(f"{one_line(str(error))} ({type(error).__name__}; {TRACEBACK}=1 shows where)")
    return AT_FAULT


def _of_the_system(error: Exception) -> str:
    """Return what the system said, in one line."""
    text = one_line(str(error))
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text:
        return "the disk is full: the output was not written; free some space, or name another place with -o"
    if getattr(error, "errno", None) == errno.EFBIG:
        return "the output was not written: it is longer than a file of this process may be (ulimit -f)"
    return text


def _say(text: str) -> None:
    # With the terminal gone there is nobody to tell, and nothing else to do about it.
    with contextlib.suppress(OSError, ValueError):
        print(f"gramian: {shown_as(text)}", file=sys.stderr, flush=True)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    _say(f"warning: {in_options(message)}")


@contextlib.contextmanager
def _open_streams() -> Iterator[None]:
    """While the block runs, standard output and error take any text, also where they are closed or know few letters."""
    with contextlib.ExitStack() as opened:
        for name, redirect in (("stdout", contextlib.redirect_stdout), ("stderr", contextlib.redirect_stderr)):
            # What is printed to no file goes to standard output, so that a closed standard error needs a place too.
            if getattr(sys, name) is None:
                opened.enter_context(redirect(opened.enter_context(open(os.devnull, "w", encoding="utf-8"))))
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
            codecs.register_error("gramian", _written_out)
            sys.stdout.reconfigure(errors="gramian")
        yield


def _written_out(error: UnicodeError) -> tuple[bytes, int]:
    """Return what stands for letters that an output does not know: the bytes of file names as they are, all else by number."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    written = b"".join(
        bytes([ord(letter) - 0xDC00]) if 0xDC80 <= ord(letter) <= 0xDCFF else letter.encode("ascii", "backslashreplace")
        for letter in letters
    )
    return written, error.end


@contextlib.contextmanager
def _signals() -> Any:
    """While the block runs, an interrupt or a request to end raises `Stopped`, once; the next one kills."""

    def stop(number: int, _: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        raise Stopped(number)

    def again(dropped: Any) -> None:
        # Python drops what is raised while an object is deleted or a weak reference cleared: it is raised again, later.
        error = dropped.exc_value
        if not isinstance(error, Stopped) or not hasattr(signal, "setitimer"):
            hook(dropped)
            return
        signal.signal(signal.SIGALRM, lambda *_: stop(error.number, None))
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    hook, sys.unraisablehook = sys.unraisablehook, again
    wanted = [signal.SIGINT, signal.SIGTERM] if threading.current_thread() is threading.main_thread() else []
    before: dict[signal.Signals, Any] = {}
    for number in wanted:
        # A shell starts background jobs with interrupts ignored: that stays so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
