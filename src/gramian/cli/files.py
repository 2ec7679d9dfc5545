"""What a path on the command line stands for: moments, a model or data, opened here; or an output, checked beforehand."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from gramian.cli.wording import UsageError
from gramian.errors import DataError, FileFormatError, SourceNotFoundError
from gramian.storage.atomic import WRITTEN_AS, place_for, written_as

if TYPE_CHECKING:
    from gramian.moments.value import Moments
    from gramian.tables import ArrowTable

TEXT_SUFFIXES = (".txt",)
"""One object per line."""

ARRAY_SUFFIXES = (".npy",)
"""A matrix of distances, or vectors, as numpy saves it."""


_OURS = {"moments": "moments, which are sums over rows and have none", "model": "a model, which has no rows"}


def require_paths(paths: Sequence[str]) -> None:
    """Raise where a path leads nowhere, with the nearest name beside it as a suggestion."""
    for path in paths:
        full = os.path.expanduser(path)
        if os.path.exists(full) or glob.has_magic(full) or "://" in path:
            continue
        folder = os.path.dirname(full) or os.curdir
        if not os.path.isdir(folder):
            raise SourceNotFoundError(f"{path} does not exist: there is no folder {folder}")
        near = get_close_matches(os.path.basename(full), os.listdir(folder), n=1, cutoff=0.6)
        hint = f"did you mean {os.path.join(os.path.dirname(path), near[0])}?" if near else "check the name"
        raise SourceNotFoundError(f"{path} does not exist; {hint}")


def refuse_repeated(files: Sequence[str]) -> None:
    """Raise where one file is named twice, by a link or another spelling as well: its rows would count twice."""
    seen: dict[tuple[int, int], str] = {}
    for path in files:
        try:
            status = os.stat(os.path.expanduser(path))
        except OSError:
            # Elsewhere, or not there, which is told when it is read.
            continue
        file = (status.st_dev, status.st_ino)
        before = seen.get(file)
        seen[file] = path
        if before is None or not status.st_ino:
            continue
        names = f"{path} is named twice" if before == path else f"{before} and {path} are the same file"
        raise UsageError(
            f"{names}: its rows would count twice; name it once, or a copy of it if they are to count twice"
        )


def source_of(paths: Sequence[str]) -> str | list[str]:
    """Return paths as the library takes them: one, or a list."""
    return paths[0] if len(paths) == 1 else list(paths)


def kind_of(path: str) -> str:
    """Return `"moments"`, `"model"` or `"data"`.

    A suffix of a data format settles it. Otherwise a file of this package says in its header what it is, and one that
    cannot be read so is at fault unless its first bytes are those of a data format.
    """
    from gramian.storage import container
    from gramian.tables.files.paths import format_of_suffix

    full = os.path.expanduser(path)
    if not os.path.isfile(full) or format_of_suffix(full) or full.lower().endswith(TEXT_SUFFIXES + ARRAY_SUFFIXES):
        return "data"
    try:
        kind = container.read_header(full).get("kind", "model")
    except FileFormatError:
        from gramian.tables.files.paths import find_files

        try:
            find_files(full)
        except FileFormatError:
            pass
        else:
            return "data"
        raise
    if kind == "checkpoint":
        raise FileFormatError(
            f"{path} keeps the progress of a pass that was stopped; the same gramian collect, with --checkpoint {path}, "
            "goes on from there"
        )
    return kind


def load_moments(path: str) -> Moments:
    """Return the moments of a file; say how to make some where it holds something else."""
    from gramian.moments.value import Moments

    kind = _kind_of_ours(path)
    if kind == "data":
        raise FileFormatError(
            f"{path} holds data, not moments; first: gramian collect {path} -o {stem_of(path)}.moments"
        )
    if kind == "model":
        raise FileFormatError(f"{path} holds a model, not moments; gramian collect makes moments")
    return Moments.load(path)


def load_model(path: str) -> tuple[Any, dict[str, str]]:
    """Return the model of a file and the notes that were saved with it."""
    kind = _kind_of_ours(path)
    if kind != "model":
        raise FileFormatError(
            f"{path} holds {kind}, not a model; first: gramian fit {path} --method NAME -o {stem_of(path)}.model"
        )
    from gramian.estimators.spine.files import load
    from gramian.storage import container

    return load(path), notes_of(container.read_header(path))


def _kind_of_ours(path: str) -> str:
    """Return the kind of a file that is to hold moments or a model; raise where it is no file."""
    require_paths([path])
    full = os.path.expanduser(path)
    if os.path.exists(full) and not os.path.isfile(full):
        # Says which of folder, pipe and device it is.
        from gramian.storage import container

        container.read_header(full)
    return kind_of(path)


def notes_of(header: dict[str, str]) -> dict[str, str]:
    """Return the notes that were saved in a file's header."""
    try:
        return dict(json.loads(header.get("metadata", "{}")))
    except ValueError:
        return {}


