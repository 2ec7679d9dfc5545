"""`plot()` of an embedding: a scatter in matplotlib, which only this module imports."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import MissingPackageError


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
