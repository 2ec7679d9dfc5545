"""How often the test of pairs rejects where no pair matters, and how often it finds one that does."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import gramian as gm

STRENGTHS = (0.1, 0.2, 0.4)
CASES = ("logistic", "linear", "rare", "heavy", "permuted", "proxies")


def drawn(case: str, rng: np.random.Generator, n: int, planted: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows and a target, without any cross or with one of columns a and x: so much up or down, by cell."""
    frame = pd.DataFrame(
        {
            "a": rng.choice(list("uvwx"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "b": rng.choice(list("rs"), n),
            "c": rng.choice(list("klm"), n),
            "x": rng.normal(size=n),
            "z": rng.gamma(1.0, 1.0, n),
        }
    )
    frame["p"] = frame["x"] + 0.5 * rng.normal(size=n)
    if case == "proxies":
        frame["q"] = np.where(frame["a"].isin(["u", "w"]) ^ (rng.random(n) < 0.2), "g", "h")
    eta = frame["a"].map({"u": 0.0, "v": 0.8, "w": -1.0, "x": 1.5}) + 0.7 * (frame["b"] == "r")
    eta = (eta + np.sin(2 * frame["x"]) + 0.5 * np.log(frame["z"] + 0.1)).to_numpy()
    eta = eta + planted * np.where((frame["a"] == "u") == (frame["x"] > 0), 1.0, -1.0)
    if case == "linear":
        return frame, eta + rng.normal(size=n)
    if case == "heavy":
        return frame, eta + rng.standard_t(2.5, size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-(eta - (5.2 if case == "rare" else 0.0))))
    if case == "proxies":
        frame = frame.drop(columns="x")
    return frame, rng.permutation(y) if case == "permuted" else y


def calibration(n: int, tables: int) -> None:
    """Print the share of pairs rejected at 1, 5 and 10% where none matters."""
    for case in CASES:
        p: list[float] = []
        for seed in range(tables):
            frame, y = drawn(case, np.random.default_rng(seed), n)
            model = (gm.AdditiveClassifier if y.dtype == bool else gm.AdditiveRegressor)(crosses=0).fit(frame, y)
            p += list(gm.rank_crosses(model, frame, y)["p_value"])
        shares = "  ".join(f"at {level:.0%}: {100 * np.mean(np.array(p) <= level):.1f}%" for level in (0.01, 0.05, 0.1))
        print(f"  {case:9} {len(p)} pairs  {shares}", flush=True)


def power(sizes: list[int], tables: int) -> None:
    """Print how often a planted pair is a discovery at a false discovery rate of 5%, and is ranked first."""
    for case in ("linear", "logistic", "rare"):
        for strength in STRENGTHS:
            line = []
            for n in sizes:
                found = []
                for seed in range(tables):
                    frame, y = drawn(case, np.random.default_rng(seed), n, strength)
                    model = (gm.AdditiveClassifier if y.dtype == bool else gm.AdditiveRegressor)(crosses=0).fit(
                        frame, y
                    )
                    ranks = gm.rank_crosses(model, frame, y)
                    at = int(np.flatnonzero((ranks["left"] == "a") & (ranks["right"] == "x"))[0])
                    found.append((ranks["q_value"][at] <= 0.05, at == 0))
                line.append("  ".join(f"{100 * share:3.0f}%" for share in np.mean(found, axis=0)))
            print(f"  {case:9} {strength:4g}   " + "     ".join(line), flush=True)


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cross_tests", description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--tables", type=int, default=40, help="tables drawn per case")
    parser.add_argument(
        "--power", metavar="SIZES", help="only this: tables of these sizes, such as 1000,10000, with a pair"
    )
    options = parser.parse_args(arguments)
    if options.power:
        power([int(size) for size in options.power.split(",")], options.tables)
    else:
        calibration(options.rows, options.tables)
    return 0