def column_names(paths: Sequence[str]) -> list[str]:
    """Return the source columns of data, of moments, or of what a model was fitted on."""
    from gramian.storage import container

    kind = kind_of(paths[0])
    if kind == "moments":
        schema = json.loads(container.read_header(paths[0])["schema"])
        return list(dict.fromkeys(column["origin"] for column in schema))
    if kind == "model":
        model, _ = load_model(paths[0])
        return [str(name) for name in getattr(model, "feature_names_in_", [])]
    return list(open_data(paths).schema.names)


def open_data(
    paths: Sequence[str],
    *,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    exclude: Sequence[str] = (),
    missing: str = "raise",
) -> ArrowTable:
    """Return the rows of files as a stream, without the columns excluded.

    Parameters
    ----------
    paths : files, folders or patterns
    numeric : columns to be read as numbers
    categorical : columns to be read as they are written
    exclude : columns to leave out
    missing : "fill" takes a column that a file lacks as missing values there
    """
    from gramian.tables import open_table
    from gramian.tables.base import typed, without
    from gramian.tables.opening import files_behind

    require_paths(paths)
    for path in paths:
        kind = kind_of(path)
        if kind != "data":
            raise FileFormatError(f"{path} holds {_OURS[kind]}; name the files that have the rows")
    table = typed(open_table(source_of(paths), numeric=list(numeric), categorical=list(categorical), missing=missing))
    refuse_repeated(files_behind(table))
    exclude = [name for name in exclude if missing != "fill" or name in table.schema.names]
    require_columns(table, [*numeric, *exclude])
    return without(table, exclude) if exclude else table


def text_levels(moments: Moments | None) -> list[str]:
    """Return the columns of moments whose levels are texts."""
    if moments is None:
        return []
    known = zip(moments.coded, moments.labels, strict=True)
    return [name for name, labels in known if moments.schema[name].part is None and labels.family == "text"]


def require_columns(table: ArrowTable, names: Sequence[str | None]) -> None:
    """Raise for the first name that is neither a column of the table nor a part of a date."""
    from gramian.design.kinds import date_of_part, types_of

    known, types = table.schema.names, types_of(table.schema)
    for name in names:
        if name is None or date_of_part(name, types):
            continue
        parts = [part.strip() for part in name.split(",")]
        if name not in known and len(parts) > 1 and all(part in known for part in parts):
            raise UsageError(f"{name!r} names {len(parts)} columns at once; repeat the option, once for each")
        table.require([name])


def stem_of(path: str) -> str:
    """Return the name of a file without its suffixes, to call another after it."""
    return os.path.basename(path.rstrip(os.sep)).split(".")[0] or "data"


# Outputs


def check_output(path: str, inputs: Sequence[str] = ()) -> None:
    """Raise, before a long pass and not after it, where a file could not be written or would replace an input."""
    folder = place_for(path).parent
    if not os.access(folder, os.W_OK):
        raise DataError(f"cannot write {path!r}: permission denied in {str(folder)!r}")
    for each in inputs:
        if os.path.exists(path) and os.path.exists(each) and os.path.samefile(path, each):
            raise UsageError(f"-o {path} is one of the inputs; name another file")


def check_table_output(path: str, inputs: Sequence[str] = ()) -> None:
    """Raise where a table could not be written: as `check_output`, and for a suffix of no known format."""
    if written_as(path) is None:
        raise UsageError(f"-o {path}: tables are written as {', '.join(WRITTEN_AS)}; choose one of these suffixes")
    check_output(path, inputs)


def check_folder(path: str) -> None:
    """Raise where a folder of this name could not be made or written to."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise DataError(f"cannot write to {path}: it is a file; name a folder with --output")
    parent = path if os.path.isdir(path) else os.path.dirname(path.rstrip(os.sep)) or os.curdir
    if not os.path.isdir(parent):
        raise SourceNotFoundError(f"cannot make the folder {path}: there is no folder {parent}")
    if not os.access(parent, os.W_OK):
        raise DataError(f"cannot write to {path}: permission denied in {parent}")
