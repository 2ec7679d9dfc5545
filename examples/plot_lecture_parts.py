"""Lecture: parts and prototypes
=============================

Non-negative matrix factorization writes rows as sums of parts. Vector quantization replaces each row by one prototype.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import gramian as gm

# %%
# Pictures of 6 x 6 pixels. Each shows some of six bars, so that a row is a sum of parts.

rng = np.random.default_rng(0)
bars = np.zeros((6, 6, 6))
for k in range(3):
    bars[k, 2 * k] = 1
    bars[3 + k, :, 2 * k] = 1
bars = bars.reshape(6, 36)
X = (rng.random((300, 6)) < 0.35) * rng.uniform(0.5, 1.5, (300, 6)) @ bars

# %%
# **NMF by hand.** X is about Y D with no negative numbers. Lee and Seung multiply each factor by a ratio that is 1
# where the error cannot get smaller. The error never rises.

start = rng.uniform(0.1, 1, (6, 36))
D, Y = start.copy(), rng.uniform(0.1, 1, (300, 6))
errors = []
for _ in range(300):
    Y *= (X @ D.T) / np.maximum(Y @ D @ D.T, 1e-12)
    D *= (Y.T @ X) / np.maximum(Y.T @ Y @ D, 1e-12)
    errors.append(np.square(X - Y @ D).sum() / 2)
assert (np.diff(errors) <= 1e-9 * errors[0]).all()


def matched(parts):
    """Return how well each bar is found: its largest cosine with a part."""
    lengths = np.linalg.norm(parts, axis=1, keepdims=True) * np.linalg.norm(bars, axis=1)
    return (parts @ bars.T / lengths).max(axis=0)


print("by hand, cosine with each bar:", matched(D).round(3))

# %%
# The library minimises the same error by exact steps, one coefficient after the other, and needs fewer of them.

nmf = gm.NMF(6, init=start, max_iter=300, tol=0).fit(X)
assert (np.diff(nmf.history_) <= 1e-9 * nmf.history_[0]).all()
print("library, cosine with each bar:", matched(nmf.dictionary_).round(3))
assert matched(D).min() > 0.99
assert matched(nmf.dictionary_).min() > 0.99

# %%
# **Vector quantization by hand.** Give each row to its nearest prototype, replace each prototype by the mean of its
# rows, and repeat. This is k-means. The library's prototypes do not move any more when one such step is taken.

digits = load_digits().data[:800]
quantizer = gm.VectorQuantizer(10, random_state=0).fit(digits)
distances = np.square(digits[:, None] - quantizer.dictionary_).sum(axis=2)
nearest = distances.argmin(axis=1)
means = np.stack([digits[nearest == k].mean(axis=0) for k in range(10)])
np.testing.assert_array_equal(quantizer.predict(digits), nearest)
np.testing.assert_allclose(means, quantizer.dictionary_, atol=1e-9)
np.testing.assert_allclose(distances.min(axis=1).sum(), quantizer.inertia_)
codes = quantizer.transform(digits)
assert (codes.sum(axis=1) == 1).all()
assert (codes.max(axis=1) == 1).all()
print(f"ten prototypes leave {quantizer.inertia_ / np.square(digits - digits.mean(axis=0)).sum():.0%} of the variance")

# %%
# Parts of the bars, errors, and prototypes of digits. Of ten prototypes some show the same digit: nobody gave labels.


def tiles(rows, side, columns):
    """Return rows as one picture of small pictures."""
    shown = np.pad(rows.reshape(-1, columns, side, side), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    return shown.transpose(0, 2, 1, 3).reshape(-1, columns * (side + 2))


GREYS = plt.get_cmap("Greys").with_extremes(bad="#c6d4e8")
figure, grid = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
axes = grid.ravel()
for axis, rows, title in (
    (axes[0], X[X.any(axis=1)][:6], "Six of the rows"),
    (axes[1], nmf.dictionary_, "Parts, by NMF"),
):
    axis.imshow(tiles(rows / rows.max(axis=1, keepdims=True), 6, 3), cmap=GREYS)
    axis.set(title=title, xticks=[], yticks=[])
axes[2].semilogy(np.arange(1, 301), errors, label="multiplying, by hand")
axes[2].semilogy(np.arange(1, len(nmf.history_)), np.maximum(nmf.history_[1:], 1e-12), label="exact steps, library")
axes[2].set(title="Error of NMF", xlabel="iteration", xscale="log", ylim=(1e-6, None))
axes[2].legend()
axes[3].imshow(tiles(quantizer.dictionary_, 8, 5), cmap=GREYS)
axes[3].set(title="Prototypes of digits, by vector quantization", xticks=[], yticks=[])
plt.show()
