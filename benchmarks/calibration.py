"""How often the independence test rejects where there is nothing to find, before (chi-squared) and after.

Each table has one draw of both sides; its rows are then paired anew by permutation, which leaves both margins and so the law
of the statistic as they are. The law comes from `gm.independence_test` on collected moments, the statistics of the
permuted tables from the definition, (n - 1) tr(A B), with hat matrices from design matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import chi2

from benchmarks.report import Row

Array = np.ndarray
Draw = Callable[[np.random.Generator, int], dict[str, Array]]

LEVELS = (0.01, 0.05)


def zipf(k: int) -> Callable[[np.random.Generator, int], Array]:
    share = 1 / np.arange(1, k + 1)
    return lambda rng, n: np.char.add("l", rng.choice(k, n, p=share / share.sum()).astype(str))


def even(k: int) -> Callable[[np.random.Generator, int], Array]:
    return lambda rng, n: np.char.add("l", rng.integers(0, k, n).astype(str))


def rare(*shares: float) -> Callable[[np.random.Generator, int], Array]:
    """Return classes of these shares, rounded to whole rows, and a last one with what is left."""

    def draw(rng: np.random.Generator, n: int) -> Array:
        sizes = [max(round(share * n), 1) for share in shares]
        return np.repeat(np.char.add("c", np.arange(len(sizes) + 1).astype(str)), [*sizes, n - sum(sizes)])

    return draw


NUMBERS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)),
    "t2": lambda rng, n: rng.standard_t(2, n),
}


def one(name: str, draw: Callable[[np.random.Generator, int], Array]) -> Draw:
    return lambda rng, n: {name: draw(rng, n)}


def several(**draws: Callable[[np.random.Generator, int], Array]) -> Draw:
    return lambda rng, n: {name: draw(rng, n) for name, draw in draws.items()}


def overlapping(rng: np.random.Generator, n: int) -> dict[str, Array]:
    """Return a Zipf column, a coarser copy of it with noise, and another: neither orthogonal nor independent."""
    share = 1 / np.arange(1, 101)
    code = rng.choice(100, n, p=share / share.sum())
    copy = np.where(rng.random(n) < 0.7, code // 3, rng.integers(0, 34, n))
    return {"a": np.char.add("a", code.astype(str)), "b": np.char.add("b", copy.astype(str)), "c": even(12)(rng, n)}


FEATURES: dict[str, Draw] = {
    "Zipf 330": one("x", zipf(330)),
    "Zipf 30": one("x", zipf(30)),
    "even 330": one("x", even(330)),
    "even 30": one("x", even(30)),
    "even 2": one("x", even(2)),
    **{name: one("x", draw) for name, draw in NUMBERS.items()},
    "Zipf 100 + 30 + even 10": several(x1=zipf(100), x2=zipf(30), x3=even(10)),
    "Zipf 100, overlapping": overlapping,
    "Zipf 50 + lognormal + t2": several(x1=zipf(50), x2=NUMBERS["lognormal"], x3=NUMBERS["t2"]),
}

TARGETS: dict[str, Draw] = {
    **{f"{share:.1%} class": one("y", rare(share)) for share in (0.002, 0.005, 0.01, 0.02, 0.1)},
    **{name: one("y", draw) for name, draw in NUMBERS.items()},
    "0.5%, 5%, rest": one("y", rare(0.005, 0.05)),
    "1% class + lognormal": several(y1=rare(0.01), y2=NUMBERS["lognormal"]),
}

SIZES = (500, 2000, 10_000)


def design(columns: dict[str, Array]) -> Any:
    """Return the one-hot and numeric columns as a sparse matrix, numbers standardised."""
    blocks = []
    for values in columns.values():
        if values.dtype.kind == "f":
            blocks.append(sp.csr_array(((values - values.mean()) / values.std())[:, None]))
        else:
            _, code = np.unique(values, return_inverse=True)
            blocks.append(sp.csr_array((np.ones(len(code)), (np.arange(len(code)), code))))
    return sp.csr_array(sp.hstack(blocks))


def orthonormal(x: Any) -> Array:
    """Return R such that the centred columns of x R are orthonormal."""
    scatter = (x.T @ x).toarray() - np.outer(x.sum(axis=0), x.mean(axis=0))
    values, vectors = np.linalg.eigh(scatter)
    kept = values > 1e-10 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def null_statistics(x: dict[str, Array], y: dict[str, Array], rng: np.random.Generator, repeats: int) -> Array:
    """Return (n - 1) tr(A B) for so many random pairings of the rows."""
    left, right = design(x), design(y)
    n = left.shape[0]
    root = orthonormal(left)
    target = right @ orthonormal(right)
    target = target - target.mean(axis=0)
    out = np.empty(repeats)
    for k in range(repeats):
        out[k] = (n - 1) * np.square(root.T @ (left.T @ target[rng.permutation(n)])).sum()
    return out


def rejections(x: Draw, y: Draw, n: int, draws: int, repeats: int, seed: int) -> tuple[list[float], list[float], str]:
    """Return the shares of null tables below each level, by chi-squared and by the law of the test, and what that is."""
    import gramian as gm

    rng = np.random.default_rng(seed)
    before, after, null = [], [], ""
    for _ in range(draws):
        left, right = x(rng, n), y(rng, n)
        test = gm.independence_test(gm.collect(pd.DataFrame(left | right)), list(left), list(right))
        law, null = test.null_law, test.null
        found = null_statistics(left, right, rng, repeats)
        before.append(chi2.sf(found, test.df))
        after.append([law.upper_tail(value) for value in found])
    shares = [[float(np.mean(np.ravel(p) < level)) for level in LEVELS] for p in (before, after)]
    return shares[0], shares[1], null


def calibration(draws: int = 20, repeats: int = 40, sizes: tuple[int, ...] = SIZES) -> Iterator[Row]:
    """Print the rejections of every pair of sides and size; yield the share that is within half and twice nominal."""
    print(f"{draws * repeats} null tables each; per cent rejected at 1% and 5%, * outside half to twice nominal")
    print(f"{'features':26} {'target':22} {'n':>6}  {'chi-squared':>12}   {'permutation':>12}   moments")
    inside = []
    for n in sizes:
        for a, (x_name, x) in enumerate(FEATURES.items()):
            for b, (y_name, y) in enumerate(TARGETS.items()):
                *shares, null = rejections(x, y, n, draws, repeats, seed=1000 * a + 10 * b + n)
                inside.append([_inside(share) for share in shares])
                cells = (
                    f"{100 * s[0]:5.1f} {100 * s[1]:5.1f}{'*'[ok:]:1}" for s, ok in zip(shares, inside[-1], strict=True)
                )
                print(f"{x_name:26} {y_name:22} {n:6}  {'   '.join(cells)}   {null}", flush=True)
    before, after = 100 * np.mean(inside, axis=0)
    yield Row(
        "c", f"{len(inside)} pairs of sides: within half and twice nominal", "chi-squared", after, "%", at_least=90,
        floor=f"before {before:.0f}%"
    )  # fmt: skip


def _inside(shares: list[float]) -> bool:
    return all(level / 2 <= share <= 2 * level for level, share in zip(LEVELS, shares, strict=True))
