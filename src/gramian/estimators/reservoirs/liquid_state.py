"""`LiquidStateFeatures`: filtered spike counts of a fixed spiking reservoir over sequences."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.threads import in_threads
from gramian.arrays.types import Array
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.reservoirs.sequence_features import SequenceTransformer
from gramian.estimators.spine.fields import Fields, array, such_that
from gramian.parameters import OFTEN, number, parameter, whole
from gramian.random.reservoirs.liquid_state import ENCODINGS, POOLS, Liquid, liquid_features


def _starts(model: Any) -> int:
    return int(model.n_reservoir + 1)


def _rises(starts: Array, n_synapses: int) -> bool:
    """Whether the synapses of each unit begin where those of the one before end: loops follow them wherever they lead."""
    return bool(starts[0] == 0 and starts[-1] == n_synapses and (starts[1:] >= starts[:-1]).all())


@dataclass(eq=False, repr=False)
class LiquidStateFeatures(Plots, SequenceTransformer):
    """Features of sequences from the spikes of a fixed spiking reservoir (liquid state machine).

    Leaky integrate-and-fire units on a lattice, excitatory and inhibitory, wired by distance; what a spike leaves behind in an
    exponential filter is a feature. See `gramian.random.reservoirs.liquid_state` for equations and constants.

    Parameters
    ----------
    n_reservoir : int
        Units.
    input_scaling : float
        What input weights are multiplied by.
    washout : int
        Steps at the beginning that are left out.
    pool : {"last", "mean", None}
        The traces after the last step; their mean; or those of every step, one row per step.
    encoding : {"current", "spikes", "poisson"}
        What a value is: a current; a number of spikes; or a rate, in units of 100 Hz, to draw spikes from.
    inhibitory : float
        Share of units that are inhibitory.
    connection_length : float
        In lattice steps: how far connections reach.
    dt : float
        Milliseconds of a step.
    tau_filter : float
        Milliseconds over which a spike is remembered.
    random_state : int, generator or None

    Attributes
    ----------
    reservoir_ : (n_reservoir, n_reservoir) sparse array
        Currents of a spike, from column to row, negative for inhibitory units.
    input_weights_ : (n_reservoir, channels) array
    positions_ : (n_reservoir, 3) array
        Of units on the lattice.
    background_ : (n_reservoir,) array
        The constant current into each unit, in thresholds.
    n_features_in_ : int
        Channels; of rows of a table the columns, which are the steps.
    feature_names_in_ : array of str
        Only for rows of a table with names: those of its columns.

    See Also
    --------
    EchoStateFeatures : a reservoir of continuous units.

    References
    ----------
    Maass, Natschlaeger and Markram (2002), Neural Computation 14.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> trains = np.random.default_rng(0).random((3, 200, 4)) < 0.05
    >>> model = gm.LiquidStateFeatures(64, encoding="spikes").fit(trains)
    >>> model.transform(trains).shape, model.spikes(trains)[0].shape
    ((3, 64), (200, 64))
    """

    n_reservoir: int = parameter(500, OFTEN)
    _: KW_ONLY
    input_scaling: float = parameter(1.0, number(above=0, most=1e150))
    washout: int = parameter(0, whole(0))
    pool: str | None = parameter("last", *POOLS)
    encoding: str = parameter("current", *ENCODINGS)
    inhibitory: float = parameter(0.2, number(least=0, most=1))
    connection_length: float = parameter(2.0, number(above=0, most=1e150))
    dt: float = parameter(1.0, number(above=0, most=5))
    tau_filter: float = parameter(30.0, number(above=0))
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("spikes", "states")

    _fields: ClassVar[Fields] = {
        "_wiring": such_that(
            [array(_starts, dtype="i8"), array("e", dtype="i8", least=0, below="n_reservoir"), array("e", finite=True)],
            lambda wiring, model: _rises(wiring[0], len(wiring[1])),
            "synapses between its units",
        ),
        "_excites": array("n_reservoir", dtype="u1"),
        "positions_": array("n_reservoir", 3),
        "background_": array("n_reservoir", finite=True),
        "_poisson_seed": int,
    }

    def _draw(self, channels: int, rng: np.random.Generator) -> None:
        names = ("inhibitory", "connection_length", "input_scaling", "encoding", "dt", "tau_filter")
        drawn = Liquid.drawn(self.n_reservoir, channels, rng, **{name: getattr(self, name) for name in names})
        self._wiring = [drawn.starts, drawn.targets, drawn.weights]
        self._excites = drawn.excites.astype(np.uint8)
        self.positions_, self.background_ = drawn.positions, drawn.background
        self.input_weights_, self._poisson_seed = drawn.input_weights, drawn.seed

    @property
    def _liquid(self) -> Liquid:
        starts, targets, weights = self._wiring
        given = (
            self.positions_,
            self._excites.astype(bool),
            starts,
            targets,
            weights,
            self.background_,
            self.input_weights_,
        )
        return Liquid(*given, self.encoding, self._poisson_seed, float(self.dt), float(self.tau_filter))

    @property
    def reservoir_(self) -> sp.csr_array:
        """Currents of a spike, from column to row, negative for inhibitory units."""
        check_is_fitted(self)
        starts, targets, weights = self._wiring
        n = len(self._excites)
        signed = weights * np.where(np.repeat(self._excites, np.diff(starts)), 1.0, -1.0)
        return sp.csr_array(sp.csr_array((signed, targets, starts), shape=(n, n)).T)

    def _features_of(self, sequences: list[Array]) -> list[Array]:
        return liquid_features(self._liquid, sequences, self.pool, self.washout)

    def spikes(self, X: Any) -> list[Array]:
        """Return which units fire at each step, one boolean (time, n_reservoir) array a sequence: the raster."""
        check_is_fitted(self)
        liquid = self._liquid
        return in_threads(lambda part: liquid.run(part)[1].astype(bool), self._read(X, None, reset=False))

    def firing_rates(self, X: Any) -> Array:
        """Return the mean firing rate of each unit over each sequence in Hz, (sequences, n_reservoir)."""
        return np.stack([1000.0 / self.dt * part.mean(axis=0) for part in self.spikes(X)])
