"""A map of words
==============

Map words of six made-up languages by their edit distances, then place new words on the map.

A word is not a vector, but two words have a distance: the number of letters to change. ``MDSFDA`` finds the coordinates that
separate the languages best, and predicts the language of a new word. The words are generated.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# A word is a beginning, an ending and some typing errors.

ROOTS = {
    "northern": (["Hal", "Sven", "Ing", "Berg", "Lund", "Thor", "Eke", "Nils"], ["sson", "strom", "berg", "qvist"]),
    "eastern": (["Petr", "Ivan", "Bor", "Mikh", "Sokol", "Vol", "Kuzn", "Oryl"], ["ov", "enko", "evich", "insky"]),
    "southern": (["Mar", "Bell", "Ross", "Cas", "Fer", "Vit", "Gal", "Mont"], ["ini", "ello", "ucci", "etti"]),
    "island": (["Taka", "Mori", "Yama", "Kawa", "Naka", "Shima", "Ishi", "Hana"], ["moto", "mura", "da", "shita"]),
    "highland": (["Mac", "Mc", "O'", "Kil", "Dun", "Inver", "Bal", "Glen"], ["donald", "leod", "kenna", "gregor"]),
    "coastal": (["Van", "De", "Ter", "Hoog", "Bak", "Vis", "Dijk", "Zee"], ["stra", "huis", "veld", "enaar"]),
}
NEW = ["Svenberg", "Volenko", "Galucci", "Ishimura", "Dunleod", "Hoogstra"]

rng = np.random.default_rng(0)
names, languages = [], []
for language, (starts, ends) in ROOTS.items():
    for _ in range(60):
        word = list(rng.choice(starts) + rng.choice(ends))
        for _ in range(rng.poisson(1.5)):
            word[rng.integers(len(word))] = rng.choice(list("aeiouklmnrst"))
        names.append("".join(word))
        languages.append(language)
names, languages = np.array(names), np.array(languages)
train = rng.random(len(names)) < 0.7

# %%
# The regularisation is chosen by cross-validation. Without it every language would collapse to a point, and new words
# would land anywhere.

model = gm.MDSFDA(n_components=5, metric="levenshtein", metric_params={"power": 0.5}).fit(
    names[train], languages[train]
)
print(f"{train.sum()} words, {len(model.classes_)} languages, {model.embedding_.shape[1]} coordinates")
print(f"regularisation {model.regularization_:.3g} of the largest eigenvalue")
print(f"accuracy on {(~train).sum()} words left out: {model.score(names[~train], languages[~train]):.3f}")
for word, language, sure in zip(NEW, model.predict(NEW), model.predict_proba(NEW).max(axis=1), strict=True):
    print(f"  {word:10} {language:10} {sure:.2f}")

# %%
# The first two of five coordinates, for the words left out and the new words. The words of the fit would look better than they
# are: each is drawn towards its own language.

figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
for language in model.classes_:
    left_out = names[~train & (languages == language)]
    ax.scatter(*model.transform(left_out)[:, :2].T, s=18, alpha=0.6, label=language)
placed = model.transform(NEW)
ax.scatter(*placed[:, :2].T, marker="x", color="black")
for word, place in zip(NEW, placed, strict=True):
    ax.annotate(word, place[:2], xytext=(4, 4), textcoords="offset points")
ax.set(title="Words left out, and new words", xlabel="first coordinate", ylabel="second coordinate")
ax.set_aspect("equal", adjustable="datalim")
ax.legend(title="language")
plt.show()
