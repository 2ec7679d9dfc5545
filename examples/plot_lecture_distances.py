"""Lecture: maps from distances
============================

Find coordinates from distances alone: classical scaling (MDS), and the coordinates that separate classes (MDS-FDA).
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Three classes of points in space. We keep the distances and forget the points.

rng = np.random.default_rng(0)
centres = np.array([[0.0, 0, 0], [0, 2.5, 0], [0, 0, 2.5]])
y = np.repeat([0, 1, 2], 30)
points = centres[y] + rng.standard_normal((90, 3)) * [4.0, 0.5, 0.5]
D = np.sqrt(np.square(points[:, None] - points).sum(axis=2))

# %%
# **Classical scaling.** Square each distance, and centre rows and columns: G = -1/2 C (D o D) C holds the inner
# products of the points. (The square is of each entry; the program that the lecture cites multiplies the matrix by
# itself, which is wrong.) The coordinates are the eigenvectors, times the roots of their eigenvalues.

n = len(D)
C = np.eye(n) - 1 / n
G = -C @ (D * D) @ C / 2
centred = points - points.mean(axis=0)
np.testing.assert_allclose(G, centred @ centred.T, atol=1e-9)
values, vectors = np.linalg.eigh(G)
values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
coordinates = vectors * np.sqrt(values)

model = gm.ClassicalMDS(2).fit(D)
np.testing.assert_allclose(model.eigenvalues_[:2], values)
np.testing.assert_allclose(np.abs(model.embedding_), np.abs(coordinates), atol=1e-7)
print("eigenvalues", values.round(1), "- the third dimension is left out")

# %%
# **MDS-FDA** looks for directions in the space of G that separate the classes. With K the sums of G over each class and
# M = K diag(1 / N) K', it solves M v = rho (G² + r G) v. The text has r = 0, but G² has no inverse, as the rows of G
# add up to zero. So r is a share of the largest eigenvalue.

SHARE = 0.01
H = (y[:, None] == np.arange(3)).astype(float)
K = G @ H
full_values, full_vectors = np.linalg.eigh(G)
kept = full_values > 1e-9 * full_values[-1]
U, lam = full_vectors[:, kept], full_values[kept]
r = SHARE * lam[-1]
# In the eigenvectors of G, scaled so that G² + r G is the identity:
scaled = U / np.sqrt(lam**2 + r * lam)
rho, directions = np.linalg.eigh(scaled.T @ K @ np.diag(1 / H.sum(axis=0)) @ K.T @ scaled)
rho, Z = rho[::-1][:2], (G @ scaled @ directions[:, ::-1])[:, :2]

fda = gm.MDSFDA(2, regularization=SHARE, saturation=None).fit(D, y)
np.testing.assert_allclose(fda.eigenvalues_, rho, rtol=1e-6)
for k in range(2):
    # Equal up to sign and length: the library measures in standard deviations within the classes.
    assert abs(np.corrcoef(fda.embedding_[:, k], Z[:, k])[0, 1]) > 1 - 1e-8
print("share of the scatter between classes, per axis:", rho.round(3))

# %%
# The map by MDS shows the long direction, which says nothing about the classes. The coordinates of MDS-FDA separate
# them. A new object is placed by its distances to the others.

new = np.array([[5.0, 2.5, 0.2], [-6.0, 0.1, 2.2]])
to_new = np.sqrt(np.square(new[:, None] - points).sum(axis=2))
print("classes of the new objects:", fda.predict(to_new))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for axis, embedding, title in (
    (left, coordinates, "Classical scaling"),
    (right, fda.embedding_, "MDS-FDA"),
):
    for c in range(3):
        axis.scatter(*embedding[y == c].T, s=18, label=f"class {c}")
    axis.set(title=title, xlabel="first coordinate", ylabel="second coordinate")
    axis.set_aspect("equal", adjustable="datalim")
right.scatter(*fda.transform(to_new).T, marker="*", s=120, color="black", label="new object")
right.legend()
plt.show()
