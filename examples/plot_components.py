"""How many components
===================

The scree of a table, and the rules that say how many components to keep.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Twenty columns of unit variance, from four sources with noise. The fourth source is weak.

rng = np.random.default_rng(0)
n, p = 500, 20
weights = rng.standard_normal((4, p)) * np.array([[1.5], [1.2], [1.0], [0.7]])
X = rng.standard_normal((n, 4)) @ weights + rng.standard_normal((n, p))
X = (X - X.mean(axis=0)) / X.std(axis=0)

# %%
# One pass with folds serves every rule. ``mle`` expects the same noise in every column. Scaling made it unequal here, so that
# rule keeps too many.

moments = gm.collect(X, folds=5)
full = gm.PCA().fit(moments)
rules = {rule: gm.PCA(rule).fit(moments).n_components_ for rule in ("elbow", "parallel", "mle", "cv")}
rules["90% of variance"] = gm.PCA(0.9).fit(moments).n_components_
print(rules)
advice = full.suggest_n_components().to_pandas()
print(advice.to_string(index=False))

# %%
# Parallel analysis compares the variances with those of columns that were shuffled, one by one. Such columns share
# nothing, except by chance. ``PCA`` computes the level by a formula; here the shuffling gives the same number of
# components.

shuffled = [np.linalg.eigvalsh(np.cov(rng.permuted(X, axis=0).T))[::-1] for _ in range(40)]
level = np.quantile(shuffled, 0.95, axis=0)
assert (full.explained_variance_ > level).argmin() == rules["parallel"]
numbers = np.arange(1, p + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(numbers, full.explained_variance_, "o-", label="components")
left.plot(numbers, level, "--", color="C1", label="shuffled columns (95% point)")
left.set(title="Scree", xlabel="component", ylabel="variance", yscale="log", xticks=range(0, 21, 5))
left.legend()
right.plot(numbers, 100 * np.cumsum(full.explained_variance_ratio_), "o-", color="0.5")
for k, count in enumerate(sorted(set(rules.values()))):
    names = ", ".join(rule for rule in rules if rules[rule] == count)
    kept = 100 * full.explained_variance_ratio_[:count].sum()
    right.plot(count, kept, "o", color=f"C{k}", markersize=9, label=f"{count}: {names}")
right.set(
    title="Variance kept, and what the rules choose",
    xlabel="components kept",
    ylabel="% of the variance",
    ylim=(0, 103),
    xticks=range(0, 21, 5),
)
right.legend(loc="lower right")
plt.show()
