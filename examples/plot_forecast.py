"""Forecast a chaotic series
=========================

Forecast a chaotic series with an echo state network; then merge an extreme learning machine from two halves.

Run ``python examples/plot_forecast.py [PICTURE.png]``. The series is generated; nothing is downloaded. Without matplotlib the
script prints its figures and draws no picture.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import gramian as gm

LEARNED, AHEAD = 1500, 200


def mackey_glass(n: int, tau: int = 17, substeps: int = 4, transient: int = 500) -> np.ndarray:
    """Return dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x(t) at whole times, by the midpoint rule."""
    h, delay = 1 / substeps, tau * substeps
    x = np.full(delay + (n + transient) * substeps, 1.2)
    for t in range(delay, len(x)):
        past = x[t - delay]
        middle = x[t - 1] + h / 2 * (0.2 * past / (1 + past**10) - 0.1 * x[t - 1])
        past = (x[t - delay] + x[t - delay + 1]) / 2
        x[t] = x[t - 1] + h * (0.2 * past / (1 + past**10) - 0.1 * middle)
    return x[delay::substeps][transient : transient + n] - 1.0


def forecast() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the true values, the forecast, and the states of some units."""
    series = mackey_glass(LEARNED + AHEAD)
    model = gm.EchoStateRegressor(200, leak=0.3, washout=100).fit(series[:LEARNED])
    ahead, truth = model.forecast(AHEAD), series[LEARNED:]
    error = np.sqrt(np.mean(np.square(ahead[:84] - truth[:84]))) / series.std()
    print(f"forecast of 84 steps: error {100 * error:.2f}% of the series' spread (ridge {model.ridge_:g})")
    states = gm.EchoStateFeatures(200, leak=0.3, pool=None).fit([series]).transform([series])[0]
    return truth, ahead, states[LEARNED:, :5]


def merged() -> None:
    """Print the difference between a machine merged from two halves and one fitted to all rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    first, second, whole = (
        gm.ELMClassifier(100, scale=3.0).fit(X[at], y[at]) for at in (np.s_[:900], np.s_[900:], np.s_[:])
    )
    gap = np.abs((first + second).predict_proba(X) - whole.predict_proba(X)).max()
    print(
        f"signs of a product: {100 * whole.score(X, y):.1f}% right; merged from two halves within {gap:.0e} of the whole"
    )


def draw(path: Path, truth: np.ndarray, ahead: np.ndarray, states: np.ndarray) -> None:
    """Draw the forecast against the truth, and the states of a few units."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 6), sharex=True)
    top.plot(truth, color="0.3", label="true values")
    top.plot(ahead, "--", color="tab:orange", label="forecast")
    top.legend(loc="upper right")
    top.set_ylabel("value")
    bottom.plot(states)
    bottom.set_xlabel("steps after the last known value")
    bottom.set_ylabel("states of five units")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"wrote {path}")


def main(arguments: list[str]) -> None:
    """Forecast, merge, draw."""
    truth, ahead, states = forecast()
    merged()
    if find_spec("matplotlib") is None:
        print("no picture: install matplotlib for one")
        return
    draw(Path(arguments[0]) if arguments else Path("forecast.png"), truth, ahead, states)


if __name__ == "__main__":
    main(sys.argv[1:])
