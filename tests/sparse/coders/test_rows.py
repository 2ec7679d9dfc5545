"""Blocks of rows: every row is coded once, whatever their number."""

import numpy as np
import pytest

from gramian.sparse.atoms import BLOCK_ROWS, coded


@pytest.mark.parametrize("n", [0, 1, 7, BLOCK_ROWS, 10 * BLOCK_ROWS + 3])
def test_every_row_is_coded_once(rng, n):
    signals, atoms = rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=(2, 3))

    def code(block, correlations, codes):
        assert block.dtype == np.float64
        codes += correlations
        return len(block)

    codes, told = coded(signals, atoms, code)
    assert told == n
    np.testing.assert_allclose(codes, signals.astype(float) @ atoms.T, rtol=1e-12, atol=1e-12)
