"""`plot()` of an additive model: curves of columns and heat maps of crosses, in matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.errors import unknown_column
from gramian.estimators.plots.embedding import pyplot

MOST_TERMS = 9


class PlotsTerms:
    """What additive models share that have something to see."""

    _terms: dict[str, Any]
    _effects: dict[str, Any]

    def plot(self, term: str | None = None, *, ax: Any = None) -> Any:
        """Return matplotlib axes with the effect of a term, or of the nine most important ones.

        Parameters
        ----------
        term : str, optional
            A column, or a cross such as `"age & smoker"`.
        ax : matplotlib.axes.Axes, optional
            Drawn on, where a term is named; by default new ones.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them where no term is named
            Columns as effects with 95% intervals, crosses as heat maps. Of several classes the last one is drawn.
        """
        check_is_fitted(self)
        names = self._terms["term"]
        if term is not None:
            if term not in names:
                raise unknown_column(term, names, where="the terms of this model")
            return self._draw(term, pyplot().subplots(layout="constrained")[1] if ax is None else ax)
        order = np.argsort(-np.asarray(self._terms["importance"]))[:MOST_TERMS]
        width = min(3, len(order))
        height = -(-len(order) // width)
        _, grid = pyplot().subplots(height, width, figsize=(4 * width, 3 * height), squeeze=False, layout="constrained")
        for each in grid.ravel()[len(order) :]:
            each.set_visible(False)
        for at, each in zip(order, grid.ravel(), strict=False):
            self._draw(names[int(at)], each)
        return grid.ravel()[: len(order)]

    def _draw(self, term: str, ax: Any) -> Any:
        effects = self._effects
        last = effects["class"][-1] if "class" in effects else None
        at = [
            k
            for k, name in enumerate(effects["term"])
            if name == term and (last is None or effects["class"][k] == last)
        ]
        texts = [effects["level"][k] for k in at]
        effect, error = (np.array([effects[name][k] for k in at]) for name in ("effect", "std_error"))
        kind = self._terms["kind"][self._terms["term"].index(term)]
        ax.set_title(term)
        if kind == "cross":
            # A single run of & between spaces parts the two: those within labels are doubled.
            sides = [text.replace("&&", "\0").split(" & ") for text in texts]
            sides = [[side.replace("\0", "&") for side in pair] for pair in sides]
            rows, columns = (list(dict.fromkeys(sorted(pair[j] for pair in sides))) for j in (0, 1))
            cells = np.full((len(rows), len(columns)), np.nan)
            for (a, b), value in zip(sides, effect, strict=True):
                cells[rows.index(a), columns.index(b)] = value
            most = float(np.nanmax(np.abs(cells))) if len(effect) else 1.0
            image = ax.imshow(cells, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
            ax.figure.colorbar(image, ax=ax)
            ax.set_yticks(range(len(rows)), rows, fontsize=7)
            ax.set_xticks(range(len(columns)), columns, fontsize=7, rotation=90)
            return ax
        places = np.arange(len(texts))
        if kind == "number":
            ax.step(places, effect, where="mid")
            ax.fill_between(places, effect - 1.96 * error, effect + 1.96 * error, step="mid", alpha=0.2)
        else:
            ax.errorbar(places, effect, 1.96 * error, fmt="o", markersize=4)
        ax.axhline(0.0, linewidth=0.5)
        step = max(1, len(texts) // 16)
        ax.set_xticks(places[::step], texts[::step], fontsize=7, rotation=90)
        return ax
