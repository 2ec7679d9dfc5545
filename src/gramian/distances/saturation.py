"""Distances that saturate: near objects keep their distance, all far ones come to lie equally far.

    d'^2 = 1 - exp(-rate d^2 / typical)

with `typical` the median squared distance between training objects. By Schoenberg's theorem d' is Euclidean wherever d is,
and its Gram matrix is, up to centring, half a Gaussian kernel of d: linear coordinates in d' are what a kernel machine with
that kernel draws its borders in. It helps where large distances mean only "different", as with edits and warped series.

How far to go is a question to the data, answered by the same cross-validation as the regularisation, which distances as they
are take part in. The rule: (1) draw at most `SAMPLED_OBJECTS` objects, each class by its share, and deal them into folds;
(2) on their distances, for each of `RATES`, take the best held-out accuracy over the grid of regularisations; (3) the best rate
is taken where its lead over distances as they are exceeds the standard error of that lead. All objects are then decomposed
once, at that rate. The answer depends on the metric more than on each object, and a decomposition of all for each rate
would cost several times the solution. On the sampled objects the choice is that of refits without each fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import available_memory
from gramian.arrays.threads import in_threads, one_blas_thread
from gramian.arrays.types import Array
from gramian.distances.mds import gram
from gramian.distances.mdsfda import Labels, Path, draw_folds, solve_gram

RATES = (None, 0.3, 1.0, 3.0)
"""What cross-validation chooses from: none, and rates half a decade apart about 1."""

SAMPLED_ROWS = 500

SAMPLED_OBJECTS = 700
"""Objects that the choice of a rate is made on: four decompositions of 700, grids included, take less than half the time of one
of 2,000."""


def typical_square(D: npt.NDArray[Any]) -> float:
    """Return the median of the positive squared distances, from at most `SAMPLED_ROWS` rows spread evenly."""
    rows = np.asarray(D[:: -(-len(D) // SAMPLED_ROWS)], dtype=np.float64)
    apart = rows[rows > 0]
    return float(np.median(apart)) ** 2 if apart.size else 1.0


def saturated(D: npt.NDArray[Any], rate: float | None, typical: float) -> npt.NDArray[Any]:
    """Return saturated distances, of the type of D; without a rate D itself.

    Examples
    --------
    >>> saturated(np.array([0.0, 1.0, 100.0]), 1.0, 1.0).round(3)
    array([0.   , 0.795, 1.   ])
    """
    if rate is None:
        return D
    out = np.square(D)
    out *= -rate / typical
    np.expm1(out, out=out)
    np.negative(out, out=out)
    return np.sqrt(out, out=out)


class SaturatedRows:
    """Distances that saturate whenever rows of them are read: for a matrix with no room for a second beside it.

    Parameters
    ----------
    D : (n, n) array
    rate : float
    typical : float
    """

    def __init__(self, D: npt.NDArray[Any], rate: float, typical: float) -> None:
        self._D, self._rate, self._typical = D, rate, typical
        self.shape, self.dtype, self.itemsize, self.nbytes = D.shape, D.dtype, D.itemsize, D.nbytes

    def __len__(self) -> int:
        return len(self._D)

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        return saturated(np.asarray(self._D[rows]), self._rate, self._typical)


def saturated_rows(D: npt.NDArray[Any], rate: float | None, typical: float) -> npt.NDArray[Any] | SaturatedRows:
    """Return saturated distances as a matrix where memory has room for it, and otherwise row by row as they are read."""
    if rate is None or D.nbytes <= available_memory():
        return saturated(D, rate, typical)
    return SaturatedRows(D, rate, typical)


def sample_objects(codes: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the positions of at most `SAMPLED_OBJECTS` objects, each class by its share, without classes left with one.

    Examples
    --------
    >>> sample_objects(np.array([0, 0, 1, 2, 2]), np.random.default_rng(0))
    array([0, 1, 3, 4])
    """
    n = len(codes)
    order = np.lexsort((rng.random(n), codes))
    taken = order[np.arange(min(n, SAMPLED_OBJECTS)) * n // min(n, SAMPLED_OBJECTS)]
    counts = np.bincount(codes[taken])
    return np.sort(taken[counts[codes[taken]] > 1])


def choose_rate(
    D: npt.NDArray[Any],
    labels: Labels,
    *,
    typical: float,
    n_components: int,
    regularization: float | None,
    rng: np.random.Generator,
) -> tuple[float | None, Array]:
    """Return the rate of best held-out accuracy, None where its lead is chance, and the accuracies of `RATES`.

    The lead of a rate over distances as they are is the sum over objects of the difference d_i in being right, held out; it
    counts where it exceeds its standard error ``sqrt(sum d_i^2)``. Objects of one class, or all at distance zero, speak for no
    rate: None, and accuracies that are NaN.

    Parameters
    ----------
    D : (m, m) array
        Distances between the sampled objects, not changed.
    labels : Labels
        Of those objects.
    typical : float
    n_components : int
    regularization : float or None
        As for `mdsfda.solve`: each rate is judged at the best regularisation, or at the one given.
    rng : Generator
        Deals the folds, the same for every rate.
    """
    if len(labels.counts) < 2 or not D.any():
        return None, np.full(len(RATES), np.nan)
    folds = draw_folds(labels.codes, rng)
    n_components = min(n_components, len(labels.counts) - 1)

    def judge(rate: float | None) -> Path:
        G, _ = gram(saturated(D, rate, typical), overwrite=rate is not None)
        return solve_gram(G, labels, n_components=n_components, regularization=regularization, folds=folds).path

    # Decompositions of this size gain nothing from a second BLAS thread, so each rate has a thread of its own.
    with one_blas_thread():
        paths = in_threads(judge, RATES)
    accuracy = np.array([path.accuracy.max() for path in paths])
    best = int(accuracy.argmax())
    lead = paths[best].right - paths[0].right
    return RATES[best] if lead.sum() > np.sqrt(np.square(lead).sum()) else None, accuracy
