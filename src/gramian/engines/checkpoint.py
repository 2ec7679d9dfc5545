"""Progress of a pass, kept in a file: what is in, its sum, and how far the encoder has come.

Moments are a sum over rows, so a pass that was stopped needs three things to go on: the sum of the rows so far (one a fold),
the state of the encoder (labels in order of first sight, which integers have become numbers, the row whose fold is drawn next)
and the row to read next. They are taken together at the end of a stretch of rows, and written to one checksummed file
that takes the place of the one before it in a single step: killed at any instant, there is the old file or the new one.

**The same bits.** Floating-point sums depend on their order, so a sum that is closed whenever a clock says so would differ from
run to run. Here the clock decides only which states are *written*. Where the sum is closed (the counters emptied into
moments, and these added to the moments so far) is part of the plan: it follows from rows, columns and the size of the moments
alone. A resumed pass closes where the others do, and every addition is the same one.

**What it costs.** Closing takes about `CELL_NS` a cell of the moments, counting a row about 6 n + 0.3 n^2 ns with n columns. A
segment lasts until closing is `SHARE` of its counting, but no longer than all segments before it together, so that moments
that grow as fast as the data (pairs of identifiers) still keep at least half of the pass; and at least `SEGMENT_NS`. A file
is written at most every `SECONDS`, and not before writing is `SHARE` of the time.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gramian.design.encoder import Encoded, Encoder, EncoderState
from gramian.errors import Argument, Call, CheckpointWarning, DataError, FileFormatError, Message, SourceNotFoundError
from gramian.moments.file import (
    MEANINGLESS,
    Tensors,
    one_line,
    pack_labels,
    pack_moments,
    package_version,
    unpack_labels,
    unpack_moments,
)
from gramian.moments.value import Moments
from gramian.storage import atomic, container
from gramian.tables import ArrayTable, ArrowTable

if TYPE_CHECKING:
    from gramian.engines.local import FoldCounters

SECONDS = 5.0
"""Between two files, at least."""
SHARE = 0.02
"""Of the time of a pass that closing sums may take, and that writing files may take."""
SEGMENT_NS = 5e8
"""Nanoseconds of counting after which a sum may be closed."""
CELL_NS = 10.0
"""Nanoseconds to empty one cell of the counters and add it up: 7 ms for 757,000 of them."""

STEP = "; delete it to begin anew, or name another file"


class Checkpoint:
    """A file in which the progress of a pass is kept.

    Parameters
    ----------
    path : path
        In a folder that exists.
    keep : bool
        Leave the file at the end, with the whole sum in it, for a caller that still has to bring the result to safety and
        then calls `remove`.
    seconds, segment_ns, share : float
        `SECONDS`, `SEGMENT_NS` and `SHARE`; other values are for tests.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep: bool = False,
        seconds: float = SECONDS,
        segment_ns: float = SEGMENT_NS,
        share: float = SHARE,
    ) -> None:
        self.path = os.path.expanduser(os.fspath(path))
        self.keep, self.seconds, self.segment_ns, self.share = keep, seconds, segment_ns, share

    def begin(self, table: ArrowTable | ArrayTable, encoder: Encoder) -> KeptProgress:
        """Return the progress of a pass over a table: that of the file where there is one, else none yet.

        Raises
        ------
        DataError
            Where the table is not one of files, or the file keeps the progress of another pass, is damaged or is
            something else.
        """
        data = table.identity() if isinstance(table, ArrowTable) else None
        if data is None:
            raise DataError(
                Argument("checkpoint"),
                f" needs rows that can be found again, and {table.describe} is not one or more files; write it to Parquet "
                "first, or leave the option out",
            )
        assert isinstance(table, ArrowTable)
        folder = os.path.dirname(self.path) or os.curdir
        if "://" in self.path:
            raise DataError(Argument("checkpoint", self.path), " is elsewhere; progress is kept on this machine")
        if not os.path.isdir(folder):
            raise SourceNotFoundError(Argument("checkpoint", self.path), f": the folder {folder} does not exist")
        if os.path.isdir(self.path) or not os.access(folder, os.W_OK):
            raise DataError(Argument("checkpoint", self.path), " cannot be written there; name another file")
        # As they come back from the file: tuples as lists.
        plan = json.loads(json.dumps({"version": package_version(), "data": data, "settings": encoder.settings()}))
        kept = KeptProgress(self, table, encoder, plan)
        if os.path.exists(self.path):
            kept.load()
        return kept

    def remove(self) -> None:
        """Remove the file, where there is one."""
        atomic.remove(self.path)


