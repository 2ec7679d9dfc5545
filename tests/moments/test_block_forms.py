from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.moments import block_forms
from gramian.moments.block_forms import compact, count_type, csr_is_smaller


@pytest.mark.parametrize(
    ("kind", "share", "smaller"),
    [(np.int32, 0.49, True), (np.int32, 0.51, False), (np.int64, 0.66, True), (np.float64, 0.67, False)],
)
def test_csr_pays_four_bytes_more_for_each_pair_that_occurs(kind, share, smaller):
    assert csr_is_smaller(10**6, int(share * 10**6), kind) is smaller
    assert not csr_is_smaller(2**16, 1, kind)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_the_smaller_form_holds_the_same_in_the_same_type(kind):
    full = np.ones((300, 300), kind)
    thin = np.zeros((300, 300), kind)
    thin[0, 0] = 7
    for block, sparse in ((full, False), (thin, True)):
        for given in (block, sp.csr_array(block)):
            found = compact(given)
            assert sp.issparse(found) is sparse
            assert found.dtype == kind
            np.testing.assert_array_equal(found.toarray() if sparse else found, block)


def table(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    wide = rng.integers(0, 5000, (2, n))
    wide[:, : n // 2] = 7
    return pa.table({"u": wide[0].astype(str), "v": wide[1].astype(str), "s": rng.integers(0, 20, n).astype(str)})


def types_of(m: gm.Moments) -> set[type]:
    return {block.dtype.type for block in m.pairs.blocks.values()}


def test_counts_that_may_not_fit_four_bytes_get_eight(monkeypatch):
    a, b = table(6000, 0), table(6000, 1)
    four = gm.collect([a, b])
    parts = gm.collect(a), gm.collect(b)
    assert types_of(four) == types_of(parts[0]) == {np.int32}
    monkeypatch.setattr(block_forms, "ROWS_IN_FOUR_BYTES", 10_000)
    eight = gm.collect([a, b])
    assert types_of(eight) == types_of(parts[0] + parts[1]) == {np.int64}
    assert eight == four == parts[0] + parts[1]
    assert eight - parts[1] == parts[0]
    np.testing.assert_array_equal(eight.crosstab("u", "s"), four.crosstab("u", "s"))


def test_a_crosstab_is_int64_whatever_the_form():
    m = gm.collect(table(6000, 2))
    for found in (m.crosstab("u", "v"), m.crosstab("u", "v", sparse=True), m.crosstab("s", "u")):
        assert found.dtype == np.int64
        assert found.sum() == 6000


def test_sums_of_weights_are_float64():
    assert count_type(5, weighted=True) is np.float64
    m = gm.collect(table(6000, 3), sample_weight=np.full(6000, 0.5))
    assert types_of(m) == {np.float64}
    assert m.crosstab("u", "s").sum() == pytest.approx(3000.0)
