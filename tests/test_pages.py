"""The code blocks of the site run, page by page, in the folder that `gramian demo` writes."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gramian.cli.payments import payments

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("howto/*.md"), *DOCS.glob("start/*.md"), DOCS / "index.md"])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    made = payments(4_000, 0)
    pq.write_table(made.earlier, folder / "payments.parquet")
    pq.write_table(made.later, folder / "later.parquet")
    return folder


# Dask itself uses what pandas is about to remove.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, demo, monkeypatch):
    monkeypatch.chdir(demo)
    names = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), names)
