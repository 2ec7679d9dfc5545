"""Learn while rows arrive
=======================

Online learning: components of the digits epoch by epoch, a component that turns, and a model that continues with new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import gramian as gm

# %%
# Ten components of the digits by Sanger's rule. The fit also computes the exact components, and records the angle to
# them after each epoch.

digits = gm.HebbianPCA(10, rule="sanger").fit(load_digits().data)
angles = digits.history_["angle"]
print(f"{angles[0]:.1f} degrees off after one epoch, {angles[-1]:.2f} after {len(angles)}")

# %%
# The first component of these rows turns by 90 degrees. A model that forgets follows it; a model that remembers
# everything falls behind. Both read 500 rows at a time.

rng = np.random.default_rng(0)
n = 12_000
turn = np.linspace(0, np.pi / 2, n)
X = rng.standard_normal((n, 10))
first = 5 * rng.standard_normal(n)
X[:, 0] += first * np.cos(turn)
X[:, 1] += first * np.sin(turn)
models = {"forgetting=0.995": gm.HebbianPCA(forgetting=0.995), "no forgetting": gm.HebbianPCA()}
behind = {name: [] for name in models}
ends = range(500, n + 1, 500)
for end in ends:
    now = np.zeros(10)
    now[:2] = np.cos(turn[end - 1]), np.sin(turn[end - 1])
    for name, model in models.items():
        weights = model.partial_fit(X[end - 500 : end]).weights_[0]
        cosine = abs(weights @ now) / np.linalg.norm(weights)
        behind[name].append(np.degrees(np.arccos(min(cosine, 1.0))))
for name, degrees in behind.items():
    print(f"{name}: {degrees[-1]:.1f} degrees behind at the end")

# %%
# Both in pictures.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.semilogy(np.arange(1, len(angles) + 1), angles, marker="o", markersize=4)
left.set(title="Digits: ten components", xlabel="epoch", ylabel="degrees to the exact subspace", xticks=range(0, 21, 5))
for name, degrees in behind.items():
    right.plot(ends, degrees, marker="o", markersize=4, label=name)
right.set(title="A component that turns", xlabel="rows read", ylabel="degrees behind", ylim=(0, None))
right.legend()
plt.show()
