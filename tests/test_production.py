"""The page on production runs as printed, from its first block to its last."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gramian.cli.payments import payments

PAGE = Path(__file__).parents[1] / "docs" / "production.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, (earlier, later) in enumerate([("payments", "later"), ("monday", "tuesday")]):
        made = payments(2000, seed)
        pq.write_table(made.earlier, f"{earlier}.parquet")
        pq.write_table(made.later, f"{later}.parquet")
    return tmp_path


def test_every_block_runs(folder):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (folder / "features.onnx").exists()
