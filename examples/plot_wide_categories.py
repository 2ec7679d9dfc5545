"""Few features instead of thousands
=================================

Replace 1,200 one-hot columns by one feature that carries all they say about a target.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import gramian as gm

# %%
# Loans with a town, a trade and a shop. Each has many levels with an effect of their own, and most levels have few
# rows.

rng = np.random.default_rng(0)
n, sizes = 12_000, {"town": 600, "trade": 200, "shop": 400}
table, logit = {}, np.full(n, -0.5)
for column, size in sizes.items():
    share = 1 / np.arange(1, size + 1) ** 0.7
    codes = rng.choice(size, n, p=share / share.sum())
    table[column] = [f"{column} {k}" for k in codes]
    logit += rng.normal(0, 0.6, size)[codes]
X = pd.DataFrame(table)
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
train = rng.random(n) < 0.5

# %%
# Two ways to a logistic regression. Both take a moment here. The difference is in what the next step has to handle: one
# number per row, or 1,200.

wide = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=0.3, max_iter=300))
narrow = make_pipeline(gm.MahalanobisFeatures(), LogisticRegression())
scores = {}
for name, model in (("one-hot", wide), ("Mahalanobis feature", narrow)):
    model.fit(X[train], y[train])
    scores[name] = roc_auc_score(y[~train], model.predict_proba(X[~train])[:, 1])
    print(f"{name:20} {model[0].transform(X[:1]).shape[1]:5} columns, AUC of new rows {scores[name]:.3f}")
print(f"the model that made the rows: AUC {roc_auc_score(y[~train], logit[~train]):.3f}")

# %%
# In a Pipeline, ``fit_transform`` is cross-fitted: no row's own target reaches its own feature. The feature of the
# training rows therefore looks like that of new rows. Without cross-fitting the training rows look far better separated
# than new ones will be.

features = gm.MahalanobisFeatures()
fitted = {
    "cross-fitted": np.ravel(features.fit_transform(X[train], y[train])),
    "not cross-fitted": np.ravel(features.transform(X[train])),
    "new rows": np.ravel(features.transform(X[~train])),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharex=True, sharey=True)
for axis, (name, values) in zip(axes, fitted.items(), strict=True):
    target = y[~train] if name == "new rows" else y[train]
    auc = roc_auc_score(target, values)
    auc = max(auc, 1 - auc)
    print(f"{name:17} AUC of the feature {auc:.3f}")
    for c, label in ((0, "repaid"), (1, "not repaid")):
        axis.hist(values[target == c], bins=np.linspace(-4, 4, 50), alpha=0.6, density=True, label=label)
    axis.set(title=f"{name}: AUC {auc:.2f}", xlabel="feature")
axes[0].set(ylabel="density")
axes[0].legend()
plt.show()
