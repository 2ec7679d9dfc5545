"""What a path stands for is told by its suffix, its header, or its first bytes."""

from __future__ import annotations

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gramian.cli.files import (
    column_names,
    kind_of,
    load_model,
    load_moments,
    open_data,
    require_columns,
    require_paths,
)
from gramian.cli.wording import UsageError
from gramian.errors import ColumnError, FileFormatError, SourceNotFoundError


def test_the_kind_of_a_file_is_what_it_holds(folder):
    assert kind_of(str(folder / "payments.moments")) == "moments"
    assert kind_of(str(folder / "pca.model")) == "model"
    for name in ("payments.parquet", "words.csv", "words.txt", "days"):
        assert kind_of(str(folder / name)) == "data"
    shutil.copy(folder / "payments.parquet", folder / "payments")
    shutil.copy(folder / "pca.model", folder / "anything")
    assert kind_of(str(folder / "payments")) == "data"
    assert kind_of(str(folder / "anything")) == "model"
    (folder / "notes").write_text("only words")
    with pytest.raises(FileFormatError, match="notes"):
        kind_of(str(folder / "notes"))


def test_columns_are_known_whatever_the_kind(files):
    source = column_names([str(files / "payments.parquet")])
    assert column_names([str(files / "payments.moments")]) == [name for name in source if name != "payment"]
    assert set(column_names([str(files / "pca.model")])) == set(source) - {"payment", "fraud"}


def test_an_excluded_column_is_neither_shown_nor_read(files):
    table = open_data([str(files / "words.csv")], exclude=["word"])
    assert table.schema.names == ["language"]
    with pytest.raises(ColumnError, match="'word'"):
        list(table.batches(["word"]))
    assert sum(batch.num_rows for batch in table.batches()) == 12


def test_a_path_that_leads_nowhere_names_the_nearest(files):
    with pytest.raises(SourceNotFoundError, match=r"words\.csv\?"):
        require_paths([str(files / "word.csv")])
    with pytest.raises(SourceNotFoundError, match="no folder"):
        require_paths([str(files / "nowhere" / "word.csv")])
    require_paths([str(files / "*.csv")])


def test_what_is_no_file_is_neither_moments_nor_a_model(folder):
    os.mkfifo(folder / "pipe")
    (folder / "some").mkdir()
    for load in (load_moments, load_model):
        with pytest.raises(FileFormatError, match="pipe' is a pipe or a device, not a file"):
            load(str(folder / "pipe"))
        with pytest.raises(FileFormatError, match="some' is a folder; name the file in it"):
            load(str(folder / "some"))


def test_a_file_met_twice_is_refused_where_its_rows_are_read(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "day.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "next.parquet")
    everything, one = str(tmp_path / "*.parquet"), str(tmp_path / "day.parquet")
    assert len(list(open_data([everything]).batches())) == len(
        list(open_data([one, str(tmp_path / "next.parquet")]).batches())
    )
    for paths in ([one, one], [everything, one], [str(tmp_path), one]):
        with pytest.raises(UsageError, match=r"named twice: its rows would count twice|are the same file"):
            open_data(paths)
    (tmp_path / "latest.parquet").symlink_to(one)
    with pytest.raises(UsageError, match=r"day.parquet and .*latest.parquet are the same file"):
        open_data([everything])


def test_a_part_of_a_date_is_a_column(tmp_path):
    pq.write_table(pa.table({"day": pa.array([0, 40], pa.date32())}), tmp_path / "day.parquet")
    table = open_data([str(tmp_path / "day.parquet")])
    require_columns(table, ["day", "day_month", None])
    with pytest.raises(ColumnError, match="'day_hour' is not in"):
        require_columns(table, ["day_hour"])
