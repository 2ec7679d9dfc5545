"""Lecture: Karhunen-Loeve transform and whitening
================================================

Project four points onto their first two principal components, step by step, and then make their covariance the identity.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# **Step 1.** Subtract the mean from the four points.

X = np.array([[1.0, 2, 1], [2, 3, 1], [3, 5, 1], [2, 2, 1]])
mean = X.mean(axis=0)
centred = X - mean
print("mean", mean)

# %%
# **Step 2.** The covariance. The lecture divides by the number of points, N.

covariance = centred.T @ centred / len(X)
print(covariance)

# %%
# **Step 3.** Eigenvalues and eigenvectors, largest first. The third number is constant, so the third eigenvalue is 0.

eigenvalues, V = np.linalg.eigh(covariance)
eigenvalues, V = eigenvalues[::-1], V[:, ::-1]
V = V * np.sign(V[np.abs(V).argmax(axis=0), range(3)])  # the largest weight of an axis is positive
print("eigenvalues", eigenvalues.round(6))
np.testing.assert_allclose(eigenvalues, [1.901388, 0.098612, 0], atol=5e-7)

# %%
# **Step 4.** Project. The lecture rounds 2.235 to 2.23 because it multiplies rounded weights; the exact value is
# 2.235207.

projected = centred @ V[:, :2]
print(projected.round(6))
np.testing.assert_allclose(projected[:, 0], [-1.353533, 0, 2.235207, -0.881675], atol=5e-7)

# %%
# **Step 5.** The share of the variance of one and of two components.

share = np.cumsum(eigenvalues) / eigenvalues.sum()
print("shares", share[:2].round(6))
np.testing.assert_allclose(share[:2], [0.950694, 1], atol=5e-7)

# %%
# The library does all of this in one call. ``ddof=0`` divides by N; without it, ``PCA`` divides by N - 1 as
# scikit-learn does.

pca = gm.PCA(2, ddof=0).fit(X)
np.testing.assert_allclose(pca.transform(X), projected, atol=1e-12)
np.testing.assert_allclose(pca.explained_variance_, eigenvalues[:2])
np.testing.assert_allclose(np.cumsum(pca.explained_variance_ratio_), share[:2])

# %%
# **Whitening.** Divide each projected number by the root of its eigenvalue. The covariance becomes the identity.

white = projected / np.sqrt(eigenvalues[:2])
np.testing.assert_allclose(white.T @ white / len(X), np.eye(2), atol=1e-12)
np.testing.assert_allclose(gm.Whitening(ddof=0).fit_transform(X), white, atol=1e-12)

# %%
# With more points the three steps are easier to see: centre and rotate, then rescale.

rng = np.random.default_rng(0)
cloud = rng.standard_normal((400, 2)) @ [[1.5, 1.0], [0.0, 0.6]] + [3, 2]
steps = {
    "Points": cloud,
    "Rotated: PCA": gm.PCA().fit_transform(cloud),
    "Rescaled: whitening": gm.Whitening().fit_transform(cloud),
}
figure, grid = plt.subplots(2, 2, figsize=(8, 7), layout="constrained")
axes = grid.ravel()
axes[0].scatter(*centred[:, :2].T, zorder=2)
for k in range(2):
    arrow = V[:2, k] * np.sqrt(eigenvalues[k])
    axes[0].annotate("", arrow, (0, 0), arrowprops={"arrowstyle": "->", "color": f"C{k + 1}", "lw": 2})
    axes[0].annotate(f"axis {k + 1}", arrow, xytext=(6, -4), textcoords="offset points", color=f"C{k + 1}")
axes[0].set(title="The exercise, centred", xlabel="$x_1$", ylabel="$x_2$")
for axis, (title, points) in zip(axes[1:], steps.items(), strict=True):
    axis.scatter(*points.T, s=5)
    axis.axhline(0, color="0.8", lw=0.8, zorder=0)
    axis.axvline(0, color="0.8", lw=0.8, zorder=0)
    axis.set(title=title)
for axis in axes:
    axis.set_aspect("equal", adjustable="datalim")
plt.show()
