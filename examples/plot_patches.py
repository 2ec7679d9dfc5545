"""Atoms of image patches
======================

Learn atoms of image patches, show the error for different numbers of atoms, and neurons in competition.

Run ``python examples/plot_patches.py [PICTURE.png]``. The images come with scikit-learn. Without matplotlib the script prints
its figures and draws no picture.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

import gramian as gm

SIDE = 8


def patches(n: int) -> np.ndarray:
    """Return grey patches of an image, each minus its mean."""
    image = load_sample_image("china.jpg").mean(axis=2) / 255
    rows = extract_patches_2d(image, (SIDE, SIDE), max_patches=n, random_state=0).reshape(n, -1)
    return rows - rows.mean(axis=1, keepdims=True)


def main(picture: Path) -> None:
    """Learn atoms, print the unexplained variance, and draw the atoms."""
    rows = patches(6000)
    train, test = rows[:5000], rows[5000:]
    learner = gm.DictionaryLearner(64, n_nonzero=4, n_epochs=5).fit(train)
    atoms = learner.dictionary_
    share = np.square(learner.reconstruction_error(test)).sum() / np.square(test).sum()
    print(f"64 atoms of {len(train):,} patches; 4 of them leave {share:.1%} of the variance of new patches unexplained")

    counts = (1, 2, 4, 8, 16)
    left = []
    for count in counts:
        coder = gm.SparseCoder(atoms, n_nonzero=count)
        left.append(float(np.square(test - coder.fit_transform(test) @ atoms).sum() / np.square(test).sum()))
        print(f"{count:3} atoms per patch: {left[-1]:6.1%} unexplained")

    loud = test[np.square(test).sum(axis=1).argmax()]
    penalty = 0.2 * float(np.abs(atoms @ loud).max())
    coder = gm.SparseCoder(atoms, "lca", penalty=penalty)
    path = coder.trajectory(loud[None], 60)[0]
    print(
        f"{np.count_nonzero(path, axis=1).max()} neurons take part in the competition, {np.count_nonzero(path[-1])} win it"
    )

    if find_spec("matplotlib") is None:
        print("no picture without matplotlib")
        return
    draw(atoms, counts, left, path, picture)
    print(f"drew {picture}")


def draw(atoms: np.ndarray, counts: tuple[int, ...], left: list[float], path: np.ndarray, picture: Path) -> None:
    """Draw the atoms, the error for each number of atoms, and activities over time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (first, second, third) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    tiles = atoms.reshape(8, 8, SIDE, SIDE)
    tiles = tiles / np.abs(tiles).max(axis=(2, 3), keepdims=True)
    sheet = np.pad(tiles, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=1.0).transpose(0, 2, 1, 3)
    first.imshow(sheet.reshape(8 * (SIDE + 1), -1), cmap="gray", vmin=-1, vmax=1)
    first.set(title="64 atoms", xticks=[], yticks=[])
    second.plot(counts, left, marker="o")
    second.set(
        title="Unexplained variance",
        xlabel="atoms per patch",
        ylabel="share of the variance",
        xscale="log",
        xticks=counts,
    )
    second.set_xticklabels([str(count) for count in counts])
    third.plot(path)
    third.set(title="Neurons in competition", xlabel="step", ylabel="activity")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("patches.png"))
