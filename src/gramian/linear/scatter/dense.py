"""The scatter as a p x p matrix: everything can be asked of it, and eigenpairs come from `eigh`."""

from __future__ import annotations

from gramian.arrays.effort import EIGENVECTORS, say_first
from gramian.arrays.linalg import eigh_chosen, relative_rank
from gramian.arrays.types import Array
from gramian.caching import cached_property
from gramian.errors import Argument, Call, PythonOnly
from gramian.linear.scatter.base import Count, Eigenpairs, Scatter, matrix_of
from gramian.linear.scatter.graded import semidefinite_pairs, unlike


class DenseScatter(Scatter):
    """The matrix, formed when first asked for.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from gramian.linear.layout import layout_of
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> scatter = DenseScatter(m, layout_of(m, None))
    >>> np.allclose(scatter @ np.eye(3), 2 * m.covariance()), scatter.eigenpairs().rank
    (True, 2)
    """

    @cached_property
    def _matrix(self) -> Array:
        return super().dense()

    def dense(self) -> Array:
        """Return S as a (p, p) matrix, not to be changed."""
        return self._matrix

    def __matmul__(self, v: Array) -> Array:
        """Return S v for a (p, k) block or a vector."""
        return self._matrix @ v

    def _times(self, v: Array) -> Array:
        return self._matrix @ v

    def diagonal(self) -> Array:
        """Return the scatter of each design column, (p,)."""
        return self._matrix.diagonal() if "_matrix" in vars(self) else super().diagonal()

    def eigenpairs(self, k: Count = None) -> Eigenpairs:
        """Return the leading eigenpairs: of a matrix of its own where none is kept yet, in whose memory `eigh` then works."""
        kept = "_matrix" in vars(self)
        matrix = self._matrix if kept else matrix_of(self.moments, self.layout, self.metric)
        return pairs_of_matrix(matrix, k, overwrite=not kept and matrix is not self.moments.numbers.scatter)


def say_slow_eigenvectors(p: int) -> None:
    """Warn where the eigenvectors of p design columns take minutes."""
    say_first(
        "the eigenvectors",
        p,
        EIGENVECTORS,
        "less with fewer columns or levels",
        PythonOnly(", as by ", Call("pool", max_levels=5)),
        ", and where components are counted with a whole number of them, such as ",
        Argument("n_components", 20),
    )


def pairs_of_matrix(matrix: Array, k: Count = None, *, overwrite: bool = False) -> Eigenpairs:
    """Return the leading eigenpairs of a scatter; all positive ones where `k` is None or columns differ much in variance."""
    say_slow_eigenvectors(len(matrix))
    if k is None or unlike(matrix.diagonal()):
        values, vectors = semidefinite_pairs(matrix, overwrite=overwrite)
        return Eigenpairs(values, vectors, len(values))
    values, vectors = eigh_chosen(
        matrix, lambda n_vectors: k(n_vectors, relative_rank(n_vectors)) if callable(k) else k, overwrite=overwrite
    )
    return Eigenpairs(values, vectors, relative_rank(values))
