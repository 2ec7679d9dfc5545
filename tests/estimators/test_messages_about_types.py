"""Messages name what a column holds as people say it, not by the types of a library, and in sentences that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import GramianError

LIBRARY = re.compile(
    r"large_string|dictionary<|u?int(8|16|32|64)|float64|double|timestamp\[|struct<|list<|large_list|string_view"
)

N = 40
NUMBERS = pa.table({"size": np.arange(N) / 3, "y": np.arange(N) * 1.0})
TEXTS = pa.array(["a", "b"] * (N // 2))
ODD = {
    "large text": TEXTS.cast(pa.large_string()),
    "dictionary": TEXTS.dictionary_encode(),
    "dates": pa.array(np.arange(N).astype("datetime64[s]")),
    "lists": pa.array([[1, 2]] * N),
    "structs": pa.array([{"a": 1}] * N),
    "bytes": pa.array([b"x"] * N),
}


def odd(kind):
    return NUMBERS.set_column(0, "size", ODD[kind])


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda table: gm.PCA(1).fit(NUMBERS.select(["size"])).transform(table.select(["size"])),
        lambda table: gm.Ridge().fit(NUMBERS, "y").predict(table),
        lambda table: gm.Ridge().fit(NUMBERS.select(["y"]), table["size"]),
        lambda table: gm.collect([NUMBERS, table]),
        lambda table: gm.collect(table, numeric=["size"]),
        lambda table: gm.collect(NUMBERS.append_column("w", table["size"]), sample_weight="w"),
    ],
    ids=["transform", "predict", "y", "batches", "numeric", "weights"],
)
def test_errors_about_a_column_say_what_it_holds_in_words(wrong, kind):
    with pytest.raises((GramianError, ValueError, TypeError)) as error:
        wrong(odd(kind))
    assert not LIBRARY.search(str(error.value)), error.value


@pytest.mark.parametrize(
    "phrase",
    [
        "flatter these figures",
        "on the features, at its",
        "only because they hold",
        "hold one in all",
        "found by itself",
    ],
)
def test_sentences_that_readers_stumbled_over_are_gone(phrase):
    root = Path(gm.__file__).parent
    docs = root.parents[1] / "docs"
    written = [page for page in docs.rglob("*.md") if not {"reference", "gallery"} & set(page.parts)]
    pages = [*root.rglob("*.py"), *root.rglob("*.jinja"), *written]
    assert len(pages) > 200
    assert [str(page) for page in pages if phrase in page.read_text(encoding="utf-8")] == []
