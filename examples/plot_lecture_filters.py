"""Lecture: filters
================

Score columns one by one: variance, correlation, mutual information, and relevance less redundancy (mRMR).

Each score is computed from its definition first, and then by the library.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

# %%
# A class, and columns that go with it in different ways: ``width`` shifts with the class; ``width_cm`` is nearly a
# copy; ``shape`` is a category; ``level`` is an integer that is in the middle for one class and at the ends for the
# other; ``noise`` says nothing, and ``unit`` never changes.

rng = np.random.default_rng(0)
n = 2000
y = rng.integers(2, size=n)
width = rng.normal(0, 1, n) + 1.2 * y
frame = pd.DataFrame(
    {
        "width": width,
        "width_cm": 2.54 * width + rng.normal(0, 0.3, n),
        "shape": np.where(rng.random(n) < 0.25 + 0.4 * y, "round", "flat"),
        "level": np.where(y == 1, rng.choice([1, 5], n), rng.choice([2, 3, 4], n)),
        "noise": rng.normal(0, 1, n),
        "unit": 1.0,
    }
)
moments = gm.collect(frame.assign(y=y), targets="y")

# %%
# **Variance.** The mean squared distance to the mean, divided by n. A constant column is dropped.

numbers = ["width", "width_cm", "level", "noise", "unit"]
variance = ((frame[numbers] - frame[numbers].mean()) ** 2).mean()
filtered = gm.VarianceFilter().fit(frame)
found = dict(zip(frame.columns, filtered.scores_, strict=True))
np.testing.assert_allclose([found[name] for name in numbers], variance, atol=1e-12)
print("varies:", list(filtered.get_feature_names_out()))

# %%
# **Pearson's correlation** of each number with the class as 0 and 1. ``correction=None`` gives the textbook's measure;
# by default, what chance gives is taken off. ``level`` has a correlation of almost zero, although it decides the class.

centred = frame[numbers[:4]] - frame[numbers[:4]].mean()
r = (centred.T @ (y - y.mean())) / np.sqrt((centred**2).sum() * ((y - y.mean()) ** 2).sum())
pearson = gm.PearsonFilter(k=3, correction=None).fit(frame.drop(columns="unit"), y)
found = dict(zip(frame.columns, np.abs(pearson.scores_), strict=False))
np.testing.assert_allclose([found[name] for name in numbers[:4]], r.abs(), atol=1e-9)
print("correlation:", {name: round(float(value), 3) for name, value in found.items()})

# %%
# **Mutual information** of two columns of levels: the sum of p(a, b) log(p(a, b) / (p(a) p(b))) over the cells of their
# table. It sees any shape of dependence.


def information(a, b):
    """Return the mutual information of two columns of levels, in nats."""
    joint = pd.crosstab(a, b).to_numpy() / len(a)
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    seen = joint > 0
    return (joint[seen] * np.log(joint[seen] / expected[seen])).sum()


mutual = gm.MutualInformationFilter(k=2, correction=None).fit(moments, "y")
nats = dict(zip(frame.columns, mutual.scores_, strict=True))
for name in ("shape", "level"):
    np.testing.assert_allclose(nats[name], information(frame[name], y))
np.testing.assert_allclose(nats["width"], -np.log(1 - r["width"] ** 2) / 2, atol=1e-9)  # of normal variables
print("information:", {name: round(float(value), 3) for name, value in nats.items()})

# %%
# **mRMR** takes columns one by one: the best by its relevance, less its mean redundancy with those already taken. So
# the copy ``width_cm`` comes last of the useful ones, although it is as relevant as ``width``. The path shows both
# terms.

chosen = gm.MRMRFilter(4).fit(moments, "y")
path = pd.DataFrame(chosen.path_columns_)
np.testing.assert_allclose(path["score"], path["relevance"] - path["redundancy"])
print(path[["column", "relevance", "redundancy", "score"]].round(3).to_string(index=False))

# %%
# A **redundancy filter** drops the copy and names the column that explains it.

redundant = gm.RedundancyFilter(0.9).fit(frame.drop(columns="unit"))
kept = redundant.get_support()
print({name: by for name, by, keep in zip(frame.columns, redundant.explained_by_, kept, strict=False) if not keep})

shown = ["width", "width_cm", "shape", "level", "noise"]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
left.barh(shown, [found[name] for name in shown])
left.set(title="Correlation with the class", xlabel="|r|")
middle.barh(shown, [nats[name] for name in shown], color="C1")
middle.set(title="Mutual information", xlabel="nats")
for axis in (left, middle):
    axis.invert_yaxis()
right.bar(path["column"], path["relevance"], label="relevance", color="C2")
right.bar(path["column"], -path["redundancy"], label="redundancy", color="C3")
right.plot(path["column"], path["score"], "kD", label="score")
right.axhline(0, color="0.5", lw=0.8)
right.set(title="mRMR, in the order taken")
right.legend()
plt.show()
