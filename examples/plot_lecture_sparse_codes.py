"""Lecture: sparse codes
=====================

Which of three codes describes a signal best? And how does a program find one?
"""

import matplotlib.pyplot as plt
import numpy as np

import gramian as gm

# %%
# Eight atoms in the plane, one per row, and a signal. The lecture prints this dictionary twice, once with its two
# numbers swapped; the codes fit the signal with this one only.

atoms = np.array([[-0.6, -0.45, -0.5, 0.9, -0.5, 0.1, 0.5, 0.55], [0.4, 0.55, 0.5, -0.1, -0.5, 0.9, 0.5, 0.45]]).T
x = np.array([-0.95, -0.05])
unit = np.eye(8)
codes = {"A": unit[0] + unit[4], "B": unit[2] - unit[6], "C": -unit[3]}

# %%
# **Step 1.** The error of each code is the length of x minus the sum of its atoms. Its sparsity is the number of
# coefficients that are not zero.

errors = np.array([np.linalg.norm(x - code @ atoms) for code in codes.values()])
counts = np.array([np.count_nonzero(code) for code in codes.values()])
for name, error, count in zip(codes, errors, counts, strict=True):
    print(f"{name}: {codes[name] @ atoms}, error {error:.6f}, {count} atoms")
np.testing.assert_allclose(errors, [0.158114, 0.070711, 0.158114], atol=5e-7)
found = gm.best_code(x, atoms, codes)
np.testing.assert_allclose(found.errors, errors)
np.testing.assert_array_equal(found.counts, counts)

# %%
# **Step 2.** Between A and B, B has the smaller error. Between A and C, the errors are equal and C is sparser. The
# lecture then calls C the best of all. That depends on the price of an atom: for squared error + price · atoms, B is
# best below a price of 0.02, and C above.

for price in (0.01, 0.03):
    costs = errors**2 + price * counts
    choice = gm.best_code(x, atoms, codes, penalty=price)
    assert choice.best == list(codes)[costs.argmin()]
    np.testing.assert_allclose(choice.costs, costs)
    print(f"price {price}: costs {costs.round(4)}; {choice.reason}")

# %%
# **Orthogonal matching pursuit** finds a code: take the atom that is nearest to what is left over, refit all taken
# atoms by least squares, and repeat. Atoms have length 1 here.

directions = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
taken, code, left = [], np.zeros(8), x
for step in range(2):
    taken.append(int(np.abs(directions @ left).argmax()))
    code[taken] = np.linalg.lstsq(directions[taken].T, x, rcond=None)[0]
    left = x - code @ directions
    print(f"step {step + 1}: atoms {[k + 1 for k in taken]}, error {np.linalg.norm(left):.6f}")
    coder = gm.SparseCoder(directions, algorithm="omp", n_nonzero=step + 1)
    np.testing.assert_allclose(coder.transform(x[None])[0], code, atol=1e-12)

# %%
# The library can also search all codes. At a price of 0.01 the best one has two atoms, and coefficients with which the
# error is zero.

best = gm.SparseCoder(atoms, algorithm="l0", penalty=0.01).transform(x[None])[0]
print("best of all codes:", {int(k) + 1: round(float(best[k]), 3) for k in np.flatnonzero(best)})

figure, (left_plot, right_plot) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for k, atom in enumerate(atoms, start=1):
    left_plot.annotate("", atom, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.6"})
    left_plot.annotate(str(k), 1.08 * atom, ha="center", va="center", color="0.4")
left_plot.plot(*x, "k*", markersize=14, label="signal")
for k, (name, given) in enumerate(codes.items()):
    at = given @ atoms
    left_plot.plot(*np.stack([x, at]).T, color=f"C{k}", lw=1)
    left_plot.plot(*at, "o", color=f"C{k}", label=f"{name}: error {errors[k]:.3f}")
left_plot.set(title="Atoms, signal and codes", xlim=(-1.3, 1.3), ylim=(-1.1, 1.1), aspect="equal")
left_plot.legend(loc="lower right")
prices = np.linspace(0, 0.04, 50)
for k, name in enumerate(codes):
    right_plot.plot(prices, errors[k] ** 2 + prices * counts[k], color=f"C{k}", label=name)
right_plot.axvline(0.02, color="0.6", ls=":")
right_plot.annotate("B = C", (0.02, 0.005), xytext=(5, 0), textcoords="offset points")
right_plot.set(title="Squared error + price · atoms", xlabel="price of an atom", ylabel="cost", ylim=(0, None))
right_plot.legend()
plt.show()
