"""Which columns matter
====================

Select columns: one pass over a table of customers, then every selection criterion is computed from its moments.

The table has columns that predict whether a customer leaves, a copy of one of them, columns of noise, and an identifier that
explains every row but means nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

rng = np.random.default_rng(0)
n = 4000
tenure = rng.gamma(2.0, 12.0, n)
plan = rng.choice(["basic", "plus", "premium"], n, p=[0.5, 0.3, 0.2])
calls = rng.poisson(1.5, n)
leaves = rng.random(n) < 1 / (1 + np.exp(0.06 * tenure - 0.5 * calls - 0.9 * (plan == "basic")))
customers = pd.DataFrame(
    {
        "customer": [f"c{k:05d}" for k in rng.integers(0, 3800, n)],
        "tenure": tenure,
        "tenure_days": np.round(30.4 * tenure + rng.normal(0, 20, n)),
        "plan": plan,
        "support_calls": calls,
        "city": [f"city {k}" for k in rng.integers(0, 300, n)],
        "shoe_size": rng.normal(41, 2.5, n),
        "leaves": np.where(leaves, "yes", "no"),
    }
)

# %%
# Every criterion, one row per column. ``correlation`` alone would rank the identifier first; ``beyond_chance`` does
# not.

moments = gm.collect(customers, folds=5)
table = gm.rank_columns(moments, "leaves")
print(
    table[["column", "correlation", "beyond_chance", "information", "p_value", "explained_by", "forward"]]
    .round(3)
    .to_string()
)

# %%
# Forward selection, with the number of columns chosen by cross-validation: the copy of a column is not selected.

model = gm.ForwardSelector("cv").fit(moments, "leaves")
print(model.path_[["column", "gain", "score", "p_value", "cv_score"]].round(4).to_string())
print("kept:", list(model.get_feature_names_out()))

# %%
# The Lasso with one penalty per source column: all levels of ``plan`` enter together.

lasso = gm.LassoSelector(rule="1se").fit(moments, "leaves")
path = lasso.path_
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for column, part in path.groupby("column"):
    (line,) = left.plot(part["alpha"], part["size"])
    end = part.loc[part["alpha"].idxmin()]
    left.annotate(
        column, (end["alpha"], end["size"]), xytext=(0, 3), textcoords="offset points", color=line.get_color()
    )
left.axvline(lasso.alpha_, color="0.6", linestyle=":")
left.set(xscale="log", xlabel="penalty", ylabel="length of the coefficients", title="Lasso path", ylim=(0, 0.4))
scores = model.n_selected_cv_
right.plot(range(len(scores)), scores, marker="o")
right.set(xlabel="columns", ylabel="held-out score", title="Forward selection")
plt.show()
