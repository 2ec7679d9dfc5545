"""Exercises of a lecture
======================

Exercises of a lecture on feature extraction: one call each, compared with the results on paper.

The last line of the output says how many results are equal.
"""

import numpy as np

import gramian as gm

equal = []


def compare(exercise: str, found, on_paper) -> None:
    """Print a result, and whether it equals the result on paper, which has six decimals."""
    found = np.asarray(found, dtype=float)
    equal.append(np.allclose(found, on_paper, rtol=0, atol=5e-7))
    print(f"{exercise:34} {np.array2string(found.round(6), separator=', '):44} {'equal' if equal[-1] else on_paper}")


# Karhunen-Loeve: the covariance is divided by N. The sign of an axis makes its largest weight positive.
X = np.array([[1.0, 2, 1], [2, 3, 1], [3, 5, 1], [2, 2, 1]])
pca = gm.PCA(2, ddof=0).fit(X)
compare("mean", pca.mean_, [2, 3, 1])
compare("variances", pca.explained_variance_, [1.901388, 0.098612])
compare("first axis", pca.components_[0], [0.471858, 0.881675, 0])
compare("first feature of each point", pca.transform(X)[:, 0], [-1.353533, 0, 2.235207, -0.881675])
compare("share of the first", pca.explained_variance_ratio_[0], 0.950694)

# Oja's rule in batch mode: points are centred, and weights change once per epoch.
X = np.array([[0.0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]])
settings = {"rule": "oja", "mode": "batch", "learning_rate": 0.01, "init": [[-1, 0]]}
compare("Oja, one epoch", gm.HebbianPCA(1, n_epochs=1, **settings).fit(X).weights_[0], [-1, -0.34])
compare("Oja, two epochs", gm.HebbianPCA(1, n_epochs=2, **settings).fit(X).weights_[0], [-0.854344, -0.495973])
compare("Oja, in the end", gm.HebbianPCA(1, n_epochs=500, **settings).fit(X).weights_[0], [-0.830888, -0.55644])

# Fisher's criterion: the squared distance of the projected means, divided by the sum of squares within classes.
X, y = np.array([[1.0, 2], [2, 1], [3, 3], [6, 5], [7, 8]]), [1, 1, 1, 2, 2]
compare("criterion of (-1, 5)", gm.fisher_criterion(X, y, [-1, 5]), 2.314286)
compare("criterion of (2, -3)", gm.fisher_criterion(X, y, [2, -3]), 0.525974)
best = gm.FisherDiscriminant().fit(X, y)
axis = best.scalings_[:, 0]
compare("best axis", np.abs(axis) / np.linalg.norm(axis), [1, 0])
compare("its criterion", best.criterion_, [8.1])

# A random hidden layer of step units with given weights. On paper the bias comes first; here it is the last row.
V = np.array(
    [
        [-0.62, 0.44, -0.91],
        [-0.81, -0.09, 0.02],
        [0.74, -0.91, -0.6],
        [-0.82, -0.92, 0.71],
        [-0.26, 0.68, 0.15],
        [0.8, -0.94, -0.83],
    ]
)
X, z = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]), [1, 0, -1, 0]
elm = gm.ELMRegressor(6, activation="step", hidden_weights=np.vstack([V[:, 1:].T, V[:, 0]]), ridge=0).fit(X, z)
hidden = elm.hidden_layer(X)
compare("hidden units of (0, 0)", hidden[0], [0, 0, 1, 0, 0, 1])
compare("output with the weights on paper", hidden @ [0, 0, -1, 0, 0, 2], z)
compare("output with fitted weights", elm.predict(X), z)

# Which of three codes is best? By the error alone, B. If a coefficient costs more than 0.02, C.
atoms = np.array([[-0.6, -0.45, -0.5, 0.9, -0.5, 0.1, 0.5, 0.55], [0.4, 0.55, 0.5, -0.1, -0.5, 0.9, 0.5, 0.45]]).T
unit = np.eye(8)
codes = {"A": unit[0] + unit[4], "B": unit[2] - unit[6], "C": -unit[3]}
x = [-0.95, -0.05]
compare("errors of A, B and C", gm.best_code(x, atoms, codes).errors, [0.158114, 0.070711, 0.158114])
for penalty, on_paper in ((None, "B"), (0.01, "B"), (0.03, "C")):
    choice = gm.best_code(x, atoms, codes, penalty=penalty)
    equal.append(choice.best == on_paper)
    print(f"penalty {penalty}: {choice.reason}")

print(f"{sum(equal)} of {len(equal)} results are equal")
assert all(equal)
