"""Tables without odd rows, to count false alarms: a detector is fitted to some rows and judges fresh ones.

Each generator draws its own laws from a seed first and rows afterwards, so that training and fresh rows share the laws.
Rows with a level that training never saw are counted apart: they are flagged by a rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

Rows = Callable[[int, np.random.Generator], dict[str, np.ndarray]]

NOMINAL, LOW, HIGH = 0.01, 0.1, 2.5
"""The share that `contamination="auto"` promises, and how many times it may be missed or exceeded."""

FRESH = 20_000
FITS = {50: 20, 2_000: 5, 10_000: 3, 100_000: 1}
"""Fits of each size, each with laws of its own; the share is their mean."""


def _columns(codes: np.ndarray) -> dict[str, np.ndarray]:
    return {f"c{j:02d}": codes[:, j] for j in range(codes.shape[1])}


def _independent(shares: list[np.ndarray]) -> Rows:
    return lambda n, rng: _columns(np.stack([rng.choice(len(p), n, p=p) for p in shares], axis=1))


def even(laws: np.random.Generator) -> Rows:
    """Ten independent columns, 2 to 20 levels, all equally frequent."""
    return _independent([np.full(k, 1 / k) for k in (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)])


def zipf(laws: np.random.Generator) -> Rows:
    """Eight independent columns of 50 levels with frequencies 1, 1/2, 1/3..."""
    share = 1 / np.arange(1, 51)
    return _independent([share / share.sum()] * 8)


def coins(laws: np.random.Generator) -> Rows:
    """Ten independent coins, some of them biased."""
    return _independent([np.array([p, 1 - p]) for p in laws.uniform(0.3, 0.7, 10)])


def dependent(laws: np.random.Generator) -> Rows:
    """Ten columns of 6 levels on a random tree, each nearly a function of its parent."""
    parents = [int(laws.integers(0, j)) for j in range(1, 10)]
    steps = [laws.dirichlet(np.full(6, 0.15), 6).cumsum(axis=1) for _ in parents]
    first = laws.dirichlet(np.full(6, 2.0))

    def rows(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        codes = np.empty((n, 10), dtype=int)
        codes[:, 0] = rng.choice(6, n, p=first)
        for j, (parent, step) in enumerate(zip(parents, steps, strict=True), start=1):
            codes[:, j] = np.minimum((rng.random(n)[:, None] > step[codes[:, parent]]).sum(axis=1), 5)
        return _columns(codes)

    return rows


def _drawn(shares: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one code a row from the shares of its class."""
    beyond = rng.random(len(classes))[:, None] > shares.cumsum(axis=1)[classes]
    return np.minimum(beyond.sum(axis=1), shares.shape[1] - 1)


