"""`EchoStateFeatures`: states of a fixed recurrent reservoir over sequences; `EchoStateRegressor` shares its parameters."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import EchoStateWarning
from gramian.estimators.reservoirs.sequence_features import (
    SequenceTransformer,
)
from gramian.estimators.spine.fields import Fields, array
from gramian.parameters import OFTEN, declared, number, whole
from gramian.random.reservoirs.echo_state import ACTIVATIONS, POOLS, Reservoir, as_sparse, sequence_features


class EchoStateUnits:
    """The parameters and weights of a reservoir."""

    _fields: ClassVar[Fields] = {
        "_columns": array("n_reservoir", "d", dtype="u4", below="n_reservoir"),
        "_values": array("n_reservoir", "d", finite=True),
        "bias_": array("n_reservoir", finite=True),
    }

    n_reservoir: int
    spectral_radius: float
    leak: float
    input_scaling: float
    connectivity: int
    bias_scaling: float
    activation: str | None

    _parameters = declared(
        n_reservoir=OFTEN,
        spectral_radius=number(least=0),
        leak=number(above=0, most=1),
        input_scaling=number(above=0, most=1e150),
        washout=whole(0),
        connectivity=whole(),
        bias_scaling=number(least=0, most=1e150),
        activation=tuple(ACTIVATIONS),
    )

    def _check_together(self) -> None:
        if self.spectral_radius >= 1:
            warnings.warn(
                f"spectral_radius={self.spectral_radius:g} is 1 or more: states may depend on where the reservoir began, "
                f"however long the sequence; use less than 1 unless the inputs are strong",
                EchoStateWarning,
                stacklevel=7,
            )

    def _draw_reservoir(self, channels: int, rng: np.random.Generator) -> None:
        drawn = Reservoir.drawn(
            self.n_reservoir,
            channels,
            rng,
            spectral_radius=float(self.spectral_radius),
            connectivity=self.connectivity,
            input_scaling=float(self.input_scaling),
            bias_scaling=float(self.bias_scaling),
            leak=float(self.leak),
            activation=self.activation,
        )
        self._columns, self._values = drawn.columns, drawn.values
        self.input_weights_, self.bias_ = drawn.input_weights, drawn.bias

    @property
    def _reservoir(self) -> Reservoir:
        return Reservoir(
            self._columns, self._values, self.input_weights_, self.bias_, float(self.leak), self.activation
        )

    @property
    def reservoir_(self) -> sp.csr_array:
        """The recurrent weights, (n_reservoir, n_reservoir), sparse."""
        check_is_fitted(self)
        return as_sparse(self._columns, self._values)


class EchoStateFeatures(EchoStateUnits, SequenceTransformer):
    """Features of sequences from the states of a fixed recurrent reservoir (echo state network).

    The state of step t is x(t) = (1 - leak) x(t - 1) + leak tanh(W x(t - 1) + W_in u(t) + b), from x(0) = 0. Sequences may
    differ in length; each is run in a thread, and one's features do not depend on the others.

    Parameters
    ----------
    n_reservoir : int
        Units.
    spectral_radius : float
        The largest |eigenvalue| of W; below 1 the initial state is forgotten.
    leak : float
        Above 0 and at most 1: how fast a unit follows its input.
    input_scaling : float
        W_in is uniform between minus and plus this.
    washout : int
        Steps at the beginning that are left out.
    pool : {"last", "mean", "model", None}
        The last state; the mean state; the ridge regression of the next input on the state, one per sequence (its "model"); or
        every state, a row a step.
    connectivity : int
        Units that each unit listens to.
    bias_scaling : float
        b is uniform between minus and plus this.
    activation : {"tanh", "relu", None}
    random_state : int, generator or None

    Attributes
    ----------
    reservoir_ : (n_reservoir, n_reservoir) sparse array
        W.
    input_weights_ : (n_reservoir, channels) array
    bias_ : (n_reservoir,) array
    n_features_in_ : int
        Channels; of rows of a table the columns, which are the steps.
    feature_names_in_ : array of str
        Only for rows of a table with names: those of its columns.

    See Also
    --------
    EchoStateRegressor : outputs fitted to the states.
    LiquidStateFeatures : a reservoir of spiking units.

    References
    ----------
    Jaeger (2001), GMD report 148; Chen, Tino, Rodan and Yao (2014), IEEE TNNLS 25.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> sequences = [np.sin(np.arange(40.0)), np.cos(np.arange(25.0))]
    >>> gm.EchoStateFeatures(30).fit_transform(sequences).shape
    (2, 30)
    >>> [states.shape for states in gm.EchoStateFeatures(30, pool=None, washout=5).fit_transform(sequences)]
    [(35, 30), (20, 30)]
    """

    _parameters = declared(pool=POOLS)

    def __init__(
        self,
        n_reservoir: int = 500,
        *,
        spectral_radius: float = 0.9,
        leak: float = 1.0,
        input_scaling: float = 1.0,
        washout: int = 0,
        pool: str | None = "last",
        connectivity: int = 10,
        bias_scaling: float = 0.2,
        activation: str | None = "tanh",
        random_state: Any = 0,
    ) -> None:
        self.n_reservoir = n_reservoir
        self.spectral_radius = spectral_radius
        self.leak = leak
        self.input_scaling = input_scaling
        self.washout = washout
        self.pool = pool
        self.connectivity = connectivity
        self.bias_scaling = bias_scaling
        self.activation = activation
        self.random_state = random_state

    def _needed_steps(self) -> int:
        # The model of a sequence needs two pairs of a state and the next input.
        return 3 if self.pool == "model" else 1

    def _feature_count(self, channels: int) -> int:
        return (self.n_reservoir + 1) * channels if self.pool == "model" else self.n_reservoir

    def _draw(self, channels: int, rng: np.random.Generator) -> None:
        self._draw_reservoir(channels, rng)

    def states(self, X: Any) -> list[Array]:
        """Return the states of the reservoir over time, one (time, n_reservoir) array per sequence."""
        check_is_fitted(self)
        return [self._reservoir.states(part) for part in self._read(X, None, reset=False)]

    def _features_of(self, sequences: list[Array]) -> list[Array]:
        return sequence_features(self._reservoir, sequences, self.pool, self.washout)
