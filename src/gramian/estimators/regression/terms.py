r"""What an additive model says of itself: the effects of levels and cells, and how much each term matters.

*Pure crosses.* A ridge shares out what one column does among its levels and the cells of its crosses. So that a cross shows
what a pair adds, and nothing else, the weighted least-squares fit of the cells by their two columns is moved to these,

    b_lm = mu + a_l + c_m + pure_lm,       sum_l w_lm pure_lm = sum_m w_lm pure_lm = 0,

w_lm being rows, mu the weighted mean, which goes to the intercept, and a and c of weighted mean 0. It is linear in b, so its
errors are known, and the contributions of a row move with it: their sum stays. Bins of a number's crosses are wider than its
own; a_l is shown at the mean of the rows of each own bin. A number without bins has a slope alone, which takes a_l where there
are two values; else nothing is moved to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.types import Array
from gramian.design.bins import Bins
from gramian.design.crosses import side_texts, split_label
from gramian.design.schema import MISSING, Column, Cross
from gramian.estimators.regression.additive_fit import Fit
from gramian.linear.regression.expansion import total
from gramian.linear.regression.problem import Regression
from gramian.maps.projection import Design

Ints = npt.NDArray[np.int64]


@dataclass(eq=False)
class Term:
    """A column or a cross.

    Attributes
    ----------
    kind : {"number", "category", "cross"}
    texts : list of str
        Of its levels.
    rows : (levels,) array
    form : (levels, p) array
        The effect of each level as a linear form of the coefficients.
    values : (levels,) array or None
        Of a number in bins, the value at which each is read; NaN for the missing.
    """

    kind: str
    texts: list[str]
    rows: Array
    form: Array
    values: Array | None = None


@dataclass(frozen=True, eq=False)
class Described:
    """The terms of a model.

    Attributes
    ----------
    terms, effects : dict
        Tables, as `terms_` and `explain_global` show them.
    term_of : (p,) array
        The term of each coefficient.
    sides : (p, 2) array
        Of cells the terms of both columns, which part of a coefficient is moved to; -1 for none.
    moved : (p, 3 k) array
        These parts and the one that is moved to the intercept, for one predictor after the other.
    """

    terms: dict[str, Any]
    effects: dict[str, Any]
    term_of: Ints
    sides: Ints
    moved: Array


def described(fit: Fit, problem: Regression, class_names: Sequence[str]) -> Described:
    """Return the terms of a fit, from the moments of its first pass and the cells of its crosses; no row is read.

    Parameters
    ----------
    fit : Fit
    problem : Regression
        Of the first pass.
    class_names : sequence of str
        Of several classes, one per predictor; else empty.
    """
    design = fit.design
    numbers = {c.origin: c.name for c in design.numeric}
    owners = [
        numbers.get(c.origin, c.name) if isinstance(c.part, Bins) and not c.crossed else c.name for c in design.columns
    ]
    names = list(dict.fromkeys(owners))
    term_of = np.zeros(len(design.mean), dtype=np.int64)
    for column, owner in zip(design.columns, owners, strict=True):
        term_of[design.spans[column.name]] = names.index(owner)
    found = _plain_terms(fit, problem, dict(zip((c.name for c in design.columns), owners, strict=True)))
    plain = {name: term.form.copy() for name, term in found.items()}
    sides = np.full((len(design.mean), 2), -1, dtype=np.int64)
    moved = np.zeros((len(design.mean), 3 * len(fit.thetas)))
    for column, labels in zip(design.categorical, design.labels, strict=True):
        if not isinstance(column.part, Cross):
            continue
        cells = np.arange(design.spans[column.name].start, design.spans[column.name].stop - 1)
        pairs = [split_label(text) for text in labels.values.to_pylist()]
        form, weights = found[column.name].form, fit.cells[column.name]
        means = weights / max(weights.sum(), 1e-300)
        form[:, cells] -= means
        for k, theta in enumerate(fit.thetas):
            moved[cells, 3 * k + 2] = means @ theta[1 + cells]
        for j, (side, shares) in enumerate(_shares(pairs, weights, column.part.sides, found, numbers)):
            name = numbers.get(side.origin, side.name) if isinstance(side.part, Bins) else side.name
            if not shares:
                continue
            own = np.array([shares[pair[j]] for pair in pairs])
            form[:, cells] -= own
            term = found[name]
            if term.values is None and term.kind == "number":
                assert isinstance(side.part, Bins)
                low, high = side.part.names
                term.form[0, cells] += (shares[high] - shares[low]) / np.diff(side.part.own)
            else:
                for i, text in enumerate(_read_at(side, term, design)):
                    if text in shares:
                        term.form[i, cells] += shares[text]
            sides[cells, j] = names.index(name)
            for k, theta in enumerate(fit.thetas):
                moved[cells, 3 * k + j] = own @ theta[1 + cells]
    importance = np.empty((len(fit.thetas), len(names)))
    for k, theta in enumerate(fit.thetas):
        for j, name in enumerate(names):
            at = np.flatnonzero(term_of[: len(problem.mean)] == j)
            importance[k, j] = _spread(problem, theta[1:], at, found[name], plain[name])
    terms = {
        "term": names,
        "kind": [found[name].kind for name in names],
        "levels": [len(found[name].texts) for name in names],
        "importance": importance.max(axis=0).tolist(),
    }
    return Described(terms, _effects(fit, found, names, class_names), term_of, sides, moved)


def _plain_terms(fit: Fit, problem: Regression, owners: dict[str, str]) -> dict[str, Term]:
    """Return each term with the effects of its own coefficients."""
    design, moments = fit.design, problem.moments
    mean = np.nan_to_num(design.mean)
    offsets = design.offsets if design.offsets is not None else np.zeros(len(design.numeric))
    shift = dict(zip((c.name for c in design.numeric), offsets, strict=True))
    found: dict[str, Term] = {}
    for column, labels in zip(design.categorical, design.labels, strict=True):
        span, name = design.spans[column.name], owners[column.name]
        form = np.zeros((len(labels), len(mean)))
        form[:, span] = np.eye(len(labels)) - mean[span]
        order, values = np.arange(len(labels)), None
        if isinstance(column.part, Cross):
            counts = np.append(fit.cells[column.name], 0.0)
            order = order[:-1]
        else:
            counts = np.asarray(moments.pairs.level_weights[moments.coded_at[column.name]], dtype=np.float64)
        if isinstance(column.part, Bins):
            starts = [-np.inf, *column.part.edges, *column.part.own]
            place = {text: i for i, text in enumerate(column.part.names)}
            at_bin = [place.get(labels.name(int(i)), -1) for i in order]
            values = np.full(len(labels), np.nan)
            if name != column.name:
                # The number's own slope at its mean in the bin.
                at, inside = design.spans[name].start, counts > 0
                form[inside, at] = problem.matrix[span, at][inside] / counts[inside]
                values = form[:, at] + mean[at] + shift[name]
            single = np.array([b > len(column.part.edges) for b in at_bin])
            values[single] = np.array([starts[b] for b in at_bin])[single]
            values[np.array(at_bin) < 0] = np.nan
            order = np.array(sorted(order, key=lambda i: starts[at_bin[i]] if at_bin[i] >= 0 else np.inf))
            values = values[order]
        kind = "cross" if column.crossed else "number" if name != column.name else "category"
        found[name] = Term(kind, [labels.name(int(i)) for i in order], counts[order], form[order], values)
    for column in design.numeric:
        if column.name not in found:
            form = np.zeros((1, len(mean)))
            form[0, design.spans[column.name].start] = 1.0
            found[column.name] = Term("number", ["per unit"], np.array([problem.weight]), form)
    return found


def _read_at(side: Column, term: Term, design: Design) -> list[str]:
    """Return, for each level of a term, the text that it has as the side of a cross."""
    if term.values is not None:
        assert isinstance(side.part, Bins)
        return [MISSING if text is None else text for text in side.part.of(term.values).to_pylist()]
    at = next(k for k, c in enumerate(design.categorical) if c.name == side.name)
    texts = side_texts(design.labels[at].values)
    return texts + [MISSING + "'"] * (len(term.texts) - len(texts))


def _shares(
    pairs: Sequence[tuple[str, str]],
    weights: Array,
    columns: tuple[Column, Column],
    found: dict[str, Term],
    numbers: dict[str, str],
) -> list[tuple[Column, dict[str, Array]]]:
    """Return both columns of a cross with a_l by text, as linear forms of the cells; no text where nothing can be moved."""
    names = [numbers.get(c.origin, c.name) if isinstance(c.part, Bins) else c.name for c in columns]
    texts = [list(dict.fromkeys(pair[j] for pair in pairs)) for j in (0, 1)]
    for j, (column, name) in enumerate(zip(columns, names, strict=True)):
        if not isinstance(column.part, Bins) or found[name].values is not None:
            continue
        # Without bins there is a slope: of two values it is all that there is to say.
        if not (set(texts[j]) == set(column.part.names) and len(column.part.own) == len(texts[j]) == 2):
            texts[j] = []
    design = np.array([[float(pair[j] == text) for j in (0, 1) for text in texts[j]] for pair in pairs])
    if not design.size or not weights.sum() > 0:
        return [(column, {}) for column in columns]
    root = np.sqrt(weights / weights.sum())
    fitted = np.linalg.pinv(root[:, None] * design, rcond=1e-10) * root
    # Of b less its mean; then both parts have the mean 0, the second taking what the first gives up.
    fitted = fitted - np.outer(fitted.sum(axis=1), root**2)
    out: list[tuple[Column, dict[str, Array]]] = []
    start = 0
    for column, some in zip(columns, texts, strict=True):
        part, shares = fitted[start : start + len(some)], root**2 @ design[:, start : start + len(some)]
        part = part - shares @ part if len(some) else part
        out.append((column, dict(zip(some, part, strict=True))))
        start += len(some)
    return out


def _spread(problem: Regression, beta: Array, at: npt.NDArray[np.intp], term: Term, plain: Array) -> float:
    """Return the root mean square of a term's contributions, `at` being its own coefficients, `plain` its form of these."""
    after = term.form @ beta
    if term.kind == "cross":
        square = float(term.rows @ np.square(after))
    else:
        # Within a bin the slope of the number adds to the square, and what is moved does not.
        own = float(beta[at] @ problem.matrix[np.ix_(at, at)] @ beta[at])
        if len(after) > 1:
            square = own + float(term.rows @ (np.square(after) - np.square(plain @ beta)))
        else:
            square = float(np.square(after[0]) * problem.matrix[at[0], at[0]])
    return float(np.sqrt(max(square, 0.0) / max(problem.weight, 1e-300)))


def _effects(
    fit: Fit, found: dict[str, Term], names: Sequence[str], class_names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the table of effects, with standard errors."""
    effects: dict[str, list[Any]] = {name: [] for name in ("term", "level", "rows", "effect", "std_error")}
    if class_names:
        effects["class"] = []
    free = fit.free()
    for k, theta in enumerate(fit.thetas):
        whole = total(fit.expansions[k])
        factor = whole.factor(fit.penalty(k), free)
        scale = fit.deviances()[k] / max(whole.weight, 1e-300) if fit.family.name == "gaussian" else 1.0
        for name in names:
            term = found[name]
            wide = np.pad(term.form, ((0, 0), (1, 0)))[:, free]
            solved = scipy.linalg.cho_solve(factor, wide.T)
            effects["term"] += [name] * len(term.texts)
            effects["level"] += term.texts
            effects["rows"] += term.rows.tolist()
            effects["effect"] += (term.form @ theta[1:]).tolist()
            effects["std_error"] += np.sqrt(np.maximum(np.einsum("ij,ji->i", wide, solved), 0.0) * scale).tolist()
            if class_names:
                effects["class"] += [class_names[k]] * len(term.texts)
    return effects