def latent_classes(laws: np.random.Generator) -> Rows:
    """Four classes nobody sees, twelve columns of 5 levels that depend on them alone."""
    shares = laws.dirichlet(np.full(5, 0.5), (12, 4))

    def rows(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        classes = rng.integers(0, 4, n)
        return _columns(np.stack([_drawn(p, classes, rng) for p in shares], axis=1))

    return rows


def near_identifiers(laws: np.random.Generator) -> Rows:
    """A column of 1,200 even levels, one of 1,500 very uneven ones, and six plain columns."""
    plain = [np.array([0.5, 0.25, 0.15, 0.07, 0.02, 0.01])] * 6
    return lambda n, rng: {
        **_independent(plain)(n, rng),
        "id": rng.integers(0, 1200, n),
        "account": np.minimum(rng.zipf(1.3, n), 1500),
    }


def calendar(laws: np.random.Generator) -> Rows:
    """Weekday, hour and region: the hours of a weekend differ, so do those of the regions."""
    hours = laws.dirichlet(np.full(24, 1.5), 2 * 8)
    region = laws.dirichlet(np.full(8, 3.0))

    def rows(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        weekday, where = rng.integers(0, 7, n), rng.choice(8, n, p=region)
        return {"weekday": weekday, "region": where, "hour": _drawn(hours, (weekday > 4) * 8 + where, rng)}

    return rows


def numbers(laws: np.random.Generator) -> Rows:
    """Eight correlated normal numbers."""
    mix = laws.standard_normal((8, 8))
    return lambda n, rng: {f"x{j}": x for j, x in enumerate((rng.standard_normal((n, 8)) @ mix).T)}


def mixtures(laws: np.random.Generator) -> Rows:
    """Three classes nobody sees: five columns of categories and three numbers that depend on them."""
    shares, means = laws.dirichlet(np.full(6, 0.7), (5, 3)), 3 * laws.standard_normal((3, 3))

    def rows(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        classes = rng.choice(3, n, p=[0.6, 0.3, 0.1])
        found = _columns(np.stack([_drawn(p, classes, rng) for p in shares], axis=1))
        return {**found, **{f"x{j}": means[classes, j] + rng.standard_normal(n) for j in range(3)}}

    return rows


def payments(laws: np.random.Generator) -> Rows:
    """A country, a currency that mostly follows it, a shop, and a lognormal amount whose scale depends on the currency."""
    scale = laws.uniform(1.0, 5.0, 6)
    shops = laws.dirichlet(np.full(40, 0.5))

    def rows(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        country = rng.choice(12, n, p=np.array([30, 20, 12, 10, 8, 6, 5, 3, 2, 2, 1, 1]) / 100)
        currency = np.where(rng.random(n) < 0.95, country // 2, rng.integers(0, 6, n))
        amount = np.exp(scale[currency] + 0.8 * rng.standard_normal(n))
        return {"country": country, "currency": currency, "shop": rng.choice(40, n, p=shops), "amount": amount}

    return rows


def _six(law: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]) -> Rows:
    return lambda n, rng: {f"x{j}": x for j, x in enumerate(law(rng, (n, 6)).T)}


def heavy(laws: np.random.Generator) -> Rows:
    """Six independent numbers of Student's law with 3 degrees of freedom."""
    return _six(lambda rng, shape: rng.standard_t(3, shape))


def uniform(laws: np.random.Generator) -> Rows:
    """Six independent uniform numbers."""
    return _six(lambda rng, shape: rng.random(shape))


def lognormal(laws: np.random.Generator) -> Rows:
    """Six independent lognormal numbers."""
    return _six(lambda rng, shape: rng.lognormal(0.0, 1.0, shape))


ONLY_NUMBERS = ("numbers", "t3", "uniform", "lognormal")

GENERATORS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "even": even,
    "zipf": zipf,
    "dependent": dependent,
    "latent classes": latent_classes,
    "coins": coins,
    "near-identifiers": near_identifiers,
    "weekday x hour": calendar,
    "numbers": numbers,
    "mixtures": mixtures,
    "payments": payments,
    "t3": heavy,
    "uniform": uniform,
    "lognormal": lognormal,
}


def table(rows: dict[str, np.ndarray]) -> pa.Table:
    """Return integers as text, floats as numbers."""
    return pa.table({k: pa.array(v if v.dtype.kind == "f" else v.astype(str).astype(object)) for k, v in rows.items()})


@dataclass(frozen=True)
class Alarms:
    """Share of fresh rows without unseen levels that are flagged, and share of rows that hold an unseen level."""

    generator: str
    score: str
    rows: int
    flagged: float
    unseen: float


def false_alarms(settings: dict[str, str], generator: str, n_rows: int) -> Alarms:
    """Fit to clean rows and judge fresh ones; `settings` are parameters of the detector."""
    import gramian as gm

    flagged, unseen = [], []
    for seed in range(FITS[n_rows]):
        rows = GENERATORS[generator](np.random.default_rng([seed, 1]))
        training, fresh = rows(n_rows, np.random.default_rng([seed, 2])), rows(FRESH, np.random.default_rng([seed, 3]))
        model = gm.DensityEmbedding(**settings).fit(table(training))
        new = model.black_swans(table(fresh)).any(axis=1)
        flagged.append(float(np.mean(model.predict(table(fresh))[~new] == -1)))
        unseen.append(float(np.mean(new)))
    return Alarms(generator, settings.get("method", ""), n_rows, float(np.mean(flagged)), float(np.mean(unseen)))


def measured(scores: tuple[str, ...], sizes: list[int]) -> Iterator[Alarms]:
    """Yield the false alarms of every score on every generator; a walk needs levels to walk over."""
    for generator in GENERATORS:
        for n_rows in sizes:
            for score in (s for s in scores if s != "walk" or generator not in ONLY_NUMBERS):
                yield false_alarms({"method": score}, generator, n_rows)
