"""Lecture: an echo state network, step by step
=============================================

Run a small reservoir by hand, fit its output by ridge regression, and see how long it remembers.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# A wave of two periods, and a reservoir of 50 units. The library draws the weights once; they are never trained.

t = np.arange(400)
series = np.sin(t / 5) + 0.3 * np.sin(t / 2.1)
features = gm.EchoStateFeatures(50, spectral_radius=0.8, leak=0.5, pool=None).fit([series])
W, V, b = features.reservoir_.toarray(), features.input_weights_, features.bias_
print(f"largest absolute eigenvalue of W: {np.abs(np.linalg.eigvals(W)).max():.3f}")

# %%
# **Step 1.** The state begins at zero. In each step, a part of it is replaced by tanh(W state + V input + b).

states = np.zeros((len(series), 50))
state = np.zeros(50)
for step, value in enumerate(series):
    state = 0.5 * state + 0.5 * np.tanh(W @ state + V @ [value] + b)
    states[step] = state
np.testing.assert_allclose(features.transform([series])[0], states, atol=1e-10)

# %%
# **Step 2.** The output is a ridge regression of the next value on the state. The first 50 steps are left out
# (washout). The columns are scaled to unit variance, and the ridge counts in rows: here a ten-thousandth of one.

RIDGE, WASHOUT, LEARNED = 1e-4, 50, 300
inputs, targets = states[WASHOUT : LEARNED - 1], series[WASHOUT + 1 : LEARNED]
mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
Z = (inputs - mean) / spread
coefficients = np.linalg.solve(Z.T @ Z + RIDGE * np.eye(50), Z.T @ (targets - targets.mean())) / spread

model = gm.EchoStateRegressor(50, spectral_radius=0.8, leak=0.5, washout=WASHOUT, ridge=RIDGE, direct_links=False).fit(
    series[:LEARNED]
)
np.testing.assert_array_equal(model.reservoir_.toarray(), W)
np.testing.assert_allclose(model.coef_, coefficients, rtol=1e-4, atol=1e-6)

# %%
# **Step 3.** To forecast, feed each prediction back as the next input.

state, value, ahead = states[LEARNED - 1], series[LEARNED - 1], []
for _ in range(80):
    value = targets.mean() + (state - mean) @ coefficients
    ahead.append(value)
    state = 0.5 * state + 0.5 * np.tanh(W @ state + V @ [value] + b)
np.testing.assert_allclose(np.ravel(model.forecast(80)), ahead, atol=1e-4)
error = np.sqrt(np.mean((series[LEARNED : LEARNED + 80] - ahead) ** 2)) / series.std()
print(f"80 steps ahead: error {error:.2%} of the series' spread")

# %%
# **Echo state property.** With a spectral radius below 1 the reservoir forgets where it began: two runs that differ in
# their first value alone become equal.

other = series.copy()
other[0] += 5
gaps = {}
for radius in (0.5, 0.8, 0.95):
    reservoir = gm.EchoStateFeatures(50, spectral_radius=radius, pool=None).fit([series])
    first, second = reservoir.transform([series, other])
    gaps[radius] = np.linalg.norm(first - second, axis=1)[:60]

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
left.plot(states[:120, :6])
left.set(title="States of six units", xlabel="step", ylabel="state")
middle.plot(t[LEARNED : LEARNED + 80], series[LEARNED : LEARNED + 80], color="0.75", lw=4, label="true values")
middle.plot(t[LEARNED : LEARNED + 80], ahead, "--", color="C1", label="forecast")
middle.set(title="Forecast on its own predictions", xlabel="step", ylabel="value")
middle.legend(loc="upper right")
for radius, gap in gaps.items():
    right.semilogy(gap, label=f"{radius}")
right.set(title="Difference of two runs", xlabel="step", ylabel="distance of the states")
right.legend(title="spectral radius")
plt.show()
