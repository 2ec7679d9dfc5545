"""Learning online: rows a second at equal subspace error, codes against one-hot rows, memory, and what defaults converge to.

Ratios are of rows a second, each contestant up to the same angle to the exact components of the same rows. Peers are
scikit-learn's IncrementalPCA, that of scikit-learn-intelex where it is installed, and one row a call as in river.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases, measure, synthetic
from benchmarks.measure import Call
from benchmarks.report import Row

COLUMNS, UNITS = 500, 10


def spiked(n_rows: int, seed: int = 0) -> np.ndarray:
    """Return rows of 500 columns, ten of them with three to six times the variance of the others, turned at random."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(np.concatenate([np.linspace(6, 3, UNITS), np.ones(COLUMNS - UNITS)]))
    return (rng.standard_normal((n_rows, COLUMNS)) * scale) @ np.linalg.qr(rng.standard_normal((COLUMNS, COLUMNS)))[0]


def components_of(X: Any, k: int) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :k].T


def angle(weights: np.ndarray, exact: np.ndarray) -> float:
    from gramian.online.schedules import angle_between

    return angle_between(np.asarray(weights), exact)


def intelex() -> Any:
    """Return the other IncrementalPCA, or None where it is not installed."""
    try:
        from sklearnex.preview.decomposition import IncrementalPCA
    except ImportError:
        return None
    return IncrementalPCA


def ours_at(X: np.ndarray, exact: np.ndarray, wanted: float, mode: str) -> tuple[Call, int, float]:
    """Return a call that learns as few epochs as reach an angle, how many that are, and the angle."""
    import gramian as gm

    def learn(epochs: int) -> Any:
        return gm.HebbianPCA(UNITS, rule="sanger", mode=mode, n_epochs=epochs).fit(X)

    # The first epochs of a longer run are those of a shorter one.
    found = [angle(weights, exact) for weights in learn(12).history_["weights"]]
    epochs = next((e for e, each in enumerate(found, start=1) if each <= wanted), len(found))
    return (lambda: learn(epochs) and None), epochs, found[epochs - 1]


def case_a(run: cases.Run) -> Iterator[Row]:
    """Rows a second at equal error, k = 10, 500 columns, against IncrementalPCA."""
    from sklearn.decomposition import IncrementalPCA

    import gramian as gm

    n = run.rows(10_000)
    X = spiked(n)
    exact = components_of(X, UNITS)
    theirs = angle(IncrementalPCA(UNITS).fit(X).components_, exact)
    call, epochs, ours = ours_at(X, exact, theirs, "minibatch")
    what = f"HebbianPCA({UNITS}), {n:,} x {COLUMNS}, {epochs} epochs: {ours:.1f} degrees, peer {theirs:.1f}"
    row = Row("a", what, "IncrementalPCA", None, at_least=5.0)
    yield run.compare(row, call, lambda: IncrementalPCA(UNITS).fit(X) and None)
    peer = intelex()
    if peer is None:
        yield Row("a", "scikit-learn-intelex", "IncrementalPCA, intelex", None, note="not installed")
        return
    # It adds up the whole cross product, so that it is exact, and what it is to be compared with is PCA from moments.
    theirs = angle(peer(UNITS).fit(X).components_, exact)
    for name, model in ((f"HebbianPCA({UNITS}), {epochs} epochs", None), (f"PCA({UNITS}) from moments", gm.PCA(UNITS))):
        found = ours if model is None else angle(model.fit(X).components_, exact)
        what = f"{name}, {n:,} x {COLUMNS}: {found:.1f} degrees, peer {theirs:.1f}"
        ours_call = call if model is None else (lambda model=model: model.fit(X) and None)
        pair = measure.interleaved(ours_call, lambda: peer(UNITS).fit(X) and None, min(run.repeat, 2))
        figure = 1 / pair.ratio
        yield Row("a", what, "IncrementalPCA, intelex", figure, ours_seconds=pair.first, peer_seconds=pair.second)


