"""Features from distances: held-out accuracy against peers on the same distances, then time and memory.

Quality: every method gets the same matrix, the root of each distance (Hamming for the aligned sequences, Levenshtein for
names, longest common subsequence for careers, time warping in a window of a tenth for series). Series are judged on
their published split, the others by five folds. Speed: generated data.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import cases, measure
from benchmarks.measure import Call
from benchmarks.report import Row

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
SETS = ["surnames", "promoters", "splice", "mvad", "ucr_GunPoint", "ucr_Coffee", "ucr_CBF", "ucr_ItalyPowerDemand"]
LARGEST = 1200
"""Objects of a set at most, drawn with a seed: the peers' grids are slow."""

Split = tuple[np.ndarray, np.ndarray]


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, list[Split]]:
    """Return distances, class codes, and pairs of training and test objects."""
    import pyarrow.parquet as pq
    from sklearn.model_selection import StratifiedKFold

    from gramian.distances.metrics.pairwise import pairwise_distances

    table = pq.read_table(folder / f"{name}.parquet")
    rng = np.random.default_rng(0)
    target = {"surnames": "language", "mvad": "gcse5eq"}.get(name, "class")
    labels = np.array(table[target].to_pylist())
    if name == "surnames":
        common = [label for label, _ in sorted(zip(*np.unique(labels, return_counts=True), strict=True), key=_count)][
            :8
        ]
        at = np.concatenate(
            [rng.choice(np.flatnonzero(labels == label), LARGEST // 8, replace=False) for label in common]
        )
    else:
        at = np.sort(rng.permutation(len(labels))[:LARGEST])
    labels, table = labels[at], table.take(at)
    if name == "mvad":
        D = np.sqrt(np.array(table["lcs_distance"].to_pylist(), dtype=float))
    elif name.startswith("ucr_"):
        D = pairwise_distances(table["series"].to_pylist(), metric="dtw", window=0.1, power=0.5)
    elif name == "surnames":
        D = pairwise_distances(table["name"].to_pylist(), metric="levenshtein", power=0.5)
    else:
        columns = [c for c in table.schema.names if c != target]
        texts = ["".join(row) for row in zip(*(table[c].to_pylist() for c in columns), strict=True)]
        D = pairwise_distances(texts, metric="hamming", power=0.5)
    y = np.unique(labels, return_inverse=True)[1]
    if "split" in table.schema.names:
        split = np.array(table["split"].to_pylist())
        return D, y, [(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    repeats = 1 if len(y) >= 300 else 4
    folds = [s for r in range(repeats) for s in StratifiedKFold(5, shuffle=True, random_state=r).split(y, y)]
    return D, y, folds


def _count(pair: tuple[str, int]) -> int:
    return -pair[1]


# Methods: (train distances, labels, test distances) -> predicted labels


def ours(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from gramian.estimators.mdsfda import MDSFDA

    return MDSFDA(int(y.max())).fit(D, y).predict(new)


def ours_plain(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from gramian.estimators.mdsfda import MDSFDA

    return MDSFDA(int(y.max()), saturation=None).fit(D, y).predict(new)


def neighbours(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier

    grid = {"n_neighbors": [1, 3, 5, 9, 15]}
    return GridSearchCV(KNeighborsClassifier(metric="precomputed"), grid, cv=_inner(y)).fit(D, y).predict(new)


def svm(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    middle = np.median(D[D > 0] ** 2)
    best, found = -1.0, y[:0]
    for width in (0.1, 0.3, 1.0, 3.0, 10.0):
        kernel = np.exp(-width * D**2 / middle)
        grid = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1, 10, 100, 1000]}, cv=_inner(y)).fit(kernel, y)
        if grid.best_score_ > best:
            best, found = grid.best_score_, grid.predict(np.exp(-width * new**2 / middle))
    return found


def umap_neighbours(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import KNeighborsClassifier
    from umap import UMAP

    model = UMAP(
        metric="precomputed", n_components=max(2, int(y.max())), n_neighbors=min(15, len(y) - 1), random_state=0
    )
    Z = model.fit_transform(D)
    return KNeighborsClassifier(min(5, len(y))).fit(Z, y).predict(model.transform(new))


def mds_lda(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    from gramian.estimators.mds import ClassicalMDS

    pipe = make_pipeline(ClassicalMDS(), LinearDiscriminantAnalysis())
    grid = {"classicalmds__n_components": [k for k in (2, 5, 10, 20, 50) if k < 0.7 * len(y)]}
    return GridSearchCV(pipe, grid, cv=_inner(y)).fit(D, y).predict(new)


def literal(D: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The printed recipe: its offset of 1e-6 on G, class weights N_i, an explicit inverse, a nonsymmetric eigenproblem."""
    squares = D**2
    V = literal_axes(squares, y)
    G_new = -0.5 * (new**2 - (new**2).mean(axis=1, keepdims=True) - squares.mean(axis=0) + squares.mean())
    C = np.eye(len(y)) - 1 / len(y)
    Z, Z_new = -0.5 * C @ squares @ C @ V, G_new @ V
    means = np.array([Z[y == k].mean(axis=0) for k in range(y.max() + 1)])
    return np.square(Z_new[:, None] - means).sum(axis=2).argmin(axis=1)


def literal_axes(squares: np.ndarray, y: np.ndarray) -> np.ndarray:
    n = len(y)
    C = np.eye(n) - np.ones((n, n)) / n
    G = -0.5 * C @ squares @ C + 1e-6 * np.eye(n)
    M = np.zeros((n, n))
    for k in range(y.max() + 1):
        K = G[:, y == k].sum(axis=1)
        M += (y == k).sum() * np.outer(K, K)
    values, vectors = np.linalg.eig(np.linalg.inv(G @ G) @ M)
    return vectors[:, np.argsort(-values.real)[: y.max()]].real


def _inner(y: np.ndarray) -> object:
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(int(min(5, np.bincount(y).min())), shuffle=True, random_state=0)


METHODS: dict[str, tuple[Callable[..., np.ndarray], str]] = {
    "MDS-FDA": (ours, ""),
    "as is": (ours_plain, ""),
    "kNN": (neighbours, ""),
    "SVM grid": (svm, ""),
    "UMAP+kNN": (umap_neighbours, "umap"),
    "MDS+LDA": (mds_lda, ""),
    "literal": (literal, ""),
}


def quality(folder: Path) -> Iterator[Row]:
    """Held-out accuracy on the sets of the data folder."""
    if not folder.is_dir():
        yield Row("quality", f"no folder {folder.name!r}", "", None, note="pass --data FOLDER")
        return
    names = [name for name, (_, needs) in METHODS.items() if not needs or find_spec(needs)]
    for name, (_, needs) in METHODS.items():
        if name not in names:
            print(f"{name}: pip install {needs}-learn")
    print(f"{'held-out accuracy':22}{'n':>6}{'classes':>8}" + "".join(f"{name:>10}" for name in names), flush=True)
    table = []
    for name in SETS:
        D, y, splits = load(folder, name)
        scores = np.zeros((len(splits), len(names)))
        for i, (train, test) in enumerate(splits):
            for j, method in enumerate(names):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = METHODS[method][0](D[np.ix_(train, train)], y[train], D[np.ix_(test, train)])
                scores[i, j] = (found == y[test]).mean()
        table.append(scores.mean(axis=0))
        print(f"{name:22}{len(y):6}{y.max() + 1:8}" + "".join(f"{v:10.3f}" for v in table[-1]), flush=True)
    found = np.array(table)
    print(f"{'mean':36}" + "".join(f"{v:10.3f}" for v in found.mean(axis=0)) + "\n", flush=True)
    knn, machine = (found[:, names.index(name)] for name in ("kNN", "SVM grid"))
    mine, plain = (found[:, names.index(name)] for name in ("MDS-FDA", "as is"))
    ahead, behind = 100 * float((mine - knn).mean()), 100 * float((mine - machine).mean())
    yield Row("quality", "MDS-FDA: mean less kNN's", "kNN", ahead, " points", at_least=3)
    yield Row("quality", "MDS-FDA: mean less SVM's", "SVM", behind, " points", at_least=-1)
    yield Row("quality", "MDS-FDA: least ratio on a set", "kNN", float((mine / knn).min()), at_least=0.95)
    gain = 100 * float((mine - plain).mean())
    yield Row("quality", "MDS-FDA: mean less that on distances as they are", "saturation=None", gain, " points")


def landmarks(folder: Path) -> Iterator[Row]:
    """Held-out accuracy with few landmarks, spread out or at random."""
    from gramian.estimators.mdsfda import MDSFDA

    if not folder.is_dir():
        return
    for count in (30, 100, 300):
        scores = {"random": [], "k-means++": []}  # type: dict[str, list[float]]
        for name in ("surnames", "splice", "mvad"):
            D, y, splits = load(folder, name)
            for train, test in splits[:3]:
                for how, seed in [(how, seed) for how in scores for seed in range(2)]:
                    options = {"n_landmarks": count, "landmarks": how, "random_state": seed, "saturation": None}
                    model = MDSFDA(int(y.max()), **options).fit(D[np.ix_(train, train)], y[train])  # type: ignore[arg-type]
                    scores[how].append(float((model.predict(D[np.ix_(test, train)]) == y[test]).mean()))
        spread, drawn = (100 * float(np.mean(scores[how])) for how in ("k-means++", "random"))
        yield Row("landmarks", f"{count} landmarks: k-means++ less random", "random", spread - drawn, " points",
                  floor=f"accuracy {drawn / 100:.3f}")  # fmt: skip


# Speed


def blobs(n: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points whose city-block distances are not Euclidean, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 30)) + rng.normal(size=(classes, 30))[y] * 0.6, y


def city(n: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.spatial.distance import cdist

    X, y = blobs(n, 5)
    return cdist(X, X, "cityblock"), y


def fit_ours(D: np.ndarray, y: np.ndarray, **options: object) -> Call:
    from gramian.estimators.mdsfda import MDSFDA

    return lambda: MDSFDA(4, **options).fit(D, y) and None  # type: ignore[arg-type, func-returns-value]


def one_decomposition(D: np.ndarray) -> Call:
    import scipy.linalg

    from gramian.distances.mds import gram

    G, _ = gram(D)
    return lambda: scipy.linalg.eigh(G, driver="evd", check_finite=False)


def tridiagonal_form(D: np.ndarray) -> Call:
    """The first step of every decomposition, and of every way to |G| that holds all digits: a floor."""
    import scipy.linalg

    from gramian.distances.mds import gram

    G, _ = gram(D)
    reduce, size = scipy.linalg.get_lapack_funcs(("sytrd", "sytrd_lwork"), (G,))
    room = int(size(len(G), lower=1)[0])
    return lambda: reduce(G.T, lower=1, lwork=room)


def fit_large(n: int) -> Call:
    """Distances of n points in float32, made by stretches, and the fit on them; the value is the held-in accuracy."""
    from scipy.spatial.distance import cdist

    from gramian.estimators.mdsfda import MDSFDA

    X, y = blobs(n, 5)
    D = np.empty((n, n), dtype=np.float32)
    for start in range(0, n, 500):
        D[start : start + 500] = cdist(X[start : start + 500], X, "cityblock")
    return lambda: float((MDSFDA(4).fit(D, y).embedding_[:, 0] != 0).mean())


def words(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return generated words of five made-up languages."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    vowels, consonants = list("aeiou"), list("bcdfghklmnprstvz")
    tastes = [(rng.dirichlet(np.full(5, 0.6)), rng.dirichlet(np.full(16, 0.4))) for _ in range(5)]
    syllables = rng.integers(2, 5, n)
    out = []
    for language, length in zip(y, syllables, strict=True):
        a, b = tastes[language]
        first, second = rng.choice(16, length, p=b), rng.choice(5, length, p=a)
        out.append("".join(consonants[i] + vowels[j] for i, j in zip(first, second, strict=True)))
    return out, y


def fit_words(n: int, n_landmarks: int) -> Call:
    from gramian.estimators.mdsfda import MDSFDA

    texts, y = words(n + 2000)

    def fit() -> float:
        model = MDSFDA(4, metric="levenshtein", metric_params={"power": 0.5}, n_landmarks=n_landmarks)
        return float(model.fit(texts[:n], y[:n]).score(texts[n:], y[n:]))

    return fit


def speed(repeat: int) -> Iterator[Row]:
    """Time at 2,000 objects against the literal recipe and one decomposition."""
    D, y = city(2000)
    # The root of a city-block distance is a Euclidean distance, the city-block distance itself is far from one.
    cases = (
        ("Euclidean, regularization given", np.sqrt(D), {"regularization": 0.05}, 20),
        ("not Euclidean, regularization given", D, {"regularization": 0.05}, 20),
        ("not Euclidean, given, float32", D, {"regularization": 0.05, "dtype": "float32"}, None),
        ("not Euclidean, iterative, by CV", D, {"solver": "iterative"}, None),
    )
    for label, distances, options, target in cases:
        squares = distances**2
        literals = [measure.seconds_of(lambda squares=squares: literal_axes(squares, y)) for _ in range(2)]  # type: ignore[misc]
        mine = measure.best(fit_ours(distances, y, **options), 2 * repeat)
        floor = ""
        if label == "not Euclidean, regularization given":
            least = measure.best(tridiagonal_form(distances), 2 * repeat)
            floor = f"tridiagonal form alone {min(literals) / least:.1f}x"
        yield Row("speed", f"2,000 objects, 5 classes, {label}", "literal recipe", min(literals) / mine, at_least=target,
                  ours_seconds=mine, peer_seconds=min(literals), floor=floor)  # fmt: skip
    for label, options in (("by CV", {}), ("by CV, distances as they are", {"saturation": None})):
        pair = measure.interleaved(fit_ours(D, y, **options), one_decomposition(D), repeat)
        yield Row("speed", f"2,000 objects, regularization {label}", "one eigh", pair.ratio, at_most=3,
                  ours_seconds=pair.first, peer_seconds=pair.second)  # fmt: skip


def size(repeat: int) -> Iterator[Row]:
    """Memory: 20,000 objects in float32, and 200,000 words with 1,000 landmarks."""
    alone = measure.alone("benchmarks.distances:fit_large", 20_000)
    allowed = 3 * 20_000**2 * 4
    yield Row("size", "20,000 objects, float32, by CV", "3 n^2 floats", alone.peak / 1e9, "GB", at_most=allowed / 1e9,
              ours_seconds=alone.seconds, ours_peak=alone.peak)  # fmt: skip
    small = measure.alone("benchmarks.distances:fit_words", 50_000, 1000)
    large = measure.alone("benchmarks.distances:fit_words", 200_000, 1000)
    yield Row("size", "200,000 words, 1,000 landmarks", "peak at 50,000", large.peak / small.peak, at_most=1.25,
              ours_seconds=large.seconds, peer_seconds=small.seconds, ours_peak=large.peak, peer_peak=small.peak,
              floor=f"accuracy {large.value:.3f}")  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = cases.parts_parser("distances", __doc__, "quality,landmarks,speed,size")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the Parquet sets")
    options = parser.parse_args(arguments)
    parts = {
        "quality": lambda: quality(options.data),
        "landmarks": lambda: landmarks(options.data),
        "speed": lambda: speed(options.repeat),
        "size": lambda: size(options.repeat),
    }
    return cases.run_parts(parser, options, parts, ["speed"], "rapidfuzz")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
