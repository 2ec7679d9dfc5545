import gzip

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gramian.errors import DataError
from gramian.tables.write import table_writer

BATCHES = [
    pa.record_batch({"x": [1.5, 2.5], "color": pa.array(["red", "blue"]).dictionary_encode()}),
    pa.record_batch({"x": [3.5], "color": pa.array(["green"]).dictionary_encode()}),
]
READERS = {
    "out.parquet": pq.read_table,
    "out.csv": pyarrow.csv.read_csv,
    "out.csv.gz": pyarrow.csv.read_csv,
    "out.arrow": pyarrow.feather.read_table,
    "out.feather": pyarrow.feather.read_table,
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_written_is_read_back_with_dictionaries_decoded(tmp_path, name):
    # Written under another name, as a file that is not whole yet is.
    where = tmp_path / "waiting.part"
    with table_writer(name, str(where), BATCHES[0].schema) as write:
        for batch in BATCHES:
            write(batch)
    where.rename(tmp_path / name)
    table = READERS[name](tmp_path / name)
    assert table.to_pydict() == {"x": [1.5, 2.5, 3.5], "color": ["red", "blue", "green"]}


def test_a_compressed_file_is_whole_when_the_block_ends(tmp_path):
    where = tmp_path / "waiting.part"
    with table_writer("out.csv.gz", str(where), BATCHES[0].schema) as write:
        write(BATCHES[0])
    assert gzip.decompress(where.read_bytes()).count(b"\n") == 3


def test_an_unknown_suffix_names_those_there_are(tmp_path):
    with (
        pytest.raises(DataError, match=r"'out\.xlsx': tables are written as \.parquet"),
        table_writer("out.xlsx", "x", BATCHES[0].schema),
    ):
        pass
