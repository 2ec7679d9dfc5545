"""`plot()`: one function per picture, each drawing on matplotlib axes what a fitted estimator makes public.

An estimator names its pictures in `_plots`; the first is drawn by default. A picture of rows needs
them as `X`, one of right and wrong also the targets as `y`. Two kinds of model have a `plot` of their own: those that place
objects on a map (`PlotsEmbedding`), and sums of terms (`PlotsTerms`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm
from sklearn import config_context
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from gramian.arrays.types import Array
from gramian.design.crosses import in_order, split_label
from gramian.errors import Argument, DataError, MissingPackageError, unknown_column

SHOWN = 12
"""Bars, atoms or lines in a picture, at most."""
POINTS = 2000
"""Rows in a picture, at most: the first."""


class Plots:
    """An estimator with something to see."""

    _plots: ClassVar[tuple[str, ...]]
    """Names of functions here, the usual one first."""

    def plot(self, X: Any = None, y: Any = None, *, kind: str | None = None, ax: Any = None) -> Any:
        """Return matplotlib axes with a picture of what was learned.

        Parameters
        ----------
        X : rows, optional
            For pictures of rows.
        y : array, optional
            Targets of these rows, for pictures of predictions.
        kind : str, optional
            Which picture; a wrong name lists those there are (`docs/plots.md`). By default the first of them.
        ax : matplotlib.axes.Axes, optional
            Drawn on; by default new ones.

        Returns
        -------
        matplotlib.axes.Axes
            Not shown: `matplotlib.pyplot.show()` does.
        """
        check_is_fitted(self)
        known = self._plots
        name = known[0] if kind is None else kind
        if name not in known:
            raise DataError(
                f"{type(self).__name__} has no picture {name!r}; it has {', '.join(map(repr, known))}: choose one as ",
                Argument("kind"),
            )
        if ax is None:
            ax = pyplot().subplots(layout="constrained")[1]
        with config_context(transform_output="default"):
            globals()[name](self, ax, X, y)
        return ax


def _rows_needed(X: Any, what: str, y: Any = ()) -> None:
    if X is None or y is None:
        raise DataError(
            f"{what} need{'s' if X is None and y == () else ''} rows: pass ", Argument("X" if X is None else "y")
        )


def _names(model: Any) -> list[str]:
    return [str(name) for name in model.get_feature_names_out()]


def _features(model: Any, X: Any) -> Array:
    found = model.transform(X)
    return np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)[:POINTS]


def _bars(ax: Any, labels: list[str], values: Any, errors: Any = None, colours: Any = None) -> None:
    at = np.arange(len(labels))
    ax.barh(at, values, xerr=errors, color=colours)
    ax.set_yticks(at, [label if len(label) <= 36 else label[:35] + "…" for label in labels])
    ax.invert_yaxis()
    ax.axvline(0, color="0.5", linewidth=0.8)


def scree(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the variance of each component, the noise threshold where it is known, and the number kept."""
    curve, kept = model.selection_, model.n_components_
    shown = min(max(2 * kept, 10), len(curve["explained_variance"]), 40)
    k = np.arange(1, shown + 1)
    ax.bar(k, curve["explained_variance"][:shown], color=["C0" if each <= kept else "0.8" for each in k])
    if "noise_threshold" in curve:
        ax.plot(k, curve["noise_threshold"][:shown], color="C3", label="noise threshold")
        ax.legend(frameon=False)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="component", ylabel="variance", title=f"{kept} component{'s' if kept != 1 else ''} kept")


