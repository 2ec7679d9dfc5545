"""Odd card payments
=================

Card payments: find odd payments and new merchants, draw them, and print the reasons.

The detector is fitted to a year of the demo's payments, from moments collected quarter by quarter. The following three months
contain a few planted rows: odd payments, in which each value is common but the combination is not, and new merchants.

Run it with ``python examples/plot_card_payments.py [picture.png]``; the picture needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import gramian as gm
from gramian.cli.payments import payments


def draw(path: Path, model: gm.DensityEmbedding, today: pa.Table, kind: np.ndarray) -> None:
    """Save a picture: the embedding on the left, the scores on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names, colors = ["usual", "odd combination", "new merchant"], ["#9aa5b1", "#d1495b", "#00798c"]
    embedded, scores = model.transform(today), model.anomaly_score(today)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for k in range(3):
        left.scatter(
            *embedded[kind == k, :2].T, s=[8, 30, 30][k], c=colors[k], label=names[k], alpha=[0.3, 0.8, 0.8][k], lw=0
        )
    left.set(title="Embedding: the two directions of least variance", xlabel="feature 0", ylabel="feature 1")
    # Usual rows lie close together and odd rows far out: the axes are linear near 0 and logarithmic beyond.
    ticks = [-100, -10, -1, 0, 1, 10, 100]
    left.set_xscale("symlog", linthresh=1)
    left.set_yscale("symlog", linthresh=1)
    left.set(xticks=ticks, yticks=ticks)
    left.legend(frameon=False)
    edges = np.geomspace(scores.min() * 0.98, scores.max() * 1.02, 60)
    for k in range(3):
        right.hist(scores[kind == k], bins=edges, color=colors[k], label=names[k], alpha=0.85)
    right.axvline(-model.offset_, color="black", lw=1, ls="--")
    right.text(-model.offset_, right.get_ylim()[1] * 0.9, " threshold", va="top")
    right.set(title="Anomaly score", xlabel="score", ylabel="payments", xscale="log", yscale="log")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(picture: str = "card_payments.png") -> None:
    """Fit to a year and score the next three months."""
    made = payments(75_000, seed=1)
    earlier, today = (table.drop(["payment", "fraud"]) for table in (made.earlier, made.later))
    kind = np.where(made.new, 2, made.odd.astype(int))
    quarters = [earlier.slice(start, 15_000) for start in range(0, earlier.num_rows, 15_000)]
    moments = gm.merge([gm.collect(quarter) for quarter in quarters])
    # Ten payments in a thousand may be flagged: the threshold comes from the rows of the last quarter.
    model = gm.DensityEmbedding().fit(moments).calibrate(quarters[-1], alerts=10, per_rows=1000)

    swans = model.black_swans(today).any(axis=1)
    scores = model.anomaly_score(today)
    order = np.argsort(-scores)
    n_odd = int((kind == 1).sum())
    print(f"{today.num_rows:,} payments, {(model.predict(today) == -1).sum()} above the threshold")
    print(
        f"new merchants: {swans.sum()}, the {swans.sum()} highest scores are theirs: {swans[order[: swans.sum()]].all()}"
    )
    rest = order[swans.sum() : swans.sum() + n_odd]
    print(f"of the next {n_odd} payments, {(kind[rest] == 1).sum()} are planted odd combinations\n")

    chosen = [*order[:2], *rest[:4]]
    reasons = model.explain(today.take(chosen), top=2)
    for row, share, text in zip(*(reasons[c].to_pylist() for c in ("row", "contribution", "text")), strict=True):
        if text not in ("(what every row has)", "(other)"):
            print(f"payment {chosen[row]:>5}  {share:6.2f}  {text}")

    try:
        draw(Path(picture), model, today, kind)
    except ImportError:
        print("\nfor the picture: pip install matplotlib")
    else:
        print(f"\nwrote {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
