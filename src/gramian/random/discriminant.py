r"""From regressions of class indicators to log posteriors: a Gaussian discriminant of what rows left out would get.

Least squares on the indicators of three or more classes *masks*: a class that lies between others never has the largest output,
however well the outputs tell it apart (Hastie, Tibshirani and Buja, 1994). Nothing is lost in the outputs themselves: their
class means differ. So the outputs of a row, f = B^T (x - m), are compared with the mean outputs of each class in the metric of
their covariance within classes, W:

    d_k = f^T W^-1 u_k - u_k^T W^-1 u_k / 2 + log(share of k),

affine in f, and the log posterior of class k up to a constant where outputs are Gaussian within classes.

*Rows left out.* In the rows of the fit, B has seen their own classes: outputs are too close to the indicators. With n rows, H
the hat matrix and h its mean diagonal (effective columns and the mean, over rows), the output of a row that is left out is

    f_i - (y_i - f_i) H_ii / (1 - H_ii)   ~   (f_i - h y_i) / (1 - h),        y the centred indicators,

which is what generalised cross-validation takes for it. That is linear in f and y, so its class means and its covariance within
classes (where y is constant) follow from the moments: with N the class sizes, C the cross scatter, S the scatter,
G = C^T B and F = B^T S B,

    u = (N^-1 G - h (I - 1 share^T)) / (1 - h),        W = (F - G N^-1 G) / (n (1 - h)^2).

N^-1/2 G N^-1/2 is symmetric with eigenvalues g in [0, 1], the squared canonical correlations of outputs and classes. Left out
they are (g - h) / (1 - h); where that falls below 0 there is no association left, and it counts as 0.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array

CUT = 1e-10
"""Directions of the outputs whose variance within classes is below this share of the largest are rounding."""


def discriminant(association: Array, fitted: Array, sizes: Array, effective: float) -> tuple[Array, Array] | None:
    """Return the map from outputs to log posteriors, `outputs @ slope + offset`, up to a constant a row.

    Parameters
    ----------
    association : (c, c) array
        G, the scatter of outputs with the indicators of the classes.
    fitted : (c, c) array
        F, the scatter of outputs.
    sizes : (c,) array
        Rows (weight) of each class, all above 0.
    effective : float
        Effective columns, the trace of the hat matrix of centred columns.

    Returns
    -------
    (c, c) array and (c,) array, or None
        None where no row is left to judge by: as many effective columns as rows, or outputs that do not vary in classes.

    Examples
    --------
    >>> y = np.repeat(np.eye(3), 4, axis=0) - 1 / 3
    >>> f = 0.5 * y + 0.1 * np.tile(np.array([[1, -1, 0], [-1, 1, 0], [1, 0, -1], [-1, 0, 1]]), (3, 1))
    >>> slope, offset = discriminant(y.T @ f, f.T @ f, np.full(3, 4.0), 1.0)
    >>> ((f + 1 / 3) @ slope + offset).argmax(axis=1)
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    n = float(sizes.sum())
    h = (effective + 1) / n
    if (1 - h) * n < 1:
        return None
    root, share = np.sqrt(sizes), sizes / n
    scaled = (association + association.T) / 2 / np.outer(root, root)
    values, vectors = np.linalg.eigh(scaled)
    left_out = np.maximum((values - h) / (1 - h), 0.0)
    # Indicators sum to one: the root of the shares has g = 0, and stays there.
    means = ((vectors * left_out) @ vectors.T) * root / root[:, None]
    within = (fitted - association @ (association / sizes[:, None])) / (n * (1 - h) ** 2)
    spread, turned = np.linalg.eigh((within + within.T) / 2)
    kept = spread > CUT * max(float(spread[-1]), 0.0)
    # The outputs of a row sum to 0 about their means: one direction less than classes.
    if not kept.any() or spread[-1] <= CUT * float(np.abs(fitted).max()) / n:
        return None
    inverse = (turned[:, kept] / spread[kept]) @ turned[:, kept].T
    slope = inverse @ means.T
    offset = np.log(share) - np.einsum("kj,jk->k", means, slope) / 2
    return slope, offset - share @ slope
