"""Learn while rows arrive
=======================

Online learning: Oja's exercise, components of the digits epoch by epoch, a drifting component, and unmixed sources.

Run ``python examples/plot_online_learning.py [PICTURE.png]``. The data come with scikit-learn or are generated. Without
matplotlib the script prints its figures and draws no picture.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import gramian as gm
from gramian.online.ica import amari_index
from gramian.online.schedules import angle_between


def exercise() -> np.ndarray:
    """Return the weights of the batch form of Oja's rule after each of 15 epochs, from (-1, 0)."""
    points = [[0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]]
    model = gm.HebbianPCA(mode="batch", learning_rate=0.01, n_epochs=15, init=[[-1, 0]]).fit(points)
    return model.history_["weights"][:, 0]


def turning(n_rows: int = 12_000) -> tuple[list[float], list[float]]:
    """Return the angles behind a turning component, for a model with forgetting and one without."""
    rng = np.random.default_rng(0)
    turn = np.linspace(0, np.pi / 2, n_rows)
    X = rng.standard_normal((n_rows, 10))
    first = 5 * rng.standard_normal(n_rows)
    X[:, 0] += first * np.cos(turn)
    X[:, 1] += first * np.sin(turn)
    forgets, remembers = gm.HebbianPCA(forgetting=0.995), gm.HebbianPCA()
    behind: tuple[list[float], list[float]] = ([], [])
    for start in range(0, n_rows, 500):
        now = np.zeros((1, 10))
        now[0, :2] = np.cos(turn[start + 499]), np.sin(turn[start + 499])
        for model, found in zip((forgets, remembers), behind, strict=True):
            found.append(angle_between(model.partial_fit(X[start : start + 500]).weights_, now))
    return behind


def unmixed(n_rows: int = 3000) -> tuple[np.ndarray, np.ndarray, float]:
    """Return mixtures of a uniform and a Laplace source, the sources found, and the Amari index."""
    rng = np.random.default_rng(1)
    mixing = np.array([[2.0, 1.0], [1.0, 1.5]])
    X = np.column_stack([rng.uniform(-1, 1, n_rows), rng.laplace(size=n_rows)]) @ mixing.T
    model = gm.NeuralICA().fit(X)
    return X, model.transform(X), amari_index(model.unmixing_ @ mixing)


def main(picture: str) -> None:
    """Print the figures, and draw them if matplotlib is installed."""
    path = exercise()
    print("Oja's rule, after epochs 1, 2 and 15:", path[1].round(6), path[2].round(6), path[15].round(6))
    digits = gm.HebbianPCA(10, rule="sanger").fit(load_digits().data)
    angles = digits.history_["angle"]
    print(f"digits, ten components: {angles[0]:.1f} degrees off after one epoch, {angles[-1]:.2f} after {len(angles)}")
    forgets, remembers = turning()
    print(f"a component that turns: {forgets[-1]:.1f} degrees behind with forgetting, {remembers[-1]:.1f} without")
    mixed, found, index = unmixed()
    print(f"a uniform and a Laplace source unmixed: Amari index {index:.3f}")
    if find_spec("matplotlib") is None:
        return
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 8))
    axes[0, 0].plot(path[:, 0], path[:, 1], "o-")
    axes[0, 0].set(title="Oja's rule, epoch by epoch", xlabel="w1", ylabel="w2", aspect="equal")
    axes[0, 1].semilogy(np.arange(1, len(angles) + 1), angles)
    axes[0, 1].set(title="digits: degrees to the exact subspace", xlabel="epoch")
    axes[1, 0].plot(forgets, label="forgetting=0.995")
    axes[1, 0].plot(remembers, label="without")
    axes[1, 0].set(title="degrees behind a turning component", xlabel="500 rows")
    axes[1, 0].legend()
    axes[1, 1].scatter(*mixed.T, s=2, label="mixed")
    axes[1, 1].scatter(*found.T, s=2, label="unmixed")
    axes[1, 1].set(title="two sources")
    axes[1, 1].legend()
    figure.tight_layout()
    figure.savefig(picture)
    print(f"wrote {Path(picture).resolve()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "online_learning.png")
