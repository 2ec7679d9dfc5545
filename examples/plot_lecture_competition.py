"""Lecture: neurons that compete
=============================

Three networks find a code of the same signal: negative feedback, lateral inhibition, and divisive input modulation.

Each neuron stands for one atom. All networks begin with activities of zero and repeat a simple step. The first steps are worked
by hand below, and compared with the library's trajectory.
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Twelve bumps on a line of 40 pixels, which overlap. The signal is the sum of two of them, with some noise.

rng = np.random.default_rng(0)
pixels = np.arange(40)
centres = np.linspace(3, 36, 12)
atoms = np.exp(-((pixels - centres[:, None]) ** 2) / 18)
atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
truth = np.zeros(12)
truth[[3, 7]] = 2.0, 1.0
x = np.maximum(truth @ atoms + rng.normal(0, 0.02, 40), 0)
STEPS = 300

# %%
# **Negative feedback.** The neurons see what is left over, x - y D, and add a part of it: y <- y + step · D (x - y D).
# The activities approach least squares, above and below zero. Nothing makes them sparse.

step = 0.3
feedback = np.zeros((STEPS + 1, 12))
for i in range(STEPS):
    feedback[i + 1] = feedback[i] + step * atoms @ (x - feedback[i] @ atoms)
coder = gm.SparseCoder(atoms, "feedback", step=step)
np.testing.assert_allclose(coder.trajectory(x[None], STEPS)[0], feedback, atol=1e-9)

# %%
# **Lateral inhibition (LCA).** A neuron has a potential u, and it is active by the part of u above a threshold. An
# active neuron inhibits the others by the similarity of their atoms: u <- u + step · (D x - u - (D D' - I) y). The
# activities approach the optimum of the Lasso: few are above zero.

THRESHOLD = 0.15
inhibition = atoms @ atoms.T - np.eye(12)
lateral, u = np.zeros((STEPS + 1, 12)), np.zeros(12)
for i in range(STEPS):
    u = u + step * (atoms @ x - u - inhibition @ lateral[i])
    lateral[i + 1] = np.maximum(u - THRESHOLD, 0)
coder = gm.SparseCoder(atoms, "lca", penalty=THRESHOLD, step=step, positive=True)
np.testing.assert_allclose(coder.trajectory(x[None], STEPS)[0], lateral, atol=1e-9)
lasso = gm.SparseCoder(atoms, "lasso", penalty=THRESHOLD, positive=True).transform(x[None])[0]
np.testing.assert_allclose(lateral[-1], lasso, atol=0.01)

# %%
# **Divisive input modulation (DIM).** The input is divided by its reconstruction, not subtracted: e = x / (y D), and
# y <- y · D' e, where D' are the atoms divided by their sums. Both y and y D are at least a small number, epsilon.

EPSILON = 0.01
forward = atoms / atoms.sum(axis=1, keepdims=True)
divisive = np.zeros((STEPS + 1, 12))
for i in range(STEPS):
    e = x / np.maximum(divisive[i] @ atoms, EPSILON)
    divisive[i + 1] = np.maximum(divisive[i], EPSILON) * (forward @ e)
coder = gm.SparseCoder(atoms, "dim", epsilon=EPSILON)
np.testing.assert_allclose(coder.trajectory(x[None], STEPS)[0], divisive, atol=1e-9)

# %%
# All three describe the signal. They differ in how many neurons stay active. The threshold of lateral inhibition also
# makes the activities smaller, which costs some accuracy.

runs = {"negative feedback": feedback, "lateral inhibition (LCA)": lateral, "divisive (DIM)": divisive}
for name, path in runs.items():
    error = np.linalg.norm(x - path[-1] @ atoms) / np.linalg.norm(x)
    print(
        f"{name:25} {np.count_nonzero(np.abs(path[-1]) > 0.05):2} neurons beyond 0.05, error {error:.1%} of the signal"
    )

figure, grid = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
axes = grid.ravel()
axes[0].plot(pixels, 0.6 * atoms.T, color="0.8", lw=1)
axes[0].plot(pixels, x, "k", label="signal")
axes[0].plot(pixels, lateral[-1] @ atoms, "--", color="C1", label="by LCA")
axes[0].set(title="A signal and the twelve atoms", xlabel="pixel")
axes[0].legend()
for axis, (name, path) in zip(axes[1:], runs.items(), strict=True):
    for k in range(12):
        present = truth[k] > 0
        axis.plot(path[:, k], color=f"C{[3, 7].index(k)}" if present else "0.75", lw=2 if present else 1)
    axis.set(title=name, xlabel="step", ylim=(-0.5, 2.3), xscale="symlog", xlim=(0, STEPS))
    axis.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
axes[1].set(ylabel="activity")
axes[1].plot([], [], color="C0", lw=2, label="in the signal, 2")
axes[1].plot([], [], color="C1", lw=2, label="in the signal, 1")
axes[1].plot([], [], color="0.75", label="not in it")
axes[1].legend()
plt.show()