def one_row_calls(X: np.ndarray, k: int) -> np.ndarray:
    """CCIPCA with numpy, one row a call and nothing compiled: what a stream of `learn_one` costs."""
    vectors, mean = np.zeros((k, X.shape[1])), np.zeros(X.shape[1])
    for n, row in enumerate(X, start=1):
        mean += (row - mean) / n
        u, share = row - mean, 1 - (1 - 1 / n) ** 3
        for i in range(k):
            v = vectors[i]
            length = np.sqrt(v @ v)
            if length == 0:
                vectors[i] = share * np.sqrt(u @ u) * u
                break
            v = (1 - share) * v + share * u * (u @ v) / length
            vectors[i] = v
            u = u - (u @ v) / (v @ v) * v
    return vectors


def case_b(run: cases.Run) -> Iterator[Row]:
    """The same against one row a call: a loop of numpy, and partial_fit of one row."""
    import gramian as gm

    n = run.rows(2_000)
    X = spiked(n)
    exact = components_of(X, UNITS)
    theirs = angle(one_row_calls(X, UNITS), exact)
    for mode in ("minibatch", "online"):
        call, epochs, ours = ours_at(X, exact, theirs, mode)
        what = f"mode={mode!r}, {n:,} x {COLUMNS}, {epochs} epochs: {ours:.1f} degrees, peer {theirs:.1f}"
        pair = measure.interleaved(call, lambda: one_row_calls(X, UNITS) is None, min(run.repeat, 2))
        figure = 1 / pair.ratio
        yield Row("b", what, "CCIPCA, one row a call", figure, ours_seconds=pair.first, peer_seconds=pair.second)

    def calls() -> None:
        model = gm.HebbianPCA(UNITS, rule="sanger")
        for row in X[:100]:
            model.partial_fit(row[None])

    seconds = measure.best(calls, 1)
    yield Row("b", "partial_fit of one row", "", seconds / 100 * 1e3, unit="ms", ours_seconds=seconds)


def levels(n_rows: int) -> tuple[Any, list[np.ndarray]]:
    """Return a frame of twenty categorical columns, 1,990 levels together, and their codes."""
    import pandas as pd

    columns = synthetic.codes(n_rows, synthetic.CATEGORICAL)
    frame = pd.DataFrame(
        {
            f"c{j:02d}": pd.Categorical.from_codes(codes, [f"level {i:06d}" for i in range(size)])
            for j, (codes, size) in enumerate(zip(columns, synthetic.CATEGORICAL, strict=True))
        }
    )
    return frame, columns


def case_c(run: cases.Run) -> Iterator[Row]:
    """Categories as codes against the same rows written out, at equal p."""
    import gramian as gm

    n = run.rows(10_000)
    frame, columns = levels(n)
    starts = np.cumsum([0, *synthetic.CATEGORICAL])
    dense = np.zeros((n, starts[-1]))
    for start, codes in zip(starts, columns, strict=False):
        dense[np.arange(n), start + codes] = 1.0
    for mode in ("minibatch", "online"):
        rows = n if mode == "minibatch" else n // 5
        rate: Any = "auto" if mode == "minibatch" else 0.01

        def learn(X: Any, mode: str = mode, rate: Any = rate) -> None:
            gm.HebbianPCA(UNITS, rule="sanger", mode=mode, learning_rate=rate).fit(X)

        what = f"mode={mode!r}, learning_rate={rate!r}, {rows:,} x 20 columns, {starts[-1]:,} levels, 20 epochs"
        coded, written = frame[:rows], dense[:rows]
        pair = measure.interleaved(
            lambda learn=learn, X=coded: learn(X), lambda learn=learn, X=written: learn(X), min(run.repeat, 2)
        )
        yield Row(
            "c", what, "the same, one-hot", 1 / pair.ratio, at_least=10.0,
            ours_seconds=pair.first, peer_seconds=pair.second,
        )  # fmt: skip


def streamed(path: str) -> Call:
    import gramian as gm

    return lambda: gm.stream_fit(gm.HebbianPCA(UNITS, rule="sanger"), path) and None


