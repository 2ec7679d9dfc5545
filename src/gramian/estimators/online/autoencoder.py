"""`LinearAutoencoder`: a code of few numbers from which rows are rebuilt, trained by gradient in minibatches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.estimators.online.transformer import (
    OnlineTransformer,
    batch_rows,
    blocks,
    generator,
    noted,
    refuse_schedule,
)
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, Optional, array
from gramian.online.amnesic import GUARDS, learn_batch
from gramian.online.hebbian import Autoencoder, first_weights, reconstruction_error
from gramian.online.hebbian import learn_autoencoder as learn
from gramian.online.rows import Batch, DesignRows
from gramian.online.schedules import Schedule, recorded
from gramian.parameters import TRUTH, declared


@dataclass(eq=False, repr=False)
class LinearAutoencoder(Plots, OnlineTransformer):
    """A linear autoencoder: features from which rows are rebuilt with the least squared error.

    Rows are centred first; the code is y = W x, its reconstruction V^T y. The best code spans the first k principal components.
    By default the gradient is divided by its curvature, so that there is no rate to tune (see `gramian.online.hebbian`),
    and the code is the components themselves; with a rate of your own it is some basis of their span.

    Parameters
    ----------
    n_components : int
        Numbers in the code, k.
    tied : bool
        Whether the decoder is the encoder transposed, or learnt beside it. At the automatic rate both come out the same.
    learning_rate : "auto" or float
        Of the gradient of half the mean squared error of a minibatch.
    schedule : {"constant", "1/t", "robbins-monro"}
        How a given rate falls over the updates.
    n_epochs : int
        Times that `fit` reads the rows.
    batch_size : "auto" or int
        Rows of a minibatch, by default as in `HebbianPCA`.
    shuffle : bool
        Take the rows of `fit` in another random order each epoch.
    random_state : int, RandomState or None
        Of the order of rows and the first weights.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    encoder_ : (k, p) array
        Over `design_names_`: features are `(x - mean_) @ encoder_.T`.
    decoder_ : (k, p) array
        Rows are rebuilt as `z @ decoder_ + mean_`.
    reconstruction_error_ : float
        Mean over the rows of the last call of ``|x - reconstruction|^2``.
    history_ : dict of arrays
        One entry an epoch, or a call of `partial_fit`: `updates`, `weights` (of the encoder), `norms`, `error`.
    n_updates_ : int
    n_components_, n_epochs_, mean_, n_samples_seen_, n_features_in_, feature_names_in_, design_, design_names_, projection_
        As in every estimator of rows.

    See Also
    --------
    HebbianPCA : the same components by Hebbian rules.
    PCA : the batch solution, from moments.

    References
    ----------
    Baldi and Hornik (1989), Neural networks and principal component analysis: learning from examples without local minima.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 0.1]
    >>> model = gm.LinearAutoencoder(2).fit(X)
    >>> model.reconstruct(X).shape, round(model.reconstruction_error_, 3)
    ((500, 3), 0.01)
    """

    n_components: int = 2
    _: KW_ONLY
    tied: bool = True
    learning_rate: float | str = "auto"
    schedule: str = "constant"
    n_epochs: int = 20
    batch_size: int | str = "auto"
    shuffle: bool = True
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("learning", "loadings")
    _parameters = declared(tied=TRUTH)

    _fields: ClassVar[Fields] = {
        "encoder_ decoder_": array("k", "p"),
        "reconstruction_error_": float,
        "_history": noted(error=float),
        "_encoder _decoder": Optional(array("k", "p", finite=True), "rule"),
    }

    def _check_together(self) -> None:
        refuse_schedule(self)

    _ruled = ("_encoder", "_decoder")

    @property
    def _automatic(self) -> bool:
        return isinstance(self.learning_rate, str)

    def _rows_at_once(self, rows: DesignRows, p: int) -> int:
        return batch_rows(self.batch_size, rows, p, min(int(self.n_components) + GUARDS * self._automatic, p))

    # Learning

    def _start(self, rows: DesignRows, mean: Array) -> None:
        p, k = len(mean), int(self.n_components)
        self._refuse_many(p)
        self._updates = 0
        if self._automatic:
            self._directions, self._variances, self._learnt = np.empty((0, p)), np.empty(0), 0.0
            return
        # Half of unit length: on the way from there the error falls from the first step on.
        self._encoder = self._decoder = 0.5 * first_weights(k, p, generator(self.random_state, 0))

    def _epoch(self, rows: DesignRows, mean: Array, epoch: int) -> bool:
        rng, order = self._shuffled(rows, epoch)
        size = self._rows_at_once(rows, len(mean))
        self._update(((rows.batch(order[s : s + size], mean), None) for s in range(0, len(rows), size)), rng)
        self._note(self._error(rows, mean))
        return False

    def _more(self, batches: Iterator[tuple[Batch, Array]]) -> None:
        self._update(batches, generator(self.random_state, 2, self._updates))

    def _update(self, batches: Iterable[tuple[Batch, Array | None]], rng: np.random.Generator) -> None:
        if not self._automatic:
            state = Autoencoder(self._encoder, self._decoder, self._updates)
            schedule = Schedule(self.learning_rate, self.schedule)  # type: ignore[arg-type]
            state = learn(state, (batch for batch, _ in batches), schedule, tied=bool(self.tied))
            self._encoder, self._decoder, self._updates = state.encoder, state.decoder, state.updates
            return
        size = min(int(self.n_components) + GUARDS, self._directions.shape[1])
        amnesic = self._amnesic
        for batch, shift in batches:
            amnesic = learn_batch(amnesic, [batch], size, rng=rng, shift=shift)
            self._updates += 1
        self._keep(amnesic)

    # What comes out

    def _pair(self) -> tuple[Array, Array]:
        if not self._automatic:
            return self._encoder, self._decoder
        leading = self._leading()
        return leading, leading

    def _error(self, rows: DesignRows, mean: Array) -> float:
        return reconstruction_error(*self._pair(), blocks(rows, mean))

    def _note(self, error: float) -> None:
        self._history = recorded(self._history, updates=self._updates, weights=self._pair()[0], error=error)

    def _weights_now(self) -> tuple[Array, Array | None]:
        encoder, decoder = self._pair()
        self.encoder_, self.decoder_ = np.ascontiguousarray(encoder), np.ascontiguousarray(decoder)
        return self.encoder_, self.decoder_

    def _describe(self, rows: DesignRows, mean: Array) -> None:
        self.n_components_ = int(self.n_components)
        self.n_updates_ = self._updates
        self.reconstruction_error_ = self._error(rows, mean)
        if not self._history or self._history["updates"][-1] != self._updates:
            self._note(self.reconstruction_error_)

    def reconstruct(self, X: Any, design: bool = False) -> Any:
        """Return rows rebuilt from their codes: source columns, or design columns where asked for.

        Parameters
        ----------
        X : rows in memory
        design : bool
            As in `inverse_transform`.
        """
        from sklearn import config_context

        with config_context(transform_output="default"):
            features = np.asarray(self.transform(X))
        return self.inverse_transform(features, design=design)
