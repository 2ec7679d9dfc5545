"""Lecture: independent components by a neural rule
=================================================

Unmix sources with the nonlinear form of Oja's rule, and see which nonlinearity finds which sources.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Two pairs of sources with unit variance: uniform ones have a kurtosis below 0 (sub-Gaussian), Laplace ones above 0
# (super-Gaussian). Both pairs are mixed by the same matrix.

rng = np.random.default_rng(0)
n = 4000
mixing = np.array([[2.0, 1.0], [1.0, 1.5]])
sources = {
    "uniform": rng.uniform(-np.sqrt(3), np.sqrt(3), (n, 2)),
    "Laplace": rng.laplace(scale=np.sqrt(0.5), size=(n, 2)),
}
for name, S in sources.items():
    print(f"{name}: kurtosis {((S**4).mean(axis=0) / (S**2).mean(axis=0) ** 2 - 3).round(2)}")


# %%
# **The rule.** Centre and whiten the mixtures. Then only a rotation W is missing. Its rule is
# dW = rate · g(y) (x - W' g(y))', with y = W x.


def whiten(X):
    """Return rows with mean zero and the identity as covariance."""
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    return centred @ vectors / np.sqrt(values)


def learn(white, g, rate=0.1, epochs=400):
    """Return the outputs after some epochs of the rule, in batch mode."""
    W = np.array([[0.9, 0.3], [-0.3, 0.9]])
    for _ in range(epochs):
        G = g(white @ W.T)
        W = W + rate * (G.T @ white - G.T @ G @ W) / len(white)
    return white @ W.T


def match(found, S):
    """Return how well each source is found: its largest absolute correlation with an output."""
    return np.abs(np.corrcoef(found.T, S.T)[:2, 2:]).max(axis=0)


rules = {"tanh": np.tanh, "y-tanh": lambda y: y - np.tanh(y)}
found = {}
for name, S in sources.items():
    white = whiten(S @ mixing.T)
    for rule, g in rules.items():
        found[name, rule] = learn(white, g)
        print(f"{name:8} {rule:7} correlation with the sources {match(found[name, rule], S).round(3)}")

# %%
# Each nonlinearity finds one kind of source: tanh the sub-Gaussian ones, y - tanh(y) the super-Gaussian ones. The
# lecture names tanh for all. With ``nonlinearity="auto"`` the library chooses for each unit, by the sign of its
# kurtosis.

for name, right in (("uniform", "tanh"), ("Laplace", "y-tanh")):
    model = gm.NeuralICA(random_state=0).fit(sources[name] @ mixing.T)
    assert set(model.nonlinearities_) == {right}
    assert match(found[name, right], sources[name]).min() > 0.99
    # The same sources as on paper, up to order and sign.
    assert match(model.transform(sources[name] @ mixing.T), found[name, right]).min() > 0.995

# %%
# PCA only makes the numbers uncorrelated: the square stays turned. ICA finds its sides. For Gaussian sources any
# rotation is as good, so they cannot be found; ICA does not "equal PCA" there, as the lecture says.

figure, axes = plt.subplots(2, 4, figsize=(11, 5.8), layout="constrained", sharex="col")
for row, (name, S) in zip(axes, sources.items(), strict=True):
    X = S @ mixing.T
    shown = {
        f"{name} sources, mixed": X,
        "PCA, whitened": gm.Whitening().fit_transform(X),
        "tanh": found[name, "tanh"] / found[name, "tanh"].std(axis=0),
        "y - tanh(y)": found[name, "y-tanh"] / found[name, "y-tanh"].std(axis=0),
    }
    for k, (axis, (title, points)) in enumerate(zip(row, shown.items(), strict=True)):
        axis.scatter(*points.T, s=1, color=f"C{min(k, 2)}")
        if k > 1:
            good = match(points, S).min() > 0.99
            title += ": found" if good else ": not found"
            axis.title.set_color("tab:green" if good else "tab:red")
        axis.set(title=title)
        limit = 8 if k == 0 else 4
        axis.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
plt.show()
