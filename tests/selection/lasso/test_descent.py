import itertools

import numpy as np

from gramian.selection.lasso.descent import descend, descend_in_groups


def quadratic(rng, p, m):
    A = rng.standard_normal((p + 20, p))
    return A.T @ A / len(A), rng.standard_normal((p, m))


def test_groups_of_one_column_are_the_plain_lasso(rng):
    S, C = quadratic(rng, 12, 1)
    bound, penalty = np.diagonal(S).copy(), np.full(12, 0.3)
    one, many = np.zeros(12), np.zeros((12, 1))
    descend(S, C[:, 0].copy(), one, bound, penalty, 0.1, 1e-12, 10_000)
    split, root = np.ones(12, dtype=bool), np.zeros(12)
    descend_in_groups(S, C.copy(), many, np.arange(13), bound, penalty, bound, root, split, 0.1, 1e-12, 10_000)
    np.testing.assert_allclose(many[:, 0], one, atol=1e-10)
    gradient = C[:, 0] - S @ one - 0.1 * one
    assert (np.abs(gradient[one == 0]) <= 0.3 + 1e-9).all()
    np.testing.assert_allclose(gradient[one != 0], 0.3 * np.sign(one[one != 0]), atol=1e-9)


def test_groups_satisfy_their_optimality_conditions(rng):
    S, C = quadratic(rng, 12, 2)
    starts = np.array([0, 3, 4, 9, 12])
    # The blocks of the first and the third are a diagonal less r r^T.
    own, root, split = rng.uniform(1, 2, 12), rng.uniform(0, 0.3, 12), np.array([True, False, True, False])
    for a, b in ((0, 3), (4, 9)):
        S[a:b, a:b] = np.diag(own[a:b]) - np.outer(root[a:b], root[a:b])
    assert np.linalg.eigvalsh(S)[0] > 0
    bound = np.array([np.linalg.eigvalsh(S[a:b, a:b])[-1] for a, b in itertools.pairwise(starts)])
    penalty = np.array([0.8, 0.5, 1.1, 0.8])
    B, G = np.zeros((12, 2)), C.copy()
    descend_in_groups(S, G, B, starts, bound, penalty, own, root, split, 0.0, 1e-13, 50_000)
    np.testing.assert_allclose(G, C - S @ B, atol=1e-9)
    for g, (a, b) in enumerate(itertools.pairwise(starts)):
        size = np.linalg.norm(B[a:b])
        if size == 0:
            assert np.linalg.norm(G[a:b]) <= penalty[g] + 1e-9
        else:
            np.testing.assert_allclose(G[a:b], penalty[g] * B[a:b] / size, atol=1e-8)


def test_a_column_that_does_not_vary_is_left_alone():
    found = np.zeros(2)
    descend(
        np.diag([1.0, 0.0]), np.array([2.0, 0.0]), found, np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.0, 1e-12, 10
    )
    np.testing.assert_allclose(found, [1.5, 0.0])
