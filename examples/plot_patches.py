"""Atoms of image patches
======================

Learn atoms of image patches, show the error for different numbers of atoms, and neurons in competition.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

import gramian as gm

# %%
# Grey patches of 8 x 8 pixels of a photograph that comes with scikit-learn, each minus its mean.

SIDE = 8
image = load_sample_image("china.jpg").mean(axis=2) / 255
rows = extract_patches_2d(image, (SIDE, SIDE), max_patches=3000, random_state=0).reshape(3000, -1)
rows -= rows.mean(axis=1, keepdims=True)
train, test = rows[:2400], rows[2400:]

# %%
# Learn 64 atoms, four per patch. Then code new patches with more and fewer of them.

learner = gm.DictionaryLearner(64, n_nonzero=4, n_epochs=5).fit(train)
atoms = learner.dictionary_
numbers = (1, 2, 4, 8, 16)
left_over = []
for number in numbers:
    codes = gm.SparseCoder(atoms, n_nonzero=number).fit_transform(test)
    left_over.append(np.square(test - codes @ atoms).sum() / np.square(test).sum())
    print(f"{number:3} atoms per patch: {left_over[-1]:6.1%} of the variance unexplained")

# %%
# The same code by neurons: each inhibits those with similar atoms, and few stay active.

loud = test[np.square(test).sum(axis=1).argmax()]
coder = gm.SparseCoder(atoms, "lca", penalty=0.2 * np.abs(atoms @ loud).max())
path = coder.trajectory(loud[None], 60)[0]
print(f"{np.count_nonzero(path, axis=1).max()} neurons take part, {np.count_nonzero(path[-1])} stay active")

# %%
# The atoms are edges and stripes of all directions.

figure, (first, second, third) = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
tiles = atoms.reshape(8, 8, SIDE, SIDE)
tiles = tiles / np.abs(tiles).max(axis=(2, 3), keepdims=True)
sheet = np.pad(tiles, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=1.0).transpose(0, 2, 1, 3)
first.imshow(sheet.reshape(8 * (SIDE + 1), -1), cmap="gray", vmin=-1, vmax=1)
first.set(title="64 atoms", xticks=[], yticks=[])
second.plot(numbers, 100 * np.array(left_over), marker="o")
second.set(
    title="Error of new patches", xlabel="atoms per patch", ylabel="% of the variance unexplained", ylim=(0, None)
)
second.set_xscale("log", base=2)
second.set_xticks(numbers, [str(number) for number in numbers])
third.plot(path)
third.set(title="Neurons in competition", xlabel="step", ylabel="activity")
plt.show()