class KeptProgress:
    """The progress of one pass: what is in, and what is written when.

    Attributes
    ----------
    row : int
        The row to read next.
    parts : list of Moments
        The sum of the rows before it, one a fold; empty at the beginning.
    """

    def __init__(self, checkpoint: Checkpoint, table: ArrowTable, encoder: Encoder, plan: dict[str, Any]) -> None:
        self._checkpoint, self._table, self._encoder, self._plan = checkpoint, table, encoder, plan
        n = len(encoder.schema)
        self._row_ns = 6.0 * n + 0.3 * n * n
        self.row = 0
        self.parts: list[Moments] = []
        self._due = int(checkpoint.segment_ns / self._row_ns)
        self._written_at, self._write_seconds = time.monotonic(), 0.0
        self._warned = False

    def task(self, work: FoldCounters, rows: Encoded, n_rows: int) -> Callable[[], None]:
        """Return what is to be done with a stretch of rows: count it, and close the sum where the plan says so.

        Parameters
        ----------
        work : FoldCounters
        rows : Encoded
            The stretch; the encoder has not begun the next one.
        n_rows : int
            Rows read, with those of the stretch.
        """
        if n_rows < self._due:
            return partial(work.add, rows)
        pause = max(self._checkpoint.seconds, self._write_seconds / self._checkpoint.share)
        state = self._encoder.state() if time.monotonic() - self._written_at >= pause else None
        return partial(self._close, work, rows, n_rows, state)

    def complete(self, work: FoldCounters, n_rows: int) -> None:
        """Keep the whole sum, where the caller has asked for it."""
        if self._checkpoint.keep:
            self._write(n_rows, work.settle(), self._encoder.state())

    def _close(self, work: FoldCounters, rows: Encoded, n_rows: int, state: EncoderState | None) -> None:
        work.add(rows)
        parts = work.settle()
        closing = CELL_NS * sum(part.nbytes for part in parts) / 8
        segment = max(self._checkpoint.segment_ns, min(closing / self._checkpoint.share, n_rows * self._row_ns))
        self._due = n_rows + int(segment / self._row_ns)
        if state is not None:
            self._write(n_rows, parts, state)

    def _write(self, n_rows: int, parts: Sequence[Moments], state: EncoderState) -> None:
        began = time.monotonic()
        tensors: Tensors = {}
        for k, labels in enumerate(state.labels.values()):
            pack_labels(labels, tensors, f"labels.{k}.")
        described = {
            "row": n_rows,
            "due": self._due,
            "part_rows": self._table.parts.up_to(n_rows),
            "encoder": [state.row, state.forms, state.offsets, list(state.labels)],
            "parts": [pack_moments(part, tensors, f"part{k}.") for k, part in enumerate(parts)],
        }
        header = {"kind": "checkpoint", "plan": json.dumps(self._plan), "state": json.dumps(described)}
        try:
            container.write(self._checkpoint.path, tensors, header)
        except OSError as error:
            if not self._warned:
                self._warned = True
                kept = f"the one of row {self.row:,} stays" if self.row else "there is none yet"
                warning = CheckpointWarning(
                    f"the checkpoint {self._checkpoint.path!r} cannot be written ({one_line(error)}); "
                    f"{kept}, and the pass goes on"
                )
                warnings.warn(warning, stacklevel=2)
        else:
            self.row = n_rows
        self._written_at = time.monotonic()
        self._write_seconds = self._written_at - began

    def load(self) -> None:
        """Go on from the file."""
        path = self._checkpoint.path
        try:
            tensors, header = container.read(path)
        except FileFormatError as error:
            reason = str(error).partition(";")[0].removeprefix(f"{path!r} ")
            if "not a gramian file" in reason:
                # It may be anything, so nobody is told to delete it.
                raise FileFormatError(f"{path!r} exists and is not a checkpoint; name another file") from None
            raise FileFormatError(f"the checkpoint {path!r} {reason}{STEP}") from None
        if header.get("kind") != "checkpoint":
            raise FileFormatError(
                f"{path!r} holds {header.get('kind')}, and ",
                Argument("checkpoint"),
                " would replace it; name another file",
            )
        try:
            plan = json.loads(header["plan"])
            other = _difference(plan, self._plan)
            if other is not None:
                raise DataError(f"the checkpoint {path!r} is of another pass: ", other, STEP)
            self._restore(json.loads(header["state"]), tensors)
        except DataError as error:
            if "of another pass" in str(error):
                raise
            raise FileFormatError(f"the checkpoint {path!r} is damaged: {error}{STEP}") from None
        except MEANINGLESS as error:
            raise FileFormatError(f"the checkpoint {path!r} is damaged: {one_line(error)}{STEP}") from None

    def _restore(self, described: dict[str, Any], tensors: Tensors) -> None:
        row, forms, offsets, names = described["encoder"]
        labels = {name: unpack_labels(tensors, f"labels.{k}.") for k, name in enumerate(names)}
        parts = [unpack_moments(part, tensors, f"part{k}.") for k, part in enumerate(described["parts"])]
        n_rows, due, part_rows = described["row"], described["due"], described["part_rows"]
        known = self._table.n_rows
        numbers = [n_rows, due, row, *part_rows]
        fine = all(type(n) is int and n >= 0 for n in numbers) and row == n_rows and sum(part_rows) <= n_rows
        fine = fine and len(parts) == max(self._encoder.n_folds, 1) and sum(part.n_rows for part in parts) <= n_rows
        fine = fine and all(part.schema.names == self._encoder.schema.names and not part.folds for part in parts)
        if not fine or (known is not None and n_rows > known):
            raise DataError("its rows do not add up")
        for part in parts:
            for name, own in zip(part.coded, part.labels, strict=True):
                if name in labels and not own.values.equals(labels[name].values.slice(0, len(own))):
                    raise DataError(f"the labels of column {name!r} do not fit each other")
        self._encoder.resume(EncoderState(row, forms, offsets, labels))
        self._table.parts.know(part_rows)
        self.row, self.parts, self._due = n_rows, parts, due

    def __enter__(self) -> KeptProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._checkpoint.keep:
            self._checkpoint.remove()
        elif error is not None and not isinstance(error, Exception) and self.row:
            again = Call("collect", checkpoint=self._checkpoint.path)
            error.add_note(Message(f"progress up to row {self.row:,} is kept: the same ", again, " goes on from there"))


