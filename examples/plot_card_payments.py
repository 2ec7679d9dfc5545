"""Odd card payments
=================

Card payments: find odd payments and new merchants, draw them, and print the reasons.

The detector is fitted to a year of the demo's payments, from moments collected quarter by quarter. The following three months
contain a few planted rows: odd payments, in which each value is common but the combination is not, and new merchants.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm
from gramian.cli.payments import payments

made = payments(75_000, seed=1)
earlier, today = (table.drop(["payment", "fraud"]) for table in (made.earlier, made.later))
kind = np.where(made.new, 2, made.odd.astype(int))

# %%
# The moments of four quarters add up to those of the year. Ten payments in a thousand may be flagged: the threshold comes from
# the rows of the last quarter.

quarters = [earlier.slice(start, 15_000) for start in range(0, earlier.num_rows, 15_000)]
moments = gm.merge([gm.collect(quarter) for quarter in quarters])
model = gm.DensityEmbedding().fit(moments).calibrate(quarters[-1], alerts=10, per_rows=1000)
scores = model.anomaly_score(today)
print(f"{today.num_rows:,} payments, {(model.predict(today) == -1).sum()} above the threshold")

# %%
# A merchant that the year did not contain is a black swan. The highest scores belong to these, and the next ones to the
# planted combinations.

swans = model.black_swans(today).any(axis=1)
order = np.argsort(-scores)
n_odd = int((kind == 1).sum())
rest = order[swans.sum() : swans.sum() + n_odd]
assert swans.sum() == 15
assert swans[order[:15]].all()
print(f"the {swans.sum()} highest scores are those of the {swans.sum()} payments at new merchants")
print(f"of the next {n_odd} payments, {(kind[rest] == 1).sum()} are planted odd combinations")

# %%
# The reasons for some of the highest scores.

chosen = [*order[:2], *rest[:4]]
reasons = model.explain(today.take(chosen), top=2)
for row, share, text in zip(*(reasons[c].to_pylist() for c in ("row", "contribution", "text")), strict=True):
    if text not in ("(what every row has)", "(other)"):
        print(f"payment {chosen[row]:>5}  {share:6.2f}  {text}")

# %%
# The embedding and the scores. Usual rows lie close together and odd rows far out, so the axes on the left are linear
# near 0 and logarithmic beyond. An unseen merchant adds nothing to the embedding, so new merchants sit in its middle;
# the score adds a penalty for each.

names, colors = ["usual", "odd combination", "new merchant"], ["#9aa5b1", "#d1495b", "#00798c"]
embedded = model.transform(today)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for k in range(3):
    left.scatter(
        *embedded[kind == k, :2].T, s=[8, 30, 30][k], c=colors[k], label=names[k], alpha=[0.3, 0.8, 0.8][k], lw=0
    )
ticks = [-100, -10, -1, 0, 1, 10, 100]
left.set(title="Embedding: the two directions of least variance", xlabel="feature 0", ylabel="feature 1")
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
plt.show()
