"""Twelve columns, one of them with 8,000 levels: what the detector costs where pairs of levels are many and few are seen."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import measure, synthetic
from benchmarks.report import Row

LEVELS = (8_000, 300, 120, 60, 40, 30, 20, 12, 8, 5, 3, 2)
ROWS = 800_000


@cache
def table(n_rows: int) -> pa.Table:
    """Return shops with a city and a trade that mostly follow from the shop, among columns that do not."""
    rng = np.random.default_rng(11)
    columns = synthetic.codes(n_rows, LEVELS, seed=11)
    for j, loyal in ((1, 0.9), (2, 0.97), (4, 0.5)):
        home = rng.integers(0, LEVELS[j], LEVELS[0], dtype=np.int32)
        columns[j] = np.where(rng.random(n_rows) < loyal, home[columns[0]], columns[j])
    return pa.table(
        {f"c{j:02d}": synthetic.labelled(c, k) for j, (c, k) in enumerate(zip(columns, LEVELS, strict=True))}
    )


def seconds_and_bytes(n_rows: int, **settings: str) -> dict[str, float]:
    """Return the seconds of collect, fit, save, load and score, and the bytes of both files."""
    import gramian as gm

    rows = table(n_rows)
    small = rows.slice(0, 1000)
    gm.DensityEmbedding(**settings).fit(small).predict(small)  # loads the kernels
    spent: dict[str, float] = {}
    kept: dict[str, object] = {}

    def step(name: str, call: measure.Call) -> None:
        spent[name] = measure.seconds_of(lambda: kept.update({name: call()}))

    with tempfile.TemporaryDirectory() as folder:
        moments, model = Path(folder, "moments"), Path(folder, "model")
        step("collect", lambda: gm.collect(rows))
        gm.save(kept["collect"], moments)
        step("fit", lambda: gm.DensityEmbedding(**settings).fit(kept["collect"]))
        step("save", lambda: gm.save(kept["fit"], model))
        step("load", lambda: gm.load(model))
        step("score", lambda: kept["load"].anomaly_score(rows))
        return {**spent, "moments": moments.stat().st_size, "model": model.stat().st_size}


def detector(n_rows: int, scores: tuple[str, ...], before: dict[str, float]) -> Iterator[Row]:
    """Yield the seconds of each step and the model's bytes against those of the moments."""
    what = f"{LEVELS[0]:,} levels among {len(LEVELS)} columns, {n_rows:,} rows"
    for score in scores:
        neighbours = measure.Neighbours()
        found = seconds_and_bytes(n_rows, method=score)
        others = neighbours.cores()
        for name in ("fit", "save", "load", "score"):
            note = f"before {before[name]:.2f} s" if name in before else ""
            yield Row("e", f"{score}: {name}, {what}", "collect", found[name] / found["collect"], ours_seconds=found[name],
                      peer_seconds=found["collect"], floor=note, neighbours=others)  # fmt: skip
        note = f"{found['model'] / 1e6:.1f} MB of {found['moments'] / 1e6:.1f} MB"
        if "model" in before:
            note += f"; before {before['model'] / 1e6:.0f} MB"
        yield Row(
            "e",
            f"{score}: bytes of the model",
            "of the moments",
            found["model"] / found["moments"],
            at_most=2.0,
            floor=note,
        )