def _difference(kept: dict[str, Any], asked: dict[str, Any]) -> Message | None:
    """Return in what a kept pass differs from the one asked for, None where in nothing."""
    if kept["version"] != asked["version"]:
        return Message(f"it was written by gramian {kept['version']}, and this is {asked['version']}")
    for name in dict.fromkeys([*kept["data"], *asked["data"]]):
        then, now = kept["data"].get(name), asked["data"].get(name)
        if then != now:
            return _changed_files(then, now) if name == "the files" else Message(f"{name} are others now")
    for name in dict.fromkeys([*kept["settings"], *asked["settings"]]):
        then, now = kept["settings"].get(name), asked["settings"].get(name)
        if then != now:
            return _changed_columns(then, now) if name == "columns" else _changed_setting(name, then, now)
    return None


def _changed_files(then: Any, now: Any) -> Message:
    if len(then) != len(now):
        return Message(f"of {len(then)} files, and there are {len(now)} now")
    (path, size, _), (path_now, size_now, _) = next((a, b) for a, b in zip(then, now, strict=True) if a != b)
    if path != path_now:
        return Message(f"it reads {path!r} where {path_now!r} is now")
    if size != size_now:
        return Message(f"{path!r} had {size:,} bytes and has {size_now:,} now")
    return Message(f"{path!r} has been written again since")


def _changed_columns(then: Any, now: Any) -> Message:
    missing = ["no column", "", None, False]
    old, new = next((a or missing, b or missing) for a, b in zip_longest(then, now) if a != b)
    words = [
        f"{name!r} ({form}{', target' if target else ''})" if form else name for name, form, _, target in (old, new)
    ]
    return Message(f"it collects {words[0]} where {words[1]} is asked for now")


def _changed_setting(name: str, then: Any, now: Any) -> Message:
    if name in ("weights", "attached") or isinstance(then, dict):
        return Message(
            "the values of ", Argument({"weights": "sample_weight", "attached": "y"}.get(name, name)), " were others"
        )
    words = [Argument(name, value) if value else Message("no ", Argument(name)) for value in (then, now)]
    return Message("it has ", words[0], ", and now it is ", words[1])
