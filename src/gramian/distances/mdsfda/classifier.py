"""The end of MDS-FDA: from fitted and held-out class scores to axes, and to a classifier in the embedding.

Write Y for the centred class indicators, each column divided by the root of the number of its objects, and S for the hat
matrix of the regularised regression on the features. Fitted scores are F = S Y. Fisher's axes are the eigenvectors of the
c x c matrix ``Y' S Y = Q diag(rho) Q'`` (see `gramian.distances.mdsfda.mdsfda`), and the embedding is Z = F Q.

F is optimistic: each object's own label has drawn it towards its class. So the classifier is built from held-out scores P
(the same regression without the object's fold), turned by the same Q: along each axis the class means are the fitted ones
times the slope of held-out on fitted means, which is below one where the fit is optimistic and never below zero; the
within-class covariance is that of the held-out scores about them. Classes are then told apart by the nearest mean in
that metric, with priors. Each axis is given the unit of that covariance: one within-class standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gramian.arrays.types import Array
from gramian.errors import DataError, shown
from gramian.parameters import as_numbers

SMALLEST_SLOPE = 1e-3
"""Class means on an axis without held-out evidence shrink to this share; 0 would leave the classes tied."""


@dataclass(frozen=True)
class Labels:
    """Class codes of n objects.

    Attributes
    ----------
    codes : (n,) array of int
    counts : (c,) array of int
    priors : (c,) array
    """

    codes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    priors: Array

    @classmethod
    def of(cls, codes: npt.NDArray[np.int64], n_classes: int, priors: npt.ArrayLike | None = None) -> Labels:
        """Return labels with the observed priors, or with those given."""
        counts = np.bincount(codes, minlength=n_classes)
        if priors is None:
            return cls(codes, counts, counts / counts.sum())
        given = as_numbers("priors", priors)
        if given.shape != (n_classes,) or (given <= 0).any() or not np.isfinite(given).all():
            raise DataError(f"priors must be {n_classes} positive numbers, one a class; got {shown(priors)}")
        return cls(codes, counts, given / given.sum())

    def scores(self) -> Array:
        """Return Y: centred indicators over the root of the class counts, (n, c)."""
        out = np.zeros((len(self.codes), len(self.counts)))
        out[np.arange(len(self.codes)), self.codes] = 1.0
        return (out - self.counts / len(self.codes)) / np.sqrt(self.counts)

    def at(self, index: npt.NDArray[np.int64]) -> Labels:
        """Return the labels of some objects, in the same classes."""
        codes = self.codes[index]
        return Labels(codes, np.bincount(codes, minlength=len(self.counts)), self.priors)

    def only(self, index: npt.NDArray[np.int64]) -> Labels:
        """Return the labels of some objects, their classes alone: numbered anew, priors in the same proportion.

        Examples
        --------
        >>> Labels.of(np.array([0, 1, 2, 2]), 3, [0.6, 0.3, 0.1]).only(np.array([0, 2])).priors.round(3)
        array([0.857, 0.143])
        """
        present, codes = np.unique(self.codes[index], return_inverse=True)
        return Labels.of(codes.astype(np.int64), len(present), self.priors[present])

    def repeated(self, times: int) -> Labels:
        """Return the labels of the objects one time after another."""
        return Labels(np.tile(self.codes, times), self.counts * times, self.priors)

    def means(self, values: Array) -> Array:
        """Return the mean of each class, (c, k)."""
        out = np.zeros((len(self.counts), values.shape[1]))
        np.add.at(out, self.codes, values)
        return out / np.maximum(np.bincount(self.codes, minlength=len(self.counts)), 1)[:, None]


@dataclass(frozen=True)
class NearestMean:
    """Class means in the embedding and the metric that whitens the within-class covariance.

    Attributes
    ----------
    means : (c, k) array
    whiten : (k, k) array
        Distances are Euclidean in ``z @ whiten``.
    log_priors : (c,) array
    spread : (k,) array
        Within-class standard deviation of held-out objects along each axis.
    """

    means: Array
    whiten: Array
    log_priors: Array
    spread: Array

    def moved(self, offset: Array) -> NearestMean:
        """Return the classifier for an embedding that is this one plus an offset."""
        return replace(self, means=self.means + offset)

    def in_spreads(self) -> NearestMean:
        """Return the classifier for the embedding divided by `spread`."""
        return NearestMean(
            self.means / self.spread, self.whiten * self.spread[:, None], self.log_priors, np.ones_like(self.spread)
        )

    def log_proba(self, Z: Array) -> Array:
        """Return the log-posterior of each class, (n, c)."""
        at, centres = Z @ self.whiten, self.means @ self.whiten
        gaps = np.square(at).sum(axis=1)[:, None] - 2 * at @ centres.T + np.square(centres).sum(axis=1)
        scores = self.log_priors - 0.5 * gaps
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores


def nearest_mean(fitted_means: Array, held_out: Array, labels: Labels) -> NearestMean:
    """Return the classifier that held-out scores speak for.

    Parameters
    ----------
    fitted_means : (c, k) array
        Class means of the embedding, over all objects.
    held_out : (m, k) array
        The embedding of objects whose labels the fit did not see.
    labels : Labels
        Of the held-out objects.
    """
    counts = labels.counts[:, None]
    shift = held_out.mean(axis=0) - counts.T @ fitted_means / counts.sum()
    observed = labels.means(held_out) - shift
    slope = (counts * fitted_means * observed).sum(axis=0) / np.maximum(
        (counts * fitted_means**2).sum(axis=0), np.finfo(float).tiny
    )
    means = fitted_means * np.maximum(slope, SMALLEST_SLOPE) + shift
    rest = held_out - means[labels.codes]
    within = rest.T @ rest / max(1, len(rest) - len(counts))
    values, vectors = np.linalg.eigh(within)
    # An axis without spread would make its own differences infinite: a floor relative to the widest axis.
    floor = max(values[-1], float(np.square(means).max(initial=0.0)) * 1e-12, np.finfo(float).tiny) * 1e-9
    whiten = vectors / np.sqrt(np.maximum(values, floor))
    spread = np.sqrt(np.maximum(np.diag(within), floor))
    return NearestMean(means, whiten, np.log(labels.priors), spread)


def held_out_quality(fitted_means: Array, held_out: Array, labels: Labels) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which held-out objects are classified rightly, and the log-probability of their right class, both (m,)."""
    log_proba = nearest_mean(fitted_means, held_out, labels).log_proba(held_out)
    return log_proba.argmax(axis=1) == labels.codes, log_proba[np.arange(len(log_proba)), labels.codes]


def axes(cross: Array, n_components: int) -> tuple[Array, Array]:
    """Return rho and Q of ``Y' S Y``: the strongest eigenvalues, descending, and their vectors."""
    values, vectors = np.linalg.eigh((cross + cross.T) / 2)
    return values[::-1][:n_components].clip(0.0, 1.0), vectors[:, ::-1][:, :n_components]


def choose(accuracy: Array) -> int:
    """Return the position of the best accuracy; of equally good values the most regularised, which is the last.

    Examples
    --------
    >>> choose(np.array([0.90, 0.94, 0.94, 0.80]))
    2
    """
    return int(np.flatnonzero(accuracy >= accuracy.max() - 1e-9)[-1])
