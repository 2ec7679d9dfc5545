"""How many random dimensions keep all distances between n rows: the Johnson-Lindenstrauss bound.

Projected to k dimensions by independent weights of mean 0 and variance 1/k, a squared distance is multiplied by a random factor
of mean 1. For Gaussian weights that factor times k is chi-squared, and a Chernoff bound gives

    P(factor outside [1 - e, 1 + e]) <= 2 exp(-k (e^2/2 - e^3/3) / 2),

the same for weights +-1 and sparse ones (Achlioptas, 2003). With k = 4 log(n) / (e^2/2 - e^3/3) that is 2 / n^2 for one pair,
so that of the n (n - 1) / 2 pairs fewer than one is expected outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.parameters import check, number


def check_eps(eps: Any) -> float:
    """Return the distortion allowed, a number between 0 and 1."""
    check("eps", eps, number(above=0, below=1))
    return float(eps)


def least_dimension(n_rows: int, eps: float = 0.1) -> int:
    """Return the number of dimensions at which all squared distances between rows are kept to a share `eps`.

    Examples
    --------
    >>> least_dimension(1_000_000, 0.5), least_dimension(1_000_000, 0.1)
    (664, 11842)
    """
    e = check_eps(eps)
    return max(1, int(np.ceil(4 * np.log(max(n_rows, 2)) / (e**2 / 2 - e**3 / 3) - 1e-9)))
