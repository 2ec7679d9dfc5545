"""Map words of six made-up languages by their edit distances; then place new words on the map.

Run ``python examples/plot_surnames.py [PICTURE.png]``. The words are generated; nothing is downloaded. Without matplotlib the
script prints its figures and draws no picture.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.estimators.mdsfda import MDSFDA

ROOTS = {
    "northern": (["Hal", "Sven", "Ing", "Berg", "Lund", "Thor", "Eke", "Nils"], ["sson", "strom", "berg", "qvist"]),
    "eastern": (["Petr", "Ivan", "Bor", "Mikh", "Sokol", "Vol", "Kuzn", "Oryl"], ["ov", "enko", "evich", "insky"]),
    "southern": (["Mar", "Bell", "Ross", "Cas", "Fer", "Vit", "Gal", "Mont"], ["ini", "ello", "ucci", "etti"]),
    "island": (["Taka", "Mori", "Yama", "Kawa", "Naka", "Shima", "Ishi", "Hana"], ["moto", "mura", "da", "shita"]),
    "highland": (["Mac", "Mc", "O'", "Kil", "Dun", "Inver", "Bal", "Glen"], ["donald", "leod", "kenna", "gregor"]),
    "coastal": (["Van", "De", "Ter", "Hoog", "Bak", "Vis", "Dijk", "Zee"], ["stra", "huis", "veld", "enaar"]),
}
"""Language -> beginnings and endings."""

NEW = ["Svenberg", "Volenko", "Galucci", "Ishimura", "Dunleod", "Hoogstra"]


def words(per_language: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Return words and their languages: a beginning, an ending, and some typing errors."""
    rng = np.random.default_rng(seed)
    out, languages = [], []
    for language, (starts, ends) in ROOTS.items():
        for _ in range(per_language):
            word = list(rng.choice(starts) + rng.choice(ends))
            for _ in range(rng.poisson(1.5)):
                word[rng.integers(len(word))] = rng.choice(list("aeiouklmnrst"))
            out.append("".join(word))
            languages.append(language)
    return out, np.array(languages)


def draw(model: MDSFDA, languages: np.ndarray, placed: np.ndarray, path: Path) -> None:
    """Draw the first two coordinates, with the names of the new words."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    for language in model.classes_:
        Z = model.embedding_[languages == language]
        axes.scatter(Z[:, 0], Z[:, 1], s=14, alpha=0.5, linewidths=0, label=language)
    axes.scatter(placed[:, 0], placed[:, 1], s=60, marker="x", color="black", label="new words")
    for word, (x, y) in zip(NEW, placed[:, :2], strict=True):
        axes.annotate(word, (x, y), xytext=(6, 4), textcoords="offset points", fontsize=9)
    axes.set(xlabel="first coordinate (within-class standard deviations)", ylabel="second coordinate")
    axes.set_title("Words by their edit distances (MDS-FDA)")
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)
    print(f"wrote {path.name}")


def main(arguments: list[str]) -> int:
    """Fit, score held-out words, place new words, and draw."""
    names, languages = words(60)
    train = np.arange(len(names)) % 4 != 0
    model = MDSFDA(n_components=5, metric="levenshtein", metric_params={"power": 0.5})
    model.fit([w for w, t in zip(names, train, strict=True) if t], languages[train])
    score = model.score([w for w, t in zip(names, train, strict=True) if not t], languages[~train])
    print(f"{train.sum()} words, {len(model.classes_)} languages, {model.embedding_.shape[1]} coordinates")
    print(f"regularisation {model.regularization_:.3g} of the largest eigenvalue, by cross-validation")
    print(f"accuracy on {(~train).sum()} held-out words: {score:.3f}")
    for word, language, sure in zip(NEW, model.predict(NEW), model.predict_proba(NEW).max(axis=1), strict=True):
        print(f"  {word:10} {language:10} {sure:.2f}")
    nearest = pairwise_distances(NEW[-1:], names, metric="levenshtein")[0].argmin()
    print(f"the word nearest to {NEW[-1]} is {names[nearest]}")
    if arguments:
        if find_spec("matplotlib") is None:
            print("no picture: pip install matplotlib")
        else:
            draw(model, languages[train], model.transform(NEW), Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
