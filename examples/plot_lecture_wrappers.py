"""Lecture: forward selection, elimination, Lasso
==============================================

Choose columns for a model: one in at a time, one out at a time, or with a penalty on the coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Eight columns; three of them make the target. Column 1 is close to column 0, so that both look useful by themselves.

rng = np.random.default_rng(1)
n, p = 400, 8
X = rng.standard_normal((n, p))
X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
y = 2 * X[:, 0] - 1.5 * X[:, 3] + 0.5 * X[:, 5] + rng.normal(0, 1.5, n)


def explained(columns):
    """Return the share of the variance that least squares on some columns explains."""
    A = np.column_stack([np.ones(n), X[:, columns]])
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return 1 - residual @ residual / np.square(y - y.mean()).sum()


# %%
# **Forward.** In each step, try every column that is left, and take the one that explains most together with those
# inside.

inside, forward_r2 = [], []
for _ in range(p):
    inside.append(max(set(range(p)) - set(inside), key=lambda j: explained([*inside, j])))
    forward_r2.append(explained(inside))
print("in: ", inside, np.round(forward_r2, 4))
forward = gm.ForwardSelector(p).fit(X, y)
assert forward.path_["column"].to_pylist() == [f"x{j}" for j in inside]
np.testing.assert_allclose(forward.path_["r2"].to_numpy(), forward_r2, atol=1e-9)

# %%
# **Backward.** Begin with all columns, and leave out the one whose loss is smallest. ``r2`` is the share before it
# leaves.

inside, out, backward_r2 = list(range(p)), [], []
while len(inside) > 1:
    backward_r2.append(explained(inside))
    out.append(max(inside, key=lambda j: explained([k for k in inside if k != j])))
    inside.remove(out[-1])
print("out:", out, "stays:", inside)
backward = gm.RecursiveEliminator(1).fit(X, y)
assert backward.path_["column"].to_pylist() == [f"x{j}" for j in out]
np.testing.assert_allclose(backward.path_["r2"].to_numpy(), backward_r2, atol=1e-9)

# %%
# **Lasso.** Minimise the squared error / 2n + alpha · the sum of absolute coefficients. One coefficient at a time has a
# closed form: least squares on what the others leave over, pulled towards zero by alpha, and zero if it is smaller.
# Repeat over all.


def lasso(alpha, sweeps=200):
    """Return the coefficients of the Lasso by coordinate descent."""
    Z, left, w = X - X.mean(axis=0), y - y.mean(), np.zeros(p)
    for _ in range(sweeps):
        for j in range(p):
            pull = Z[:, j] @ left / n + w[j] * (Z[:, j] @ Z[:, j]) / n
            new = np.sign(pull) * max(abs(pull) - alpha, 0) / (Z[:, j] @ Z[:, j] / n)
            left = left - (new - w[j]) * Z[:, j]
            w[j] = new
    return w


for alpha in (0.1, 0.5):
    model = gm.LassoSelector(alpha=alpha, scale=False).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], lasso(alpha), atol=1e-6)
    print(f"alpha {alpha}: columns {model.get_support(indices=True).tolist()}")

# %%
# How many columns? Held-out rows decide. Both methods find the three columns of the target.

model = gm.ForwardSelector("cv").fit(X, y)
chosen = gm.LassoSelector(rule="1se", scale=False).fit(X, y)
for selector in (model, chosen):
    assert selector.get_support(indices=True).tolist() == [0, 3, 5]

alphas = np.geomspace(2.5, 0.01, 40)
path = np.array([lasso(alpha, 60) for alpha in alphas])
figure, (first, second, third) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
first.plot(range(1, p + 1), forward_r2, "o-", label="forward")
first.plot(range(p, 1, -1), backward_r2, "s", markersize=10, fillstyle="none", label="backward")
first.set(title="Share explained", xlabel="columns in the model", ylabel="R²", xticks=range(1, p + 1))
first.legend()
second.plot(range(len(model.n_selected_cv_)), model.n_selected_cv_, "o-")
second.set(title="Forward selection, held out", xlabel="columns in the model", ylabel="R² of left-out rows")
for j in range(p):
    useful = j in (0, 3, 5)
    third.plot(alphas, path[:, j], color=f"C{j}" if useful else "0.7")
    if useful:
        third.text(0.011, path[-1, j] + 0.08, f"column {j}", color=f"C{j}")
third.axvline(chosen.alpha_, color="0.4", ls=":")
third.annotate(
    "chosen penalty", (chosen.alpha_, -1.9), xytext=(-5, 0), textcoords="offset points", ha="right", color="0.4"
)
third.set(title="Lasso path", xlabel="penalty alpha", ylabel="coefficient", xscale="log", ylim=(-2.1, 2.7))
plt.show()
