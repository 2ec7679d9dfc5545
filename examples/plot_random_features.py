"""Random Fourier features
=======================

Approximate a Gaussian kernel by random cosines, and fit a curved boundary with a linear model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import gramian as gm

# %%
# The products of random features estimate the kernel ``exp(-scale² |x - y|² / (2 c))``, with c the number of columns. The
# error falls with the root of their number.

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 2))
squares = np.square(X[:, None] - X).sum(axis=2)
kernel = np.exp(-squares / 4)
counts = [16, 64, 256, 1024, 4096]
errors = []
for count in counts:
    Z = gm.RandomFeatures(count, activation="cos", random_state=0).fit_transform(X)
    errors.append(np.sqrt(np.mean((Z @ Z.T - kernel) ** 2)))
    print(f"{count:5} features: error {errors[-1]:.4f}")
assert errors[-1] < errors[0] / 8

# %%
# Two half moons are not separable by a line. With 200 random features a linear model separates them.

moons, y = make_moons(600, noise=0.15, random_state=0)
side = np.linspace(-1.8, 2.8, 90), np.linspace(-1.3, 1.8, 70)
grid = np.column_stack([np.tile(side[0], 70), np.repeat(side[1], 90)])
models = {
    "Linear model": LogisticRegression(),
    "200 random cosines": make_pipeline(
        gm.RandomFeatures(200, activation="cos", scale=2.0, random_state=0), LogisticRegression(C=10, max_iter=500)
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
axes[0].loglog(counts, errors, "o-", label="measured")
axes[0].loglog(
    counts, errors[0] * np.sqrt(counts[0] / np.array(counts)), "--", color="0.5", label="1 / root of the number"
)
axes[0].set(title="Error of the kernel", xlabel="features", ylabel="root mean squared error")
axes[0].legend()
for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(moons, y)
    print(f"{name}: {model.score(moons, y):.1%} of the rows right")
    chance = model.predict_proba(grid)[:, 1].reshape(70, 90)
    axis.contourf(*side, chance, levels=11, cmap="RdBu", alpha=0.6, vmin=0, vmax=1)
    axis.contour(*side, chance, levels=[0.5], colors="black")
    for c, color in ((0, "C3"), (1, "C0")):
        axis.scatter(*moons[y == c].T, s=6, color=color)
    axis.set(title=f"{name}: {model.score(moons, y):.0%} right", aspect="equal")
plt.show()
