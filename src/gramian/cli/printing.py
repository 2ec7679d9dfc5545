"""What goes to standard output, tables for people and JSON for programs; and `-` for standard input and output.

What is piped in is a file for the command, and what it writes is piped on. Formats are found by their first bytes and some of
them end with an index, so that a stream is kept in a temporary file while the command runs; it is gone when the command has
ended. Tables that are piped on are CSV; moments and models are as in files. What is said about the work then goes to standard
error.

What people do next: after every command, one command line that follows from it.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import math
import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gramian.cli.files import stem_of
from gramian.cli.options import reading_options
from gramian.cli.wording import UsageError
from gramian.errors import visible
from gramian.text_table import text_table

if TYPE_CHECKING:
    from gramian.moments.value import Moments


WIDTH = 120
"""Letters in a line that is read by no terminal."""


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH


def show(text: str) -> None:
    """Print text: on a terminal broken between words, elsewhere as it is."""
    text = shown_as(text)
    if not sys.stdout.isatty():
        print(text)
        return
    for line in text.split("\n"):
        print("\n".join(textwrap.wrap(line, _width(), break_on_hyphens=False)))


def show_table(head: Sequence[str] | None, rows: Iterable[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print rows under a head.

    Parameters
    ----------
    head : names of the columns, or None where the first column says what the second is
    rows : cells, as anything `cell` can write
    right : places of the columns that are aligned to the right
    """
    cells = [[cell(each) for each in row] for row in rows]
    print("\n".join(text_table(head, cells, right=right, width=_width())))


def show_next(command: str) -> None:
    """Print the command that people type next."""
    print(f"next: {shown_as(command, typed=True)}")


def cell(value: Any) -> str:
    """Return a value as people write it.

    Examples
    --------
    >>> [cell(v) for v in (1234567, 0.123456, 1e-9, None, True, "x", [0.5, 0.25])]
    ['1,234,567', '0.1235', '1e-09', '', 'yes', 'x', '0.5, 0.25']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(each) for each in value[:6])
        return shown if len(value) <= 6 else f"{shown} ... ({len(value)})"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={cell(each)}" for name, each in value.items())
    return str(value)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        # JSON has a way of its own to write letters that the output does not know.
        text = json.dumps(plain(value), indent=2, allow_nan=False)
    print(shown_as(text))


def plain(value: Any) -> Any:
    """Return a value made of what JSON has; numbers that JSON lacks become null, dates text.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": np.array([1, 2]), "c": float("nan"), 3: np.bool_(True)})
    {'a': 0.5, 'b': [1, 2], 'c': None, '3': True}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    # First, because a number of numpy is a number of Python's too, and prints otherwise.
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


# Streams

STREAM = "-"
READ = ("source", "data", "files", "model", "whole", "part", "like", "first", "second")
"""Parameters of commands that name files to read."""
WRITTEN = {
    "merge": ".moments",
    "subtract": ".moments",
    "attach": ".moments",
    "collect": ".moments",
    "fit": ".model",
    "select": ".model",
    "report": ".html",
    "export": ".sql",
}
"""Command -> suffix of what it writes; the others write tables."""

_names: dict[str, str] = {}
"""Temporary file -> what people call it, also when it is gone and an error names it."""


