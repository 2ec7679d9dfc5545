"""Why a row is odd: its score shared out over values and pairs of values, so that the shares add up.

A score is a sum of terms, one a value and one a pair of values. What a term is on average over the training rows is no
reason: it is the row `(what every row has)`. A reason is worth what its term is above that average. It is shown where it
is worth something and what was seen is not what one would expect anyway (see `words.NOISE`); all else, what speaks for the
row included, is `(other)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gramian.arrays.types import Array
from gramian.maps.frozen_encoder import Rows
from gramian.maps.surprise.length import SquaredLength
from gramian.maps.surprise.score import PairScore
from gramian.maps.surprise.words import NumberFacts, Reason, Wording
from gramian.moments import covariance as dense
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable

CELLS = 2**22
"""Terms held at a time: rows times pairs of columns."""

EVERY_ROW = "(what every row has)"
OTHER = "(other)"
REST = (EVERY_ROW, OTHER)
"""Texts of what is no reason."""


def explanation(
    score: PairScore | SquaredLength, moments: Moments, facts: NumberFacts, table: ArrowTable | ArrayTable, top: int
) -> dict[str, Any]:
    """Return the columns of the explanation table: the `top` reasons of each row, what every row has, and the rest."""
    usual = usual_terms(score, moments, facts)
    of_every_row = float(usual.sum())
    wording = Wording(score.design, moments, facts)
    out: dict[str, list[Any]] = {
        name: [] for name in ("row", "columns", "values", "contribution", "seen", "expected", "text")
    }
    n_before = 0
    for rows, batch in score.design.read(table):
        step = max(1, CELLS // len(usual) ** 2)
        for start in range(0, len(rows), step):
            part = Rows(rows.codes[:, start : start + step], rows.numbers[start : start + step])
            with np.errstate(invalid="ignore"):
                worth = score.terms(part)
                worth -= usual
                np.copyto(worth, 0.0, where=~wording.striking(part))
            totals = score.apply_rows(part)
            for i in range(len(part)):
                reasons = [
                    (share, wording.reason(a, b, part, i, batch, start + i)) for share, a, b in _largest(worth[i], top)
                ]
                named = sum(share for share, _ in reasons)
                reasons.append((of_every_row, Reason(EVERY_ROW, "", None, None, EVERY_ROW)))
                reasons.append((float(totals[i] - named - of_every_row), Reason(OTHER, "", None, None, OTHER)))
                for share, reason in reasons:
                    values = (n_before + start + i, reason.columns, reason.values, share, reason.seen, reason.expected)
                    for name, value in zip(out, (*values, reason.text), strict=True):
                        out[name].append(value)
        n_before += len(rows)
    return {
        **out,
        "row": np.array(out["row"], dtype=np.int64),
        "contribution": np.array(out["contribution"], dtype=np.float64),
        "seen": pa.array(out["seen"], pa.float64()).to_numpy(zero_copy_only=False),
        "expected": pa.array(out["expected"], pa.float64()).to_numpy(zero_copy_only=False),
    }


def _largest(worth: Array, top: int) -> list[tuple[float, int, int]]:
    """Return the largest positive entries of a matrix, (value, row, column), the first of equals first."""
    flat = worth.ravel()
    # Most pairs are worth nothing.
    at = np.flatnonzero(flat > 0)
    order = at[np.argsort(-flat[at], kind="stable")[:top]]
    return [(float(flat[k]), *divmod(int(k), len(worth))) for k in order]


def usual_terms(score: PairScore | SquaredLength, moments: Moments, facts: NumberFacts) -> Array:
    """Return what each value and pair adds on average over the training rows, (c + q, c + q) on and above the diagonal.

    Exact for levels and for the squared length. For numbers in trees it is what normal numbers of these moments add.
    """
    n = float(moments.total_weight)
    names = [column.name for column in score.design.categorical]
    if isinstance(score, SquaredLength):
        return _usual_products(score, moments)
    at = [moments.coded_at[name] for name in names]
    c, q = len(at), len(score.design.numeric)
    out = np.zeros((c + q, c + q))
    for j, by_level in enumerate(score.own):
        out[j, j] = moments.pairs.level_weights[at[j]] @ by_level / n
    for (j, k), table in score.pairs.items():
        block = moments.pairs.block(at[j], at[k])
        out[j, k] = float((block.multiply(table) if sp.issparse(block) else block * table).sum()) / n
    for (j, k), pair in score.sparse_pairs.items():
        rows = np.repeat(np.arange(len(pair.weights)), np.diff(pair.indptr))
        expected = pair.weights[rows] * pair.shares[pair.indices]
        out[j, k] = pair.factor * float(pair.counts @ np.log((expected + 1.0) / (pair.counts + 1.0))) / n
    terms = score.numbers
    if terms is not None:
        own = np.arange(c, c + q)
        out[own, own] = 0.5 * facts.observed
        x, y = terms.first, terms.second
        fit = (1.0 - np.square(terms.slope)) / terms.left - 1.0
        out[c + x, c + y] = 0.5 * terms.factor * (np.log(terms.left) + fit) * facts.observed[x] * facts.observed[y]
        worth = 0.5 * terms.level_factor * np.log(terms.left_by_level)
        out[terms.category, c + terms.number] = worth * facts.observed[terms.number]
    return out


def _usual_products(score: SquaredLength, moments: Moments) -> Array:
    """Return the means of |z_j|^2 and 2 z_j . z_k: sums of the covariance times W W^T over blocks."""
    design = score.design
    columns = [*design.categorical, *design.numeric]
    covariance = dense.scatter(moments, [column.name for column in design.columns])
    covariance /= float(moments.total_weight)
    weights = score.projection.weights
    spans = [design.spans[column.name] for column in columns]
    out = np.zeros((len(spans), len(spans)))
    for j, mine in enumerate(spans):
        for k, theirs in enumerate(spans[: j + 1]):
            product = float(np.sum(covariance[theirs, mine] * (weights[theirs] @ weights[mine].T)))
            out[k, j] = product if j == k else 2.0 * product
    return out