def loadings(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the largest weights of the first two features."""
    names = _names(model)[:2]
    table = model.projection_.loadings(_names(model))
    rows = [row for row in zip(*table.values(), strict=True) if row[2] in names]
    size: dict[tuple[str, Any], float] = {}
    for column, level, _, weight in rows:
        size[column, level] = max(size.get((column, level), 0.0), abs(weight))
    chosen = sorted(size, key=lambda key: -size[key])[:SHOWN]
    width = 0.8 / len(names)
    for j, name in enumerate(names):
        weights = {(column, level): weight for column, level, feature, weight in rows if feature == name}
        at = np.arange(len(chosen)) + (j - (len(names) - 1) / 2) * width
        ax.barh(at, [weights[key] for key in chosen], height=width, label=name)
    labels = [column if level is None else f"{column} = {level}" for column, level in chosen]
    ax.set_yticks(np.arange(len(chosen)), labels)
    ax.invert_yaxis()
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.legend(frameon=False)
    ax.set(xlabel="weight")


def biplot(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw rows on the first two components, and the columns that pull them there as arrows."""
    names = _names(model)
    if len(names) < 2:
        raise DataError("a biplot needs two components; this model has one")
    reach = 1.0
    if X is not None:
        z = _features(model, X)
        ax.scatter(z[:, 0], z[:, 1], s=8, alpha=0.4, linewidths=0, color="0.5")
        reach = 0.9 * float(np.abs(z[:, :2]).max())
    # Weights in the metric: arrows of numbers and levels are comparable.
    arrows = model.components_[:2].T
    chosen = np.argsort(-np.square(arrows).sum(axis=1))[:8]
    arrows = arrows * reach / max(float(np.abs(arrows[chosen]).max()), 1e-300)
    for j in chosen:
        ax.annotate("", arrows[j], (0, 0), arrowprops={"arrowstyle": "->", "color": "C3"})
        ax.annotate(model.design_names_[j], arrows[j], fontsize="small", ha="center")
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)


