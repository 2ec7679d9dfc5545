from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from gramian import arrays
from gramian.errors import DataError, MemoryLimitError


def test_cores_follow_scikit_learns_convention() -> None:
    every = arrays.usable_cores(None)
    assert every >= 1
    assert arrays.usable_cores(-1) == every
    assert arrays.usable_cores(-2) == max(1, every - 1)
    assert arrays.usable_cores(-(10**6)) == 1
    assert arrays.usable_cores(3) == 3


def test_blas_is_held_to_one_thread_and_released() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))

    def in_use() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = in_use()
    with arrays.one_blas_thread():
        assert set(in_use()) <= {1}
    assert in_use() == before


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [("2GB", 2 * 10**9), ("2 gib", 2**31), ("512", 512), ("1.5k", 1500), ("3MiB", 3 * 2**20), (7, 7), (1e6, 10**6)],
)
def test_amounts_in_words(amount, n_bytes: int) -> None:
    assert arrays.parse_bytes(amount) == n_bytes


@pytest.mark.parametrize("amount", ["", "GB", "1..5GB", "-1", "2 apples", 0, -5, "0"])
def test_amounts_that_are_none(amount) -> None:
    with pytest.raises(DataError, match="memory_limit"):
        arrays.parse_bytes(amount)


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(5, "5 bytes"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e12, "3.0 TB")]
)
def test_bytes_in_words(n_bytes: float, words: str) -> None:
    assert arrays.in_words(n_bytes) == words


def test_refusal_says_what_and_the_way_out() -> None:
    with pytest.raises(MemoryLimitError, match=r"a thing needs 2\.0 kB and 1\.0 kB are allowed; do less"):
        arrays.refuse_beyond(2000, 1000, what="a thing", way_out="do less")
    arrays.refuse_beyond(1000, 1000, what="a thing", way_out="do less")


def test_available_memory_is_a_number_of_bytes() -> None:
    assert arrays.available_memory() > 2**20
    with pytest.raises(MemoryLimitError):
        arrays.refuse_beyond(2**60, None, what="a thing", way_out="do less")


@pytest.mark.parametrize("p", [1, 2, 3, 60])
def test_definite_inverse_is_the_inverse_and_symmetric(p):
    x = np.random.default_rng(p).normal(size=(4 * p, p)) * 10.0 ** np.arange(p).clip(max=4)
    a = x.T @ x
    kept = a.copy()
    inverse = arrays.definite_inverse(a)
    assert (inverse == inverse.T).all()
    assert (a == kept).all()
    np.testing.assert_allclose(inverse @ a, np.eye(p), atol=1e-8)


def test_definite_inverse_refuses_what_is_not_definite():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        arrays.definite_inverse(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_threads_keep_the_order_of_items_and_pass_on_errors():
    assert arrays.in_threads(lambda k: k * k, range(50)) == [k * k for k in range(50)]
    assert arrays.in_threads(lambda k: k * k, range(3), n_threads=1) == [0, 1, 4]
    assert arrays.in_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        arrays.in_threads(lambda k: 1 / k, [1, 0])


def test_threads_share_the_cores_with_those_beside_them(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    assert arrays.usable_cores(None) == 8
    with arrays.one_of(2):
        assert arrays.usable_cores(None) == 4
        assert arrays.in_threads(lambda _: arrays.usable_cores(None), range(4)) == [1] * 4
        assert arrays.usable_cores(3) == 3
    assert arrays.usable_cores(None) == 8
    assert arrays.in_threads(lambda _: arrays.usable_cores(None), range(2)) == [4, 4]


def test_blocks_of_rows_cover_a_matrix_once():
    a = np.zeros((5000, 100))

    def add(tile):
        a[tile] += 1.0

    arrays.each_block(add, a)
    assert (a == 1.0).all()
