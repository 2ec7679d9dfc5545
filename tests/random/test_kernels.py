import numpy as np
from scipy.linalg import hadamard

from gramian.random.drawing import draw_gaussian, draw_uniform, hadamard_rows


def splitmix(key, f):
    mask = 2**64 - 1
    state = (key + (f + 1) * 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_draws_are_those_of_splitmix():
    keys = np.array([0, 1, 2**64 - 1, 12345678901234567890], dtype=np.uint64)
    share = np.array([[((splitmix(int(k), f) >> 11) + 1) / 2**53 for f in range(5)] for k in keys])
    found = np.empty((4, 5))
    draw_uniform(keys, found)
    np.testing.assert_array_equal(found, share)
    draw_gaussian(keys, found)
    radius, angle = np.sqrt(-2 * np.log(share[:, [0, 2]])), 2 * np.pi * share[:, [1, 3]]
    np.testing.assert_allclose(found[:, [0, 2]], radius * np.cos(angle), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[:, [1, 3]], radius * np.sin(angle), rtol=1e-12, atol=1e-14)


def test_the_fast_transform_is_the_product_with_the_matrix():
    rows = np.random.default_rng(0).standard_normal((3, 16))
    work = rows.copy()
    hadamard_rows(work)
    np.testing.assert_allclose(work, rows @ hadamard(16), rtol=1e-13, atol=1e-13)