def with_streams(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes `-` for a file to read and for the file to write."""

    @functools.wraps(command)
    def run(**arguments: Any) -> Any:
        named = [name for name in READ if name in arguments]
        asked = sum(_count(arguments[name]) for name in named)
        piped = arguments.get("output") == STREAM
        if not asked and not piped:
            return command(**arguments)
        if asked > 1:
            raise UsageError("standard input, -, is named twice and can be read once; name a file")
        with tempfile.TemporaryDirectory(prefix="gramian-") as folder:
            if asked:
                path = _kept(folder)
                for name in named:
                    arguments[name] = _replaced(arguments[name], path)
            if not piped:
                return command(**arguments)
            return _piped(command, arguments, folder)

    return run


def shown_as(text: str, *, typed: bool = False) -> str:
    """Return a text without control characters, temporary files called what they stand for: as typed again, or in words."""
    text = visible(text, lines=not typed)
    for path, words in _names.items():
        text = text.replace(path, STREAM if typed else words)
        # Messages about a table call it by the last part of its path.
        text = text if typed else text.replace(f" {os.path.basename(path)}", f" {words}")
    return text


def _count(value: Any) -> int:
    return value == STREAM if isinstance(value, str) else sum(each == STREAM for each in value or ())


def _replaced(value: Any, path: str) -> Any:
    if isinstance(value, list | tuple):
        return [path if each == STREAM else each for each in value]
    return path if value == STREAM else value


def _kept(folder: str) -> str:
    """Keep what is piped in as a file, whose suffix says what its first bytes show."""
    if sys.stdin is None or sys.stdin.isatty():
        what = "closed" if sys.stdin is None else "a terminal"
        raise UsageError(f"standard input, -, is {what}; pipe data into it, or name a file")
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    named = path + suffix_of(path)
    os.rename(path, named)
    _names[named] = "standard input"
    if not os.path.getsize(named):
        raise UsageError("standard input, -, is empty; pipe data into it, or name a file")
    return named


def suffix_of(path: str) -> str:
    """Return the suffix of the format that the first bytes show: "" for moments and models, CSV where they show none."""
    with open(path, "rb") as file:
        head = file.read(64)
    if head[:2] == b"\x1f\x8b":
        with gzip.open(path) as text:
            head = text.read(64)
        return (".jsonl" if _is_json(head) else ".csv") + ".gz"
    for magic, suffix in (
        (b"PAR1", ".parquet"),
        (b"ARROW1", ".arrow"),
        (b"\xff\xff\xff\xff", ".arrows"),
        (b"PK\x03\x04", ".xlsx"),
    ):
        if head.startswith(magic):
            return suffix
    # The header of our own files is JSON behind its length in eight bytes.
    if head[8:9] == b"{" and 0 in head[:8]:
        return ""
    return ".jsonl" if _is_json(head) else ".csv"


def _is_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _piped(command: Callable[..., Any], arguments: dict[str, Any], folder: str) -> Any:
    """Run a command that writes to a temporary file, and copy that to standard output."""
    if arguments.get("as_json"):
        raise UsageError("--json and -o - both write to standard output; name a file with -o")
    suffix = WRITTEN.get(command.__name__, ".csv")
    stream = sys.stdout
    if getattr(stream, "name", None) == os.devnull:
        raise UsageError("standard output is closed, and -o - would write to it; name a file")
    if suffix in (".moments", ".model") and stream.isatty():
        raise UsageError("-o - would write bytes to a terminal; name a file, or pipe them on")
    path = os.path.join(folder, f"piped{suffix}")
    _names[path] = "standard output"
    # What the command says is said when its output has arrived, and not before.
    said = _Said()
    with contextlib.redirect_stdout(said):
        result = command(**{**arguments, "output": path})
    with open(path, "rb") as file:
        shutil.copyfileobj(file, stream.buffer)
    stream.flush()
    sys.stderr.write(said.getvalue())
    return result


class _Said(io.StringIO):
    """Text that goes to standard error in the end, and is as wide as that."""

    def isatty(self) -> bool:
        return sys.stderr.isatty()


PLACE = "DATA"
"""Stands for data that the command did not see."""


def after_moments(moments: Moments, path: str) -> str:
    """Return the command that fits a method to moments: one that predicts their target, where they have one."""
    targets = [column.name for column in moments.schema if column.target]
    if not moments.n_rows:
        return _line("merge", path, "MOMENTS", "-o", "all.moments")
    method = ["mahalanobis", "--target", targets[0]] if targets else ["pca"]
    return _line("fit", path, "--method", *method, "-o", f"{stem_of(path)}.model")


def after_fit(model: Any, path: str, data: Sequence[str], *, missing: str = "raise") -> str:
    """Return the command that applies a model to data: those it was fitted on, or others where it was fitted on moments."""
    from gramian.estimators.registry import find_method

    method = find_method(type(model).__name__)
    rows = [*data, *_read_alike(missing)] if data else [PLACE]
    if method.detects:
        return _line("detect", path, *rows, "--top", "5", "--explain")
    if method.predicts:
        return _line("predict", path, *rows, "-o", "predicted.parquet")
    if method.transforms:
        return _line("transform", path, *rows, "-o", "features.parquet")
    return _line("report", path, "-o", "report.html")


def after_rows(model: str, data: Sequence[str], *, missing: str = "raise") -> str:
    """Return the command that shows what a model makes of data."""
    return _line("report", model, *_repeated("--data", data), *_read_alike(missing), "-o", "report.html")


def after_preview(paths: Sequence[str], suspected: Sequence[str], *, missing: str = "raise") -> str:
    """Return the command that collects data, without the columns that look like the numbers of rows."""
    name = stem_of(paths[0]) if len(paths) == 1 else "all"
    return _line("collect", *paths, *_repeated("--exclude", suspected), *_read_alike(missing), "-o", f"{name}.moments")


def after_ranking(paths: Sequence[str], target: str, asked: Mapping[str, Sequence[str]]) -> str:
    """Return the command that keeps the columns which predict the target best together, of data read the same way.

    Parameters
    ----------
    paths : files of data, or of moments
    target : the column to predict
    asked : options that name columns, and these
    """
    from gramian.design.encoder import TARGET_MISSING

    how = TARGET_MISSING.get()
    options = {**asked, "--target-missing": [how] if how != "drop" else []}
    named = [word for option, values in options.items() for word in _repeated(option, values)]
    last = ("--method", "forward", "-o", "columns.model")
    return _line("select", *paths, "--target", target, *named, *_read_alike(), *last)


def _read_alike(missing: str = "raise") -> list[str]:
    """Return the options with which data are read as the command that ends here has read them."""
    return [*reading_options(), *(["--missing", missing] if missing != "raise" else [])]


def _repeated(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _line(*words: str) -> str:
    return shlex.join(["gramian", *words])
