from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.moments.state.pair_counts import compact, csr_is_smaller


@pytest.mark.parametrize(
    ("kind", "share", "smaller"),
    [
        (np.int16, 0.33, True),
        (np.int16, 0.34, False),
        (np.int32, 0.49, True),
        (np.int32, 0.51, False),
        (np.int64, 0.66, True),
        (np.float64, 0.67, False),
    ],
)
def test_csr_pays_four_bytes_more_for_each_pair_that_occurs(kind, share, smaller):
    assert csr_is_smaller(10**6, int(share * 10**6), kind) is smaller
    assert not csr_is_smaller(2**16, 1, kind)


@pytest.mark.parametrize(
    ("most", "kind"),
    [(7, np.int16), (2**15 - 1, np.int16), (2**15, np.int32), (2**31 - 1, np.int32), (2**31, np.int64)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_smallest_form_holds_the_same(most, kind, sign):
    full = np.ones((300, 300), np.int64)
    thin = np.zeros((300, 300), np.int64)
    for block, sparse in ((full, False), (thin, True)):
        block[0, 0] = sign * most
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


def test_counts_that_pass_what_their_type_holds_get_a_wider_one():
    a, b = table(40_000, 0), table(50_000, 1)
    parts = gm.collect(a), gm.collect(b)
    whole = gm.collect([a, b])
    assert parts[0].pairs.block(0, 1).max() == 20_000
    assert types_of(parts[0]) == types_of(parts[1]) == {np.int16}
    assert whole.pairs.block(0, 1).dtype == np.int32
    assert whole == parts[0] + parts[1]
    assert (parts[0] + parts[1]).crosstab("u", "v").max() == 45_000
    assert types_of(whole - parts[1]) == {np.int16}
    assert whole - parts[1] == parts[0]


def test_pooled_counts_pass_what_their_type_holds():
    rng = np.random.default_rng(5)
    n = 120_000
    data = pa.table({"u": rng.integers(0, 3000, n).astype(str), "v": np.where(rng.random(n) < 0.9, "a", "b")})
    m = gm.collect(data)
    assert types_of(m) == {np.int16}
    pooled = m.pool(max_levels=2)
    assert pooled.crosstab("u", "v").max() > 2**16
    assert pooled.crosstab("u", "v").sum() == n


def test_what_was_never_there_is_noticed_in_every_type():
    few = gm.collect(table(6000, 6))
    with pytest.raises(ValueError, match="part"):
        _ = few - gm.collect([table(6000, 6), table(80_000, 6)])


def test_a_crosstab_is_int64_whatever_the_form():
    m = gm.collect(table(6000, 2))
    for found in (m.crosstab("u", "v"), m.crosstab("u", "v", sparse=True), m.crosstab("s", "u")):
        assert found.dtype == np.int64
        assert found.sum() == 6000


def test_sums_of_weights_are_float64():
    m = gm.collect(table(6000, 3), sample_weight=np.full(6000, 0.5))
    assert types_of(m) == {np.float64}
    assert m.crosstab("u", "s").sum() == pytest.approx(3000.0)
