"""Lecture: an extreme learning machine with given weights
========================================================

Six random step units, and an output that is a sum of them: the response to four inputs, and how such an output is fitted.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# One row per hidden unit. The first number is the weight of the bias.

V = np.array(
    [
        [-0.62, 0.44, -0.91],
        [-0.81, -0.09, 0.02],
        [0.74, -0.91, -0.60],
        [-0.82, -0.92, 0.71],
        [-0.26, 0.68, 0.15],
        [0.80, -0.94, -0.83],
    ]
)
w = np.array([0.0, 0, 0, -1, 0, 0, 2])  # the first weight is that of the bias
X = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])

# %%
# **Step 1.** Put a 1 before each input, and multiply. **Step 2.** A unit is 1 where the result is not negative, else 0.

net = np.column_stack([np.ones(4), X]) @ V.T
hidden = (net >= 0).astype(float)
print(net.round(2))
print(hidden.astype(int))

# %%
# **Step 3.** Put a 1 before the units, and multiply with w.

z = np.column_stack([np.ones(4), hidden]) @ w
print("response", z)
np.testing.assert_array_equal(z, [1, 0, -1, 0])

# %%
# The library takes the same weights, one column per unit and the bias in the last row. ``hidden_layer`` returns the
# units. The output weights are not given but fitted, by least squares. With the lecture's responses as the target, the
# fit meets them.

weights = np.vstack([V[:, 1:].T, V[:, 0]])
machine = gm.ELMRegressor(6, activation="step", hidden_weights=weights, ridge=0).fit(X, z)
np.testing.assert_array_equal(machine.hidden_layer(X), hidden)
np.testing.assert_allclose(machine.predict(X), z, atol=1e-9)

# %%
# **From paper to practice.** With 200 random units in place of six, the same two steps learn a ring. The hidden weights
# stay random; the output weights are one ridge regression.

rng = np.random.default_rng(0)
points = rng.uniform(-1, 1, (1500, 2))
inside = np.abs(np.hypot(*points.T) - 0.6) < 0.2
side = np.linspace(-1, 1, 61)
grid = np.column_stack([np.tile(side, 61), np.repeat(side, 61)])
ring = {count: gm.ELMClassifier(count, scale=3.0).fit(points, inside) for count in (6, 200)}
for count, model in ring.items():
    print(
        f"{count} units: {model.score(points, inside):.1%} of the points right; {np.mean(~inside):.1%} are outside the ring"
    )

# %%
# On the left, the response of the exercise's machine: each step unit is a line in the plane.

edges = np.linspace(-0.25, 1.25, 301)
plane = np.column_stack([np.ones(301**2), np.tile(edges, 301), np.repeat(edges, 301)])
response = ((plane @ V.T >= 0) @ w[1:]).reshape(301, 301)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
shown = axes[0].pcolormesh(edges, edges, response, cmap="RdBu", vmin=-2.5, vmax=2.5)
for point, value in zip(X, z, strict=True):
    axes[0].plot(*point, "ko", markersize=4)
    axes[0].annotate(f"{value:g}", point, xytext=(7, 5), textcoords="offset points", fontsize=12)
axes[0].set(title="Response of the exercise", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
figure.colorbar(shown, ax=axes[0], ticks=[-1, 0, 1, 2], shrink=0.7)
for axis, (count, model) in zip(axes[1:], ring.items(), strict=True):
    chance = model.predict_proba(grid)[:, 1].reshape(61, 61)
    shown = axis.pcolormesh(side, side, chance, cmap="RdBu", vmin=0, vmax=1)
    for radius in (0.4, 0.8):
        axis.add_patch(plt.Circle((0, 0), radius, fill=False, ls="--"))
    axis.set(title=f"A ring, {count} tanh units", aspect="equal")
figure.colorbar(shown, ax=axes[2], label="probability", shrink=0.7)
plt.show()
