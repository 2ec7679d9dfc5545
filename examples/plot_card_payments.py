"""Card payments: find the odd ones and the new receivers, see them apart from the bulk, and read why.

Weeks of generated payments have a few planted frauds: each value of such a row is common, the combination is not. The
detector is fitted to moments collected week by week; then a new day comes, with receivers that nobody has paid before.

Run it with ``python examples/plot_card_payments.py [picture.png]``; the picture needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import gramian as gm

COUNTRIES = np.array(["DE", "FR", "JP", "US"])
MONEY = np.array(["EUR", "EUR", "JPY", "USD"])
RECEIVERS = np.array(
    ["Acme", "Bakery Rossi", "City Transport", "Dentist Lang", "Energy Co", "Fuel 24", "Grocer", "Hotel Ito"]
)


def payments(n_rows: int, n_odd: int, n_new: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    """Return payments, and what each row is: 0 usual, 1 an odd combination, 2 a new receiver."""
    rng = np.random.default_rng(seed)
    home = rng.choice(4, n_rows, p=[0.45, 0.3, 0.15, 0.1])
    # Everybody has a few habits: receivers depend on the country, the channel on the receiver.
    taste = np.random.default_rng(0).dirichlet(np.full(len(RECEIVERS), 0.6), size=4)
    receiver = (np.cumsum(taste, axis=1)[home] > rng.random((n_rows, 1))).argmax(axis=1)
    money = MONEY[home]
    channel = np.where(rng.random(n_rows) < 0.9, np.where(receiver % 2 == 0, "chip", "online"), "contactless")
    hour = np.clip(np.where(receiver % 3 == 0, 8, 15) + rng.normal(0, 2.5, n_rows), 0, 23).round()
    amount = np.exp(rng.normal(3.0, 0.5, n_rows) + 0.3 * (receiver % 4)) * np.where(money == "JPY", 150.0, 1.0)

    kind = np.zeros(n_rows, dtype=int)
    places = rng.choice(n_rows, n_odd + n_new, replace=False)
    odd, new = places[:n_odd], places[n_odd:]
    kind[odd], kind[new] = 1, 2
    money[odd] = np.where(money[odd] == "JPY", "USD", "JPY")
    channel[odd] = np.where(receiver[odd] % 2 == 0, "online", "chip")
    hour[odd] = rng.integers(0, 5, n_odd)
    names = RECEIVERS[receiver].astype(object)
    names[new] = [f"New Shop {k}" for k in range(n_new)]
    columns = {
        "country": COUNTRIES[home],
        "currency": money,
        "receiver": names,
        "channel": channel,
        "hour": hour,
        "log_amount": np.log(amount).round(2),
    }
    return pa.table(columns), kind


def draw(path: Path, model: gm.DensityEmbedding, today: pa.Table, kind: np.ndarray) -> None:
    """Save a picture: the embedding on the left, the scores on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names, colors = ["usual", "odd combination", "new receiver"], ["#9aa5b1", "#d1495b", "#00798c"]
    embedded, scores = model.transform(today), model.anomaly_score(today)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for k in range(3):
        left.scatter(
            *embedded[kind == k, :2].T, s=[8, 30, 30][k], c=colors[k], label=names[k], alpha=[0.3, 0.8, 0.8][k], lw=0
        )
    left.set(title="Embedding: the two directions of least variance", xlabel="feature 0", ylabel="feature 1")
    # The lump is small beside what lies out: linear near 0, logarithmic beyond.
    ticks = [-100, -10, -1, 0, 1, 10, 100]
    left.set_xscale("symlog", linthresh=1)
    left.set_yscale("symlog", linthresh=1)
    left.set(xticks=ticks, yticks=ticks)
    left.legend(frameon=False)
    edges = np.linspace(0, scores.max() * 1.02, 60)
    for k in range(3):
        right.hist(scores[kind == k], bins=edges, color=colors[k], label=names[k], alpha=0.85)
    right.axvline(-model.offset_, color="black", lw=1, ls="--")
    right.text(-model.offset_, right.get_ylim()[1] * 0.9, " threshold", va="top")
    right.set(title="Anomaly score", xlabel="score", ylabel="payments", yscale="log")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(picture: str = "card_payments.png") -> None:
    """Fit to three weeks, look at a new day."""
    weeks = [payments(20_000, 20, 0, seed)[0] for seed in (1, 2, 3)]
    moments = gm.merge([gm.collect(week) for week in weeks])
    # One payment in a hundred is to be looked at: the threshold comes from the rows of the last week.
    model = gm.DensityEmbedding(contamination=0.01).fit(moments).calibrate(weeks[-1])
    today, kind = payments(3_000, 12, 8, seed=4)

    swans = model.black_swans(today).any(axis=1)
    scores = model.anomaly_score(today)
    order = np.argsort(-scores)
    print(f"{today.num_rows:,} payments today, {(model.predict(today) == -1).sum()} beyond the threshold")
    print(
        f"new receivers: {swans.sum()}, the {swans.sum()} highest scores are theirs: {swans[order[: swans.sum()]].all()}"
    )
    rest = order[swans.sum() : swans.sum() + 12]
    print(f"of the next 12 payments, {(kind[rest] == 1).sum()} are planted odd combinations\n")

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
