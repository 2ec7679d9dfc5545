"""Forecast a chaotic series
=========================

Forecast a chaotic series with an echo state network; then merge an extreme learning machine from two halves.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# The series solves dx/dt = 0.2 x(t - 17) / (1 + x(t - 17)^10) - 0.1 x(t) (Mackey and Glass), by the midpoint rule with
# four steps per unit of time.

LEARNED, AHEAD, TRANSIENT, SUBSTEPS = 1500, 200, 500, 4
h, delay = 1 / SUBSTEPS, 17 * SUBSTEPS
x = np.full(delay + (TRANSIENT + LEARNED + AHEAD) * SUBSTEPS, 1.2)
for t in range(delay, len(x)):
    past = x[t - delay]
    middle = x[t - 1] + h / 2 * (0.2 * past / (1 + past**10) - 0.1 * x[t - 1])
    past = (x[t - delay] + x[t - delay + 1]) / 2
    x[t] = x[t - 1] + h * (0.2 * past / (1 + past**10) - 0.1 * middle)
series = x[delay::SUBSTEPS][TRANSIENT:] - 1.0

# %%
# The reservoir is random and fixed. Only its output is fitted, in one run over the 1,500 known values. The forecast
# then runs on its own predictions.

model = gm.EchoStateRegressor(200, leak=0.3, washout=100).fit(series[:LEARNED])
ahead, truth = np.ravel(model.forecast(AHEAD)), series[LEARNED:]
error = np.sqrt(np.mean(np.square(ahead[:84] - truth[:84]))) / series.std()
print(f"forecast of 84 steps: error {error:.2%} of the series' spread (ridge {model.ridge_:g})")

states = gm.EchoStateFeatures(200, leak=0.3, pool=None).fit([series]).transform([series])[0]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
top.plot(truth, color="0.75", lw=4, label="true values")
top.plot(ahead, "--", color="tab:orange", label="forecast")
top.set(ylabel="value", title="A chaotic series", ylim=(-0.65, 0.6))
top.legend(loc="upper right", ncols=2)
bottom.plot(states[LEARNED:, :5])
bottom.set(xlabel="steps after the last known value", ylabel="state", title="Five of the 200 units")
plt.show()

# %%
# An extreme learning machine is a random hidden layer with a fitted output. Machines with the same hidden weights add
# up: the sum of two halves is the machine of all rows.

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (2000, 2))
y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "opposite signs")
first, second, whole = (
    gm.ELMClassifier(100, scale=3.0).fit(X[at], y[at]) for at in (np.s_[:900], np.s_[900:], np.s_[:])
)
merged = first + second
np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-6)
print(f"signs of a product: {whole.score(X, y):.1%} of the training rows right; the merged machine is the same")

side = np.linspace(-1, 1, 81)
grid = np.column_stack([np.repeat(side, 81), np.tile(side, 81)])
chance = merged.predict_proba(grid)[:, list(merged.classes_).index("same sign")].reshape(81, 81)
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
shown = axes.pcolormesh(side, side, chance.T, cmap="RdBu", vmin=0, vmax=1, shading="nearest")
axes.set(xlabel="first number", ylabel="second number", title="The merged machine", aspect="equal")
figure.colorbar(shown, label="probability of the same sign")
plt.show()
