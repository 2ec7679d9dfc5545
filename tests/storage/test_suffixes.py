import subprocess
import sys

import pytest

from gramian.storage.atomic import READ_AS, WRITTEN_AS, written_as


@pytest.mark.parametrize("suffix", WRITTEN_AS)
def test_what_is_written_can_be_read_back_as_the_same_format(suffix):
    assert written_as(f"Table{suffix.upper()}") == WRITTEN_AS[suffix] == READ_AS[suffix.removesuffix(".gz")]


@pytest.mark.parametrize("name", ["table", "table.xlsx", "table.parquet.gz", "parquet", "table.csv.zip"])
def test_other_names_stand_for_no_format(name):
    assert written_as(name) is None


def test_the_list_is_light():
    code = "import sys, gramian.storage.atomic; assert 'pyarrow' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
