"""Encode columns together
=======================

A target encoder counts what two columns share twice. A joint encoder counts it once.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import TargetEncoder

import gramian as gm

# %%
# Prices of flats in 60 quarters of 12 cities. The quarter decides the city. Only the city, the size and the state of
# the flat have an effect, so the quarter adds nothing to the city.

rng = np.random.default_rng(0)
n = 8000
quarter = rng.integers(60, size=n)
city, state = quarter // 5, rng.integers(4, size=n)
effects = {"city": rng.normal(0, 2, 12), "state": np.array([-1.5, -0.5, 0.5, 1.5])}
price = 10 + effects["city"][city] + effects["state"][state] + rng.normal(0, 1.5, n)
flats = pd.DataFrame({"city": city, "quarter": quarter, "state": state}).astype(str)

# %%
# The target encoder gives each column the mean price of its levels. City and quarter then have almost the same values,
# and their sum counts the city twice. The joint encoder's columns add up to the regression.

alone = TargetEncoder(random_state=0).fit(flats, price).transform(flats)
alone = alone - alone.mean(axis=0)
joint = np.asarray(gm.JointTargetEncoder().fit(flats, price).transform(flats))
centred = price - price.mean()
for name, Z in (("target encoder", alone), ("joint encoder", joint)):
    slope = (Z.sum(axis=1) @ centred) / np.square(Z.sum(axis=1)).sum()
    residual = centred - Z.sum(axis=1)
    print(
        f"{name:15} error of the sum {np.sqrt(np.mean(residual**2)):.3f}, best multiple of the sum {slope:.2f}, "
        f"spread per column {Z.std(axis=0).round(2)}"
    )
print("noise of the prices: 1.5")
slope = (joint.sum(axis=1) @ centred) / np.square(joint.sum(axis=1)).sum()
assert abs(slope - 1) < 0.05

# %%
# The sum of the encoded columns against the effects that made the prices: a line of slope 1 for the joint encoder.

true = effects["city"][city] + effects["state"][state]
true = true - true.mean()
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharex=True, sharey=True)
for axis, Z, name in ((axes[0], alone, "Target encoder"), (axes[1], joint, "Joint target encoder")):
    axis.scatter(true, Z.sum(axis=1), s=4, alpha=0.3)
    axis.plot([-5, 5], [-5, 5], color="black", lw=1, label="equal")
    axis.set(title=name, xlabel="true effect of the columns", ylabel="sum of the encoded columns")
    axis.legend()
plt.show()
