"""Sparse coding: matching pursuit, dictionary learning and non-negative factors against scikit-learn and SPAMS.

Signals of the first part are drawn; patches are those of scikit-learn's sample images. Every contestant has the same cores.
An objective is compared on rows that nobody was timed on, coded by one solver for all.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks import cases, measure
from benchmarks.measure import Call
from benchmarks.report import Row

ATOMS, COLUMNS, NONZERO = 256, 64, 8


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return signals and unit atoms."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(ATOMS, COLUMNS))
    return rng.normal(size=(n, COLUMNS)), atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def patches(n: int, seed: int = 0) -> np.ndarray:
    """Return 8 x 8 patches of the sample images, grey, each less its mean, of unit variance together."""
    from sklearn.datasets import load_sample_images
    from sklearn.feature_extraction.image import extract_patches_2d

    images = load_sample_images().images
    each = -(-n // len(images))
    found = [extract_patches_2d(image.mean(axis=2), (8, 8), max_patches=each, random_state=seed) for image in images]
    rows = np.concatenate(found).reshape(-1, COLUMNS)[:n]
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / rows.std()


def pursuit(repeat: int, n: int) -> Iterator[Row]:
    """Orthogonal matching pursuit: the same codes as scikit-learn's, sooner."""
    from sklearn.linear_model import orthogonal_mp_gram

    from gramian.estimators.sparse.dictionary import SparseCoder

    signals, atoms = drawn(n)
    coder = SparseCoder(atoms, "omp", n_nonzero=NONZERO).fit(signals)
    some = signals[: max(500, n // 50)]
    gram = atoms @ atoms.T

    def peer() -> np.ndarray:
        return orthogonal_mp_gram(gram, atoms @ some.T, n_nonzero_coefs=NONZERO).T

    gap = float(np.abs(peer() - coder.transform(some)).max())
    slow = measure.best(peer, 1) * n / len(some)
    ours = measure.best(lambda: coder.transform(signals), repeat)
    what, against = (
        f"{n:,} x {COLUMNS}, {ATOMS} atoms, {NONZERO} non-zeros",
        f"scikit-learn ({len(some):,} rows, scaled)",
    )
    yield Row("omp", what, against, slow / ours, at_least=10, ours_seconds=ours, peer_seconds=slow,
              floor=f"largest difference {gap:.0e}")  # fmt: skip
    if find_spec("spams") is None:
        yield Row("omp", "the same", "SPAMS", None, note="pip install spams-bin")
        return
    import spams

    from gramian.arrays.threads import usable_cores

    columns, basis = np.asfortranarray(signals.T), np.asfortranarray(atoms.T)
    pair = measure.interleaved(
        lambda: spams.omp(columns, basis, L=NONZERO, numThreads=usable_cores(None)),
        lambda: coder.transform(signals),
        repeat,
    )
    yield Row("omp", "the same; SPAMS returns sparse codes", "SPAMS", pair.ratio, at_least=1,
              ours_seconds=pair.second, peer_seconds=pair.first)  # fmt: skip


def dictionary(repeat: int, n: int) -> Iterator[Row]:
    """Dictionary learning on patches: how soon a lower objective than the peer's final one is there."""
    from sklearn.decomposition import MiniBatchDictionaryLearning

    from gramian.estimators.sparse.dictionary import DictionaryLearner, SparseCoder

    rows, held_out, penalty, n_atoms = patches(n), patches(4000, seed=1), 1.0, 100

    def objective(atoms: np.ndarray) -> float:
        codes = SparseCoder(atoms, "lasso", penalty=penalty).fit_transform(held_out)
        return float(
            (0.5 * np.square(held_out - codes @ atoms).sum(axis=1) + penalty * np.abs(codes).sum(axis=1)).mean()
        )

    options = {"alpha": penalty, "batch_size": 256, "max_iter": 1, "random_state": 0, "fit_algorithm": "cd"}
    peer = MiniBatchDictionaryLearning(n_atoms, n_jobs=-1, **options)
    slow = measure.seconds_of(lambda: peer.fit(rows))
    aim = objective(peer.components_)
    DictionaryLearner(n_atoms, algorithm="lasso", penalty=penalty, n_epochs=1).fit(rows[:1000])
    # A part of the rows may be enough: the least that reaches the peer's objective counts.
    for share in (8, 4, 2, 1):
        learner = DictionaryLearner(n_atoms, algorithm="lasso", penalty=penalty, n_epochs=1)
        ours = measure.seconds_of(partial(learner.fit, rows[::share]))
        reached = objective(learner.dictionary_)
        if reached <= aim:
            break
    figure = slow / ours if reached <= aim else 0.0
    what = f"{n:,} patches, {n_atoms} atoms: time to the peer's objective"
    yield Row("dictionary", what, "MiniBatchDictionaryLearning, one pass", figure, at_least=3, ours_seconds=ours,
              peer_seconds=slow, floor=f"objective {reached:.4f} after 1/{share} of the rows, peer {aim:.4f}")  # fmt: skip
    pursuing = DictionaryLearner(n_atoms, n_nonzero=5, n_epochs=1)
    seconds = measure.seconds_of(lambda: pursuing.fit(rows))
    error = float(np.square(pursuing.reconstruction_error(held_out)).mean())
    yield Row("dictionary", "the same with matching pursuit, 5 non-zeros", "", None, ours_seconds=seconds,
              floor=f"squared error {error:.3f}")  # fmt: skip


def factors(repeat: int) -> Iterator[Row]:
    """Non-negative factors: time to the objective of scikit-learn's coordinate descent; entries that were hidden."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import NMF as Peer

    from gramian.estimators.sparse.nmf import NMF

    rng = np.random.default_rng(0)
    drawn_rows = rng.gamma(0.5, size=(4000, 20)) @ rng.gamma(0.5, size=(20, 300)) + rng.random((4000, 300))
    for name, rows, k in (
        ("4,000 x 300 drawn, 20 parts", drawn_rows, 20),
        ("digits, 16 parts", load_digits().data, 16),
    ):
        peer = Peer(k, solver="cd", max_iter=200)
        aim = 0.5 * float(peer.fit(rows).reconstruction_err_) ** 2
        found = NMF(k, tol=0, max_iter=300).fit(rows)
        enough = np.flatnonzero(found.history_ <= aim)
        if not len(enough):
            yield Row("nmf", name, "scikit-learn, cd", 0.0, at_least=1, floor="objective not reached")
            continue
        steps = max(1, int(enough[0]))
        ours = NMF(k, tol=0, max_iter=steps)
        pair = measure.interleaved(partial(peer.fit, rows), partial(ours.fit, rows), repeat)
        what = f"{name}: time to the peer's objective"
        yield Row("nmf", what, "scikit-learn, cd", pair.ratio, at_least=1, ours_seconds=pair.second,
                  peer_seconds=pair.first, floor=f"{steps} iterations against {peer.n_iter_}")  # fmt: skip
        hidden = rng.random(rows.shape) < 0.3
        shown = np.where(hidden, np.nan, rows)
        means = np.broadcast_to(np.nanmean(shown, axis=0), rows.shape)
        model = NMF(k).fit(shown)
        imputed = np.where(hidden, means, rows)
        made = peer.fit(imputed).transform(imputed) @ peer.components_
        errors = [
            float(np.sqrt(np.square((each - rows)[hidden]).mean()))
            for each in (model.inverse_transform(model.transform(shown)), made, means)
        ]
        yield Row("nmf", f"{name}: error of 30% hidden entries", "NMF of imputed data", errors[1] / errors[0], at_least=1,
                  floor=f"{errors[0]:.3f}; imputed {errors[1]:.3f}; means {errors[2]:.3f}")  # fmt: skip


def stream(n: int) -> Call:
    """Learn from batches that are drawn as they come; the value is the last batch's squared error."""
    from gramian.estimators.sparse.dictionary import DictionaryLearner

    def learn() -> float:
        learner, rng = DictionaryLearner(ATOMS, n_nonzero=NONZERO), np.random.default_rng(0)
        for _ in range(n // 5000):
            learner.partial_fit(rng.normal(size=(5000, COLUMNS)))
        return float(learner.history_[-1])

    return learn


def memory() -> Iterator[Row]:
    """Peak memory of learning from a stream, at two lengths of it."""
    short, long = (measure.alone("benchmarks.sparse:stream", n) for n in (20_000, 80_000))
    yield Row("memory", "dictionary from a stream of 80,000 signals", "peak at 20,000", long.peak / short.peak, at_most=1.05,
              ours_seconds=long.seconds, peer_seconds=short.seconds, ours_peak=long.peak, peer_peak=short.peak)  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = cases.parts_parser("sparse", __doc__, "omp,dictionary,nmf,memory")
    parser.add_argument("--rows", type=int, default=100_000, help="signals and patches")
    options = parser.parse_args(arguments)
    parts = {
        "omp": lambda: pursuit(options.repeat, options.rows),
        "dictionary": lambda: dictionary(options.repeat, options.rows),
        "nmf": lambda: factors(options.repeat),
        "memory": memory,
    }
    with warnings.catch_warnings():
        # Peers that stop at their limit of iterations say so; that is how they were asked.
        warnings.simplefilter("ignore")
        return cases.run_parts(parser, options, parts, ["omp", "dictionary", "nmf"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
