"""What is promised of output files before work begins, and what is written in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from gramian.cli.files import check_folder, check_output, check_table_output
from gramian.cli.wording import UsageError
from gramian.errors import DataError, SourceNotFoundError
from gramian.estimators.spine.files import write_rows
from gramian.storage.atomic import WRITTEN_AS
from gramian.tables import open_table


@pytest.mark.parametrize("suffix", WRITTEN_AS)
def test_every_suffix_that_is_accepted_is_written_and_read_back(tmp_path, suffix):
    path = str(tmp_path / f"x{suffix}")
    check_table_output(path)
    batches = [pa.record_batch({"a": [1, 2], "b": ["x", "y"]}), pa.record_batch({"a": [3], "b": ["z"]})]
    assert write_rows(lambda: pa.Table.from_batches(batches).to_reader(), path) == 3
    rows = [row for batch in open_table(path).batches() for row in batch.to_pylist()]
    assert rows == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


def test_what_cannot_be_written_is_refused_beforehand(tmp_path):
    with pytest.raises(UsageError, match=r"x\.txt"):
        check_table_output(str(tmp_path / "x.txt"))
    with pytest.raises(SourceNotFoundError, match="nowhere"):
        check_output(str(tmp_path / "nowhere" / "x.csv"))
    with pytest.raises(DataError, match="folder"):
        check_output(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="it is a pipe or a device"):
        check_output(str(tmp_path / "pipe"))
    existing = tmp_path / "a.csv"
    existing.write_text("a\n1\n")
    check_output(str(existing), ["other.csv"])
    with pytest.raises(UsageError, match="inputs"):
        check_output(str(existing), [str(tmp_path / "." / "a.csv")])


def test_a_folder_is_made_only_where_it_can_be(tmp_path):
    check_folder(str(tmp_path))
    check_folder(str(tmp_path / "new"))
    with pytest.raises(SourceNotFoundError, match="nowhere"):
        check_folder(str(tmp_path / "nowhere" / "new"))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        check_folder(str(tmp_path / "file"))


def test_a_failure_while_writing_leaves_nothing_and_ends_the_reader(tmp_path):
    ended = []

    def breaks_off():
        try:
            yield pa.record_batch({"a": [1]})
            raise OSError("the line went dead")
        finally:
            ended.append(True)

    def reader():
        return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), breaks_off())

    with pytest.raises(OSError, match="dead"):
        write_rows(reader, str(tmp_path / "x.csv"))
    assert ended == [True]
    assert not list(Path(tmp_path).iterdir())
