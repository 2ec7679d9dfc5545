from __future__ import annotations

import pytest

from gramian.arrays.memory import available_memory, in_words, parse_bytes, refuse_beyond
from gramian.errors import DataError, MemoryLimitError


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [("2GB", 2 * 10**9), ("2 gib", 2**31), ("512", 512), ("1.5k", 1500), ("3MiB", 3 * 2**20), (7, 7), (1e6, 10**6)],
)
def test_amounts_in_words(amount, n_bytes: int) -> None:
    assert parse_bytes(amount) == n_bytes


@pytest.mark.parametrize("amount", ["", "GB", "1..5GB", "-1", "2 apples", 0, -5, "0"])
def test_amounts_that_are_none(amount) -> None:
    with pytest.raises(DataError, match="memory_limit"):
        parse_bytes(amount)


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(5, "5 bytes"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e12, "3.0 TB")]
)
def test_bytes_in_words(n_bytes: float, words: str) -> None:
    assert in_words(n_bytes) == words


def test_refusal_says_what_and_the_way_out() -> None:
    with pytest.raises(MemoryLimitError, match=r"a thing needs 2\.0 kB and 1\.0 kB are allowed; do less"):
        refuse_beyond(2000, 1000, what="a thing", way_out="do less")
    refuse_beyond(1000, 1000, what="a thing", way_out="do less")


def test_available_memory_is_a_number_of_bytes() -> None:
    assert available_memory() > 2**20
    with pytest.raises(MemoryLimitError):
        refuse_beyond(2**60, None, what="a thing", way_out="do less")
