"""Random maps, extreme learning machines and reservoirs, against scikit-learn, the bare products, and reservoirpy.

Ratios are of interleaved calls in the same run. Peak memory is that of a process that does nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import cases, measure, random_quality, synthetic
from benchmarks.distances import DATA
from benchmarks.measure import Call
from benchmarks.report import Row

MILLION = 1_000_000
FEATURES = 100
HIDDEN = 1000


# Speed


def project(scale: float, repeat: int) -> Iterator[Row]:
    """Random projection of 1,000,000 x 20 categories to 100 features."""
    import scipy.sparse as sp
    from sklearn.random_projection import SparseRandomProjection

    import gramian as gm

    n = int(MILLION * scale)
    columns = synthetic.codes(n, synthetic.CATEGORICAL)
    frame = synthetic.frame(columns)
    starts = np.cumsum([0, *synthetic.CATEGORICAL])
    indices = (np.stack(columns, axis=1) + starts[:-1]).astype(np.int32).ravel()
    one_hot = sp.csr_array((np.ones(len(indices)), indices, np.arange(n + 1) * 20), shape=(n, int(starts[-1])))
    gm.RandomFeatures(2).fit_transform(frame.head(1000))

    def peer_from_rows() -> object:
        from sklearn.preprocessing import OneHotEncoder

        encoded = OneHotEncoder().fit_transform(frame)
        return SparseRandomProjection(FEATURES, dense_output=True, random_state=0).fit_transform(encoded)

    def ours() -> object:
        return gm.RandomFeatures(FEATURES, projection="sparse", density="auto").fit_transform(frame)

    def peer() -> object:
        return SparseRandomProjection(FEATURES, dense_output=True, random_state=0).fit_transform(one_hot)

    pair = measure.interleaved(ours, peer_from_rows, max(1, repeat // 2))
    yield Row("project", f"{n:,} x 20 categories, frame to {FEATURES} features", "one-hot + SparseRandomProjection",
              1 / pair.ratio, at_least=5, ours_seconds=pair.first, peer_seconds=pair.second)  # fmt: skip
    pair = measure.interleaved(ours, peer, max(1, repeat // 2))
    yield Row("project", "the same, the peer's one-hot matrix ready beforehand", "SparseRandomProjection",
              1 / pair.ratio, ours_seconds=pair.first, peer_seconds=pair.second)  # fmt: skip


def hidden(scale: float, repeat: int) -> Iterator[Row]:
    """An extreme learning machine of 1,000 units on 100,000 x 50."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    import gramian as gm

    n = int(100_000 * scale)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 50))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    half = n // 2
    weights = gm.ELMRegressor(HIDDEN).fit(X[:2000], y[:2000]).hidden_weights_

    def bare() -> object:
        units = X @ weights[:-1]
        return units.T @ units

    def activated() -> object:
        units = np.tanh(X @ weights[:-1] + weights[-1])
        return units.T @ units

    def ours() -> object:
        return gm.ELMRegressor(HIDDEN).fit(X, y)

    pair = measure.interleaved(ours, bare, repeat)
    yield Row("hidden", f"fit {n:,} x 50, {HIDDEN:,} units, ridge by GCV", "bare product and Gram", pair.ratio, at_most=1.3,
              ours_seconds=pair.first, peer_seconds=pair.second)  # fmt: skip
    pair = measure.interleaved(ours, activated, max(1, repeat // 2))
    yield Row("hidden", "the same", "product, tanh and Gram", pair.ratio,
              ours_seconds=pair.first, peer_seconds=pair.second)  # fmt: skip
    # The peer once, on half of the rows, which leaves the other half for the accuracy of both.
    layer = FunctionTransformer(lambda rows: np.tanh(rows @ weights[:-1] + weights[-1]))
    pipeline = make_pipeline(layer, RidgeCV(np.logspace(-3, 3, 7)))
    seconds = measure.seconds_of(lambda: pipeline.fit(X[:half], y[:half]))
    machine = gm.ELMRegressor(HIDDEN)
    mine = measure.seconds_of(lambda: machine.fit(X[:half], y[:half]))
    scores = machine.score(X[half:], y[half:]), pipeline.score(X[half:], y[half:])
    yield Row("hidden", f"fit {half:,} x 50, {HIDDEN:,} units", "random layer + RidgeCV", seconds / mine, at_least=2,
              ours_seconds=mine, peer_seconds=seconds, floor=f"R2 {scores[0]:.4f} : {scores[1]:.4f}")  # fmt: skip


def reservoir(scale: float, repeat: int) -> Iterator[Row]:
    """States of 500 units over 100,000 steps; the peer over a tenth of them."""
    import gramian as gm

    try:
        from reservoirpy.nodes import Reservoir
    except ImportError:
        yield Row("reservoir", "reservoirpy is not installed", "", None)
        return
    n = int(100_000 * scale)
    sequence = np.random.default_rng(0).standard_normal((n, 1))
    model = gm.EchoStateFeatures(500, pool=None).fit([sequence[:10]])
    for words, share in (("as many connections", 10 / 500), ("its own default", 0.1)):
        node = Reservoir(500, sr=0.9, lr=1.0, rc_connectivity=share, seed=0)
        pair = measure.interleaved(
            lambda: model.transform([sequence]), lambda node=node: node.run(sequence[: n // 10]), repeat
        )
        yield Row("reservoir", f"500 units x {n:,} steps, per step", f"reservoirpy, {words}", 10 / pair.ratio,
                  at_least=3 if share < 0.1 else None, ours_seconds=pair.first, peer_seconds=10 * pair.second)  # fmt: skip


def machine_of_file(n_rows: int) -> Call:
    import gramian as gm

    path = str(synthetic.zipf_file(n_rows))
    return lambda: float(gm.ELMClassifier(200).fit(path, "t00").ridge_)


def reservoir_of_length(n_steps: int) -> Call:
    import gramian as gm

    sequence = np.sin(np.arange(n_steps) / 7.0)
    return lambda: float(gm.EchoStateRegressor(200, ridge=1e-6).fit(sequence).ridge_)


def memory(scale: float, repeat: int) -> Iterator[Row]:
    """Peak memory at one size and at four times that; row groups of a file are as long at both."""
    for size in (500_000, 2_000_000):
        # Made here: what a process makes for itself would count as its peak.
        synthetic.zipf_file(int(size * scale))
    for what, maker, size in (
        ("machine on a file of", "machine_of_file", int(500_000 * scale)),
        ("reservoir over", "reservoir_of_length", int(100_000 * scale)),
    ):
        few = measure.alone(f"benchmarks.random:{maker}", size)
        many = measure.alone(f"benchmarks.random:{maker}", 4 * size)
        yield Row("memory", f"{what} {4 * size:,}", f"peak at {size:,}", many.peak / few.peak, at_most=1.1,
                  ours_seconds=many.seconds, peer_seconds=few.seconds, ours_peak=many.peak, peer_peak=few.peak)  # fmt: skip


SPEED = {"project": project, "hidden": hidden, "reservoir": reservoir, "memory": memory}
QUALITY = {
    "machines": random_quality.machines,
    "forecasts": random_quality.forecasts,
    "series": random_quality.series,
    "spikes": random_quality.spikes,
}


def main(arguments: list[str]) -> int:
    parser = cases.parts_parser("random", __doc__, ",".join([*SPEED, *QUALITY]))
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the Parquet sets")
    parser.add_argument("--rows-scale", type=float, default=1.0, help="share of the rows; targets are set for 1.0")
    options = parser.parse_args(arguments)

    def timed(part: Callable[[float, int], Iterator[Row]]) -> Iterator[Row]:
        rows = part(options.rows_scale, options.repeat)
        return rows if options.rows_scale == 1.0 else cases.not_judged(rows)

    parts = {name: partial(timed, part) for name, part in SPEED.items()}
    parts |= {name: partial(part, options.data) for name, part in QUALITY.items()}
    return cases.run_parts(parser, options, parts, SPEED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
