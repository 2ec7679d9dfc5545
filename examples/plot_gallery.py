"""Every plot on one sheet
=======================

One picture of every estimator that can draw one: `plot()` on small made-up data, on one sheet.

python examples/plot_gallery.py docs/plots.png
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import gramian as gm

warnings.simplefilter("ignore")  # a few steps of learning need not converge to be seen
rng = np.random.default_rng(0)
n = 400

# Orders: returns depend on the region and the number of items.
region = rng.choice(["north", "south", "west"], n)
items = rng.poisson(3, n) + rng.random(n)
chance = np.where(region == "north", 0.6, 0.2) + 0.05 * (items > 4)
orders = pd.DataFrame(
    {
        "region": region,
        "items": items,
        "weekday": rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri"], n),
        "price": 20 + 8 * items + 5 * rng.normal(size=n),
        "returned": np.where(rng.random(n) < chance, "yes", "no"),
    }
)
X, returned = orders.drop(columns="returned"), orders["returned"]
features, price = orders[["region", "items", "weekday"]], orders["price"]
dear = np.where(price > price.median(), "dear", "cheap")
# A curve that is turned over in one region.
many = pd.DataFrame({"region": rng.choice(["north", "south", "west"], 10 * n), "items": 8 * rng.random(10 * n)})
curved = np.square(many["items"] - 4) * np.where(many["region"] == "north", -1, 1) + rng.normal(size=10 * n)
additive = gm.AdditiveRegressor(bins={"items": 8}, crosses=[("region", "items")]).fit(many, curved)
moments = gm.collect(orders, targets="returned", folds=5)

# Numbers with three directions, and signals that were mixed.
numbers = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(n, 8))
t = np.linspace(0, 30, n)
signals = np.column_stack([np.sign(np.sin(3 * t)), np.sin(5 * t), t % 1.5]) @ rng.normal(size=(3, 3))
patches = np.array([np.roll(np.exp(-0.5 * (np.arange(24) - 6) ** 2), k) for k in rng.integers(0, 4, n) * 4])
patches = patches * rng.normal(size=(n, 1)) + 0.05 * rng.normal(size=(n, 24))
points = np.concatenate([rng.normal(size=(100, 2)) + centre for centre in ((0, 0), (5, 1), (2, 5))])
wave = np.sin(np.arange(900) / 8) + 0.3 * np.sin(np.arange(900) / 3)
words = ["haus", "maus", "laus", "hase", "vase", "nase", "house", "mouse", "louse", "horse", "noise", "voice"]

pictures = {
    "PCA: scree": lambda ax: gm.PCA("parallel").fit(numbers).plot(ax=ax),
    "PCA: loadings": lambda ax: gm.PCA(3).fit(X).plot(kind="loadings", ax=ax),
    "PCA: biplot": lambda ax: gm.PCA(2).fit(X).plot(X, kind="biplot", ax=ax),
    "Whitening": lambda ax: gm.Whitening().fit(numbers).plot(ax=ax),
    "FisherDiscriminant": lambda ax: gm.FisherDiscriminant().fit(X, returned).plot(X, returned, ax=ax),
    "FisherDiscriminant: importance": lambda ax: (
        gm.FisherDiscriminant().fit(moments, y="returned").plot(kind="importance", ax=ax)
    ),
    "JointTargetEncoder": lambda ax: gm.JointTargetEncoder().fit(moments, y="returned").plot(ax=ax),
    "Ridge: coefficients": lambda ax: gm.Ridge(alpha=0).fit(features, price).plot(ax=ax),
    "Ridge: predictions": lambda ax: gm.Ridge().fit(features, price).plot(features, price, kind="predictions", ax=ax),
    "LogisticRegression": lambda ax: gm.LogisticRegression().fit(X, returned).plot(ax=ax),
    "GLM: coefficients": lambda ax: gm.GLM("poisson").fit(features, np.rint(price)).plot(ax=ax),
    "AdditiveRegressor: curve": lambda ax: additive.plot("items", ax=ax),
    "AdditiveRegressor: cross": lambda ax: additive.plot("region & items", ax=ax),
    "DensityEmbedding: reasons": lambda ax: gm.DensityEmbedding().fit(X).plot(X, ax=ax),
    "DensityEmbedding: scores": lambda ax: gm.DensityEmbedding().fit(X).plot(X, kind="scores", ax=ax),
    "MutualInformationFilter": lambda ax: gm.MutualInformationFilter(k=2).fit(moments, y="returned").plot(ax=ax),
    "LassoSelector: path": lambda ax: gm.LassoSelector(k=2).fit(features, price).plot(kind="path", ax=ax),
    "ForwardSelector: path": lambda ax: gm.ForwardSelector(k=2).fit(features, price).plot(kind="path", ax=ax),
    "HebbianPCA: learning": lambda ax: (
        gm.HebbianPCA(1, rule="oja", mode="online", learning_rate=0.002, n_epochs=30, random_state=1)
        .fit(numbers)
        .plot(ax=ax)
    ),
    "LinearAutoencoder: learning": lambda ax: gm.LinearAutoencoder(2, random_state=0).fit(numbers).plot(ax=ax),
    "NeuralICA: sources": lambda ax: gm.NeuralICA(3, random_state=0).fit(signals).plot(signals, ax=ax),
    "DictionaryLearner: atoms": lambda ax: gm.DictionaryLearner(4, random_state=0).fit(patches).plot(ax=ax),
    "NMF: learning": lambda ax: gm.NMF(4, random_state=0).fit(np.abs(patches)).plot(kind="learning", ax=ax),
    "SparseCoder: atoms": lambda ax: (
        gm.SparseCoder(patches[:3] / np.linalg.norm(patches[:3], axis=1)[:, None]).fit(patches).plot(ax=ax)
    ),
    "VectorQuantizer: cells": lambda ax: gm.VectorQuantizer(6, random_state=0).fit(points).plot(points, ax=ax),
    "EchoStateRegressor: forecast": lambda ax: (
        gm.EchoStateRegressor(100, random_state=0).fit(wave[:700]).plot(wave[700:], ax=ax)
    ),
    "EchoStateFeatures: states": lambda ax: gm.EchoStateFeatures(50, random_state=0).fit([wave]).plot([wave], ax=ax),
    "LiquidStateFeatures: spikes": lambda ax: (
        gm.LiquidStateFeatures(80, random_state=0).fit([wave]).plot([wave], ax=ax)
    ),
    "ELMRegressor: predictions": lambda ax: (
        gm.ELMRegressor(40, random_state=0).fit(features, price).plot(features, price, ax=ax)
    ),
    "ELMClassifier: predictions": lambda ax: (
        gm.ELMClassifier(40, random_state=0).fit(features, dear).plot(features, dear, ax=ax)
    ),
    "ClassicalMDS": lambda ax: gm.ClassicalMDS(metric="euclidean").fit(points).plot(np.repeat(list("abc"), 100), ax=ax),
    "MDSFDA": lambda ax: gm.MDSFDA(metric="levenshtein").fit(words, ["de"] * 6 + ["en"] * 6).plot(ax=ax),
    "TSNEMap": lambda ax: gm.TSNEMap(random_state=0).fit(points).plot(np.repeat(list("abc"), 100), ax=ax),
}
if len(sys.argv) > 1:  # compiling UMAP takes longer than all other pictures
    pictures["UMAPMap"] = lambda ax: gm.UMAPMap(random_state=0).fit(points).plot(np.repeat(list("abc"), 100), ax=ax)
columns = 4
rows = -(-len(pictures) // columns)
figure, axes = plt.subplots(rows, columns, figsize=(3.6 * columns, 2.8 * rows), layout="constrained")
for ax, (name, draw) in zip(axes.flat, pictures.items(), strict=False):
    draw(ax)
    ax.set_title(name if not ax.get_title() else f"{name}\n{ax.get_title()}", fontsize="medium")
for ax in axes.flat[len(pictures) :]:
    ax.set_axis_off()
print(f"{len(pictures)} pictures of {len({name.partition(':')[0] for name in pictures})} estimators")
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=60, pil_kwargs={"optimize": True})
    print("wrote", sys.argv[1])
