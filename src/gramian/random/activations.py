"""What a hidden unit makes of its net input.

- `None`: the net input itself;
- `"tanh"`, `"sigmoid"`, `"relu"`;
- `"step"`: the linear threshold unit, 1 where the net input is at least 0 and 0 where it is not;
- `"cos"`: with Gaussian weights and a bias uniform on a circle, random Fourier features: products of two rows' features
  estimate a Gaussian kernel (Rahimi and Recht, 2007).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gramian.parameters import check

Matrix = npt.NDArray[np.floating]


def _step(net: Matrix, out: Matrix) -> None:
    np.greater_equal(net, 0, out=out, casting="unsafe")


def _relu(net: Matrix, out: Matrix) -> None:
    np.maximum(net, 0, out=out)


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": _relu,
    "step": _step,
    "cos": np.cos,
}

ACTIVATIONS = (None, *_FUNCTIONS)
"""Every activation there is."""


def check_activation(activation: object) -> None:
    """Raise where an activation is none of those there are."""
    check("activation", activation, *ACTIVATIONS)


def activate(activation: str | None, net: Matrix) -> Matrix:
    """Return the net inputs with the activation applied to each, in place.

    Examples
    --------
    >>> activate("step", np.array([[-0.5, 0.0, 2.0]]))
    array([[0., 1., 1.]])
    """
    if activation is not None:
        _FUNCTIONS[activation](net, out=net)
    return net