def case_d(run: cases.Run) -> Iterator[Row]:
    """Peak memory of a stream of files: four times the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = run.rows(100_000)
    with tempfile.TemporaryDirectory() as folder:
        part = spiked(n // 10)[:, :100]
        for count in (1, 4):
            place = Path(folder) / str(count)
            place.mkdir()
            for k in range(10 * count):
                pq.write_table(pa.table({f"x{j}": column for j, column in enumerate(part.T)}), place / f"{k}.parquet")
        few, many = (measure.alone("benchmarks.online:streamed", str(Path(folder) / str(count))) for count in (1, 4))
    yield Row(
        "d", f"stream_fit, {4 * n:,} x 100 from Parquet: peak", f"{n:,} rows", many.peak / few.peak, at_most=1.1,
        ours_seconds=many.seconds, peer_seconds=few.seconds, ours_peak=many.peak, peer_peak=few.peak,
    )  # fmt: skip


def words(n_rows: int = 4000, p: int = 1000, topics: int = 10) -> Any:
    """Return counts of words in rows of a few topics, sparse."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    of_topic = rng.random((topics, p)) * (rng.random((topics, p)) < 0.1) * np.linspace(3, 1, topics)[:, None]
    share = rng.random((n_rows, topics)) * (rng.random((n_rows, topics)) < 0.3)
    return sparse.csr_array(rng.poisson(0.5 * share @ of_topic).astype(float))


def case_e(run: cases.Run) -> Iterator[Row]:
    """Defaults after 20 epochs: degrees to the exact components."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.preprocessing import StandardScaler

    import gramian as gm

    data = {
        "digits": load_digits().data,
        "wine, standardised": StandardScaler().fit_transform(load_wine().data),
        "1,000 sparse columns": words(),
    }
    for name, X in data.items():
        exact = components_of(X.toarray() if hasattr(X, "toarray") else X, 10)
        for rule, k in (("oja", 1), ("sanger", 2), ("subspace", 5), ("ccipca", 10)):
            model = gm.HebbianPCA(k, rule=rule).fit(X)
            yield Row("e", f"{name}, rule={rule!r}, k = {k}", "", angle(model.weights_, exact[:k]), "deg", at_most=1.0)
        model = gm.LinearAutoencoder(5).fit(X)
        yield Row("e", f"{name}, autoencoder, k = 5", "", angle(model.decoder_, exact[:5]), "deg", at_most=1.0)


def case_f(run: cases.Run) -> Iterator[Row]:
    """Sources: Amari index with defaults, beside FastICA."""
    from sklearn.decomposition import FastICA

    import gramian as gm
    from gramian.online.ica import amari_index

    rng, n, k = np.random.default_rng(0), 5000, 4
    uniform, laplace = rng.uniform(-1, 1, (n, k)), rng.laplace(size=(n, k))
    kinds = {"uniform": uniform, "Laplace": laplace, "mixed": np.hstack([uniform[:, :2], laplace[:, 2:]])}
    for name, sources in kinds.items():
        mixing = rng.standard_normal((k, k))
        X = sources @ mixing.T
        theirs = FastICA(whiten="unit-variance", random_state=0, max_iter=1000).fit(X).components_
        against = f"FastICA {amari_index(theirs @ mixing):.3f}"
        found = amari_index(gm.NeuralICA().fit(X).unmixing_ @ mixing)
        yield Row("f", f"{name} sources, Amari index", against, found, "", at_most=0.05)
    found = amari_index(gm.NeuralICA(nonlinearity="tanh").fit(kinds["Laplace"]).unmixing_)
    yield Row("f", "Laplace sources, tanh alone", "", found, "", at_least=0.3)


def case_g(run: cases.Run) -> Iterator[Row]:
    """A first component that turns by 90 degrees over 20,000 rows: degrees behind at the end."""
    import gramian as gm

    rng, n, p = np.random.default_rng(0), 20_000, 10
    turn = np.linspace(0, np.pi / 2, n)
    X = rng.standard_normal((n, p))
    first = 5.0 * rng.standard_normal(n)
    X[:, 0] += first * np.cos(turn)
    X[:, 1] += first * np.sin(turn)
    end = np.eye(p)[1:2]
    model = gm.stream_fit(gm.HebbianPCA(forgetting=0.997), X)
    yield Row("g", "HebbianPCA(forgetting=0.997)", "", angle(model.weights_, end), "deg", at_most=5.0)
    yield Row("g", "PCA of all rows", "", angle(gm.PCA(1).fit(X).components_, end), "deg", at_least=30.0)


CASES: dict[str, cases.Case] = {
    name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")
}


def main(arguments: list[str]) -> int:
    return cases.main("online", __doc__, CASES, cases.Run, arguments)