def densities(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw where classes lie on the first axis: the normal laws of the model, and the rows that are given."""
    centre = (model.means_ - model.mean_) @ model.scalings_[:, :1]
    z = None if X is None else _features(model, X)[:, 0]
    shift = 0.0 if z is None or y is None else _shift(z, np.asarray(y)[:POINTS], model.classes_, centre[:, 0])
    grid = np.linspace(centre.min() - 4, centre.max() + 4, 400)
    for k, label in enumerate(model.classes_[:SHOWN]):
        ax.plot(grid + shift, norm.pdf(grid - centre[k, 0]), color=f"C{k}", label=str(label))
        if z is not None and y is not None:
            own = z[np.asarray(y)[:POINTS] == label]
            ax.hist(own, bins=30, density=True, alpha=0.3, color=f"C{k}")
    ax.legend(frameon=False)
    ax.set(xlabel=_names(model)[0], ylabel="density", yticks=[])


def _shift(z: Array, y: Array, classes: Array, centre: Array) -> float:
    """Return how far features lie from the model's axis: priors of one's own move its origin."""
    gaps = [z[y == label].mean() - c for label, c in zip(classes, centre, strict=True) if (y == label).any()]
    return float(np.mean(gaps)) if gaps else 0.0


def learning(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw how learning went on: the angle to the batch solution, or the error, over a logarithmic scale of updates."""
    history = model.history_
    if not isinstance(history, dict):
        values = np.asarray(history, dtype=np.float64)
        ax.plot(np.arange(1, len(values) + 1), values)
        ax.set(xlabel="batch or iteration", ylabel="error", xscale="log")
        if (values > 0).all():
            ax.set_yscale("log")
        return
    updates = np.maximum(np.asarray(history["updates"], dtype=np.float64), 1)
    angles = np.asarray(history["angle"], dtype=np.float64) if "angle" in history else np.empty(0)
    if len(angles) and np.isfinite(angles).any():
        ax.plot(updates, angles, marker="o", markersize=3)
        ax.set(ylabel="angle to PCA, degrees", ylim=(0, max(10.0, 1.1 * float(np.nanmax(angles)))))
    else:
        weights = np.asarray(history["weights"], dtype=np.float64)
        moved = np.sqrt(np.square(weights - weights[-1]).sum(axis=(1, 2)) / np.square(weights[-1]).sum())
        ax.plot(updates, moved, marker="o", markersize=3)
        ax.set(ylabel="distance to the last weights")
    ax.set(xlabel="updates", xscale="log")
    ax.tick_params(axis="x", which="minor", labelbottom=False)


def sources(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the sources that were separated, one line above the other."""
    _rows_needed(X, "sources")
    z = _features(model, X)[:300, :SHOWN]
    _lines(ax, z.T, _names(model))
    ax.set(xlabel="row")


def _lines(ax: Any, lines: Array, names: list[str]) -> None:
    step = 1.1 * float(np.ptp(lines, axis=1).max() or 1.0)
    for k, line in enumerate(lines):
        ax.plot(line - k * step - line.mean(), color=f"C{k}", linewidth=1)
    ax.set_yticks([-k * step for k in range(len(lines))], names[: len(lines)])


def atoms(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the atoms of the dictionary, one line above the other."""
    lines = np.asarray(model.dictionary_)[:SHOWN]
    _lines(ax, lines, [f"atom {k}" for k in range(len(lines))])
    ax.set(xlabel="column")


def cells(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw which atom is nearest where, for rows of two numbers; otherwise the atoms."""
    found = np.asarray(model.dictionary_)
    if found.shape[1] != 2:
        atoms(model, ax, X, y)
        return
    rows = found if X is None else np.asarray(X, dtype=np.float64)[:POINTS]
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.05 * np.maximum(high - low, 1e-9)
    grid = [np.linspace(low[j] - margin[j], high[j] + margin[j], 200) for j in range(2)]
    places = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    nearest = np.square(places[:, None] - found).sum(axis=2).argmin(axis=1)
    extent = (grid[0][0], grid[0][-1], grid[1][0], grid[1][-1])
    ax.imshow(nearest.reshape(200, 200), origin="lower", extent=extent, cmap="tab20", alpha=0.35, aspect="auto")
    if X is not None:
        ax.scatter(rows[:, 0], rows[:, 1], s=5, color="0.3", linewidths=0)
    ax.scatter(found[:, 0], found[:, 1], marker="x", color="black")


def forecast(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw 200 steps of the forecast, beside the sequence that really followed where it is given."""
    known = None if X is None else np.atleast_2d(np.asarray(X, dtype=np.float64).T)[0]
    ahead = np.asarray(model.forecast(200 if known is None else len(known)))
    if known is not None:
        ax.plot(known, color="0.6", label="observed")
    ax.plot(ahead if ahead.ndim == 1 else ahead[:, 0], color="C0", label="forecast")
    ax.legend(frameon=False)
    ax.set(xlabel="step")


def states(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the states of some units over a sequence."""
    _rows_needed(X, "states")
    found = np.asarray(model.states(X)[0])[:300, :8]
    _lines(ax, found.T, [f"unit {k}" for k in range(found.shape[1])])
    ax.set(xlabel="step")


def spikes(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw when units fire over a sequence."""
    _rows_needed(X, "spikes")
    steps, units = np.nonzero(np.asarray(model.spikes(X)[0])[:300, :80])
    ax.scatter(steps, units, s=3, marker="|", color="C0")
    ax.set(xlabel="step", ylabel="unit")


def predictions(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw predicted against actual values, or the confusion of classes."""
    _rows_needed(X, "predictions", y)
    found, actual = np.asarray(model.predict(X)).ravel(), np.asarray(y).ravel()
    if hasattr(model, "classes_"):
        classes = list(np.asarray(model.classes_))
        table = np.array([[((actual == a) & (found == b)).sum() for b in classes] for a in classes], dtype=np.float64)
        share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        ax.imshow(share, vmin=0, vmax=1, cmap="Blues")
        for a in range(len(classes)):
            for b in range(len(classes)):
                ax.text(
                    b,
                    a,
                    f"{table[a, b]:,.0f}",
                    ha="center",
                    va="center",
                    color="white" if share[a, b] > 0.5 else "black",
                )
        at = np.arange(len(classes))
        ax.set_xticks(at, [str(label) for label in classes])
        ax.set_yticks(at, [str(label) for label in classes])
        ax.set(xlabel="predicted", ylabel="actual")
        return
    ax.scatter(found[:POINTS], actual[:POINTS], s=8, alpha=0.5, linewidths=0)
    ax.axline((float(actual.mean()), float(actual.mean())), slope=1, color="0.5", linewidth=0.8)
    ax.set(xlabel="predicted", ylabel="actual")


def selection(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw the score of each column, those that are kept in colour."""
    table = model.summary_columns()
    score = np.nan_to_num(np.asarray(table["score"], dtype=np.float64))
    order = np.argsort(-np.abs(score), kind="stable")[: 2 * SHOWN]
    colours = ["C0" if table["kept"][j] else "0.8" for j in order]
    _bars(ax, [str(table["column"][j]) for j in order], score[order], colours=colours)
    ax.set(xlabel="score", title=f"{int(np.sum(table['kept']))} of {len(score)} columns kept")


def path(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw coefficients over the penalty, or the explained share with each column that enters, and the choice."""
    table = {name: np.asarray(values) for name, values in model.path_columns_.items()}
    if "alpha" in table and len(table["alpha"]):
        for name in list(dict.fromkeys(table["column"]))[:SHOWN]:
            own = table["column"] == name
            ax.plot(table["alpha"][own], table["size"][own], label=str(name))
        ax.axvline(float(model.alpha_), color="0.5", linestyle="--")
        ax.set(xlabel="penalty", ylabel="length of the coefficients", xscale="log")
        ax.invert_xaxis()
        ax.legend(frameon=False, fontsize="small")
    elif "r2" in table and len(table["r2"]):
        ax.plot(table["step"], table["r2"], marker="o", markersize=3)
        ax.axvline(int(model.get_support().sum()), color="0.5", linestyle="--")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="columns", ylabel="explained share")
    else:
        raise DataError("this selector has no path; ", Argument("kind", "selection"), " shows its scores")


def importance(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw what each source column explains of the target, with its standard error."""
    table = model.column_importance()
    found = {
        name: list(table[name].to_pylist() if hasattr(table[name], "to_pylist") else table[name])
        for name in ("column", "importance", "std_error", "measure")
    }
    errors = [0.0 if error is None or np.isnan(error) else error for error in found["std_error"][:SHOWN]]
    _bars(ax, list(map(str, found["column"][:SHOWN])), found["importance"][:SHOWN], errors if any(errors) else None)
    ax.set(xlabel=f"explained share, {found['measure'][0]}")


def coefficients(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw coefficients with intervals, the surest first; without a test (after a penalty) the largest, as they are."""
    try:
        table = model._inference("iid", None, "repeats").table()
    except DataError:
        table = None
    if table is None:
        rows = model.projection_.loadings(["y"] * model.projection_.weights.shape[1])
        known = list(zip(rows["column"], rows["level"], rows["weight"], strict=True))
        known.sort(key=lambda row: -abs(row[2]))
        labels = [c if level is None else f"{c} = {level}" for c, level, _ in known[:SHOWN]]
        _bars(ax, labels, [weight for *_, weight in known[:SHOWN]])
        ax.set(xlabel="coefficient")
        return
    strength = [0.0 if s is None or not np.isfinite(s) else abs(s) for s in table["statistic"]]
    named = [j for j, column in enumerate(table["column"]) if column not in (None, "(intercept)", "intercept")]
    order = sorted((j for j in named if strength[j] > 0), key=lambda j: -strength[j])[:SHOWN]
    at = np.arange(len(order))
    value, low, high = (np.array([table[name][j] for j in order]) for name in ("coefficient", "lower", "upper"))
    ax.errorbar(value, at, xerr=[value - low, high - value], fmt="o", markersize=4, capsize=2)
    labels = [
        table["column"][j] if table["level"][j] is None else f"{table['column'][j]} = {table['level'][j]}"
        for j in order
    ]
    ax.set_yticks(at, labels)
    ax.invert_yaxis()
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.set(xlabel="coefficient, 95% interval")


def reasons(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw why the oddest of some rows is odd."""
    _rows_needed(X, "reasons")
    oddest = int(np.argmin(model.score_samples(X)))
    table = model.explain_columns(X, 6)
    own = [j for j, row in enumerate(table["row"]) if int(row) == oddest]
    _bars(ax, [str(table["text"][j]) for j in own], [float(table["contribution"][j]) for j in own])
    ax.set(xlabel="contribution to the anomaly score", title=f"row {oddest}")


def scores(model: Any, ax: Any, X: Any, y: Any) -> None:
    """Draw how odd some rows are, and from where on they are flagged."""
    _rows_needed(X, "scores")
    ax.hist(-np.asarray(model.score_samples(X)), bins=60)
    if model.offset_ is not None:
        ax.axvline(-float(model.offset_), color="C3", label="flagged from here")
        ax.legend(frameon=False)
    ax.set(xlabel="anomaly score", ylabel="rows", yscale="log")


class PlotsEmbedding:
    """What estimators share that keep where their training objects or rows lie."""

    embedding_: Array

    def plot(self, labels: Any = None, *, ax: Any = None, **scatter: Any) -> Any:
        """Return matplotlib axes with the first two coordinates of `embedding_`, one colour per class.

        Parameters
        ----------
        labels : (n,) array, optional
            Classes of the training objects; by default those of the fit, where it had some.
        ax : matplotlib.axes.Axes, optional
            Drawn on; by default new ones.
        **scatter
            For `Axes.scatter`, such as ``s=10``.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import gramian as gm
        >>> ax = gm.ClassicalMDS(metric="levenshtein").fit(["aa", "ab", "bb"]).plot()
        >>> ax.get_xlabel(), len(ax.collections[0].get_offsets())
        ('classicalmds0', 3)
        """
        check_is_fitted(self)
        Z = np.asarray(self.embedding_)
        known = self._plot_labels() if labels is None else np.asarray(labels)
        if known is not None:
            check_consistent_length(Z, known)
        if ax is None:
            ax = pyplot().subplots(layout="constrained")[1]
        # A single coordinate is drawn along a line.
        x, y = Z[:, 0], Z[:, 1] if Z.shape[1] > 1 else np.zeros(len(Z))
        scatter = {"s": 14, "linewidths": 0, **scatter}
        if known is None:
            ax.scatter(x, y, **scatter)
        else:
            for label in np.unique(known):
                ax.scatter(x[known == label], y[known == label], label=str(label), **scatter)
            ax.legend(frameon=False)
        names = self.get_feature_names_out()  # type: ignore[attr-defined]
        ax.set_xlabel(str(names[0]))
        ax.set_ylabel(str(names[1]) if len(names) > 1 else "")
        if len(names) > 1:
            # Distances are what is shown: the same length in every direction.
            ax.set_aspect("equal", adjustable="datalim")
        else:
            ax.set_yticks([])
        return ax

    def _plot_labels(self) -> Array | None:
        """Return the classes that the fit was given."""
        codes = vars(self).get("_codes")
        return None if codes is None else self.classes_[codes]  # type: ignore[attr-defined]


def pyplot() -> Any:
    """Return matplotlib's plotting module."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingPackageError(
            "plot() draws with matplotlib; install it with: pip install 'gramian[plot]'"
        ) from None
    return plt


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
            sides = list(map(split_label, texts))
            rows, columns = (in_order({pair[j] for pair in sides}) for j in (0, 1))
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
