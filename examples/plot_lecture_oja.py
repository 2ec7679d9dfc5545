"""Lecture: Hebb's, Oja's and Sanger's rules
==========================================

Learn principal components with neurons: two epochs of Oja's rule on paper, and then the rules for one and for several.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Six points, which are centred first.

X = np.array([[0.0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]])
centred = X - X.mean(axis=0)
rate, start = 0.01, np.array([-1.0, 0.0])

# %%
# **Oja's rule in batch mode.** A neuron has the output y = w · x. Each point asks for the change rate · y (x - y w).
# The changes of one epoch are added up before the weights change. The lecture rounds each row; the exact weights after
# the second epoch are (-0.854344, -0.495973). Points 3 and 4 give equal changes, because the rule does not change when
# x becomes -x.

w, path = start, [start]
for epoch in (1, 2):
    y = centred @ w
    changes = rate * y[:, None] * (centred - np.outer(y, w))
    w = w + changes.sum(axis=0)
    path.append(w)
    print(f"epoch {epoch}: y {y.round(2)}, change {changes.sum(axis=0).round(6)}, weights {w.round(6)}")
np.testing.assert_allclose(path[1], [-1, -0.34], atol=5e-7)
np.testing.assert_allclose(path[2], [-0.854344, -0.495973], atol=5e-7)

# %%
# The library's model has the same weights after each epoch. In the end they are the first principal component, up to
# its sign.

settings = {"mode": "batch", "learning_rate": rate, "init": [start]}
oja = gm.HebbianPCA(1, rule="oja", n_epochs=15, **settings).fit(X)
np.testing.assert_allclose(oja.history_["weights"][:3, 0], path, atol=1e-12)
limit = gm.HebbianPCA(1, rule="oja", n_epochs=500, **settings).fit(X).weights_[0]
np.testing.assert_allclose(limit, [-0.830888, -0.55644], atol=5e-7)
np.testing.assert_allclose(np.abs(limit), np.abs(gm.PCA(1).fit(X).components_[0]), atol=1e-9)

# %%
# **Hebb's rule** leaves out the term - y w, and the weights grow without bound.

hebb = gm.HebbianPCA(1, rule="hebb", n_epochs=5, **settings).fit(X)
print("length of Hebb's weights after each epoch:", hebb.history_["norms"].ravel().round(1))

# %%
# **Sanger's rule** learns several components. Unit i sees what the units up to i have left over:
# dw_i = rate · y_i (x - sum of y_j w_j over j up to i).

rng = np.random.default_rng(0)
rows = rng.standard_normal((200, 3)) * [3.0, 2.0, 1.0]
rows = rows - rows.mean(axis=0)
first = np.array([[0.6, 0.6, 0.5], [0.5, -0.6, 0.6]])
W, eta = first.copy(), 1e-4
for _ in range(60):
    Y = rows @ W.T
    W = W + eta * (Y.T @ rows - np.tril(Y.T @ Y) @ W)
sanger = gm.HebbianPCA(2, rule="sanger", mode="batch", learning_rate=eta, n_epochs=60, init=first).fit(rows)
np.testing.assert_allclose(sanger.weights_, W, atol=1e-9)

axes_of_pca = gm.PCA(2).fit(rows).components_
history = sanger.history_["weights"]
cosines = np.abs(np.einsum("tkp,kp->tk", history, axes_of_pca)) / np.linalg.norm(history, axis=2)
degrees = np.degrees(np.arccos(np.minimum(cosines, 1)))
print("degrees to the two components at the end:", degrees[-1].round(2))

# %%
# The path of Oja's weights, the lengths under both rules, and the way of Sanger's two units to the components.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
trace = oja.history_["weights"][:, 0]
left.plot(*trace.T, "o-", markersize=4)
for k, (dx, dy) in enumerate([(8, -3), (6, 4), (4, 6)]):
    left.annotate(f"epoch {k}", trace[k], xytext=(dx, dy), textcoords="offset points")
left.plot(*limit, "k*", markersize=11, label="first component")
left.set(title="Oja's weights", xlabel="$w_1$", ylabel="$w_2$", xlim=(-1.02, -0.78), ylim=(-0.65, 0.05))
left.legend(loc="upper right")
middle.semilogy(hebb.history_["norms"].ravel(), "o-", label="Hebb")
middle.semilogy(oja.history_["norms"].ravel()[:6], "o-", label="Oja")
middle.set(title="Length of the weights", xlabel="epoch")
middle.legend()
right.plot(degrees, label=["unit 1", "unit 2"])
right.set(title="Sanger's units", xlabel="epoch", ylabel="degrees to its component", ylim=(0, None))
right.legend()
plt.show()
