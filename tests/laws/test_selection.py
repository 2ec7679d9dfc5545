"""Laws of selection: noise is not chosen for its levels, and what is added up selects as what was read at once."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.filters.univariate import adjusted
from gramian.selection.filters.univariate import tests as every_test
from gramian.selection.problem import problem_of


def test_noise_of_any_cardinality_is_rarely_kept(rng):
    # Columns of 2 to 150 levels of 300 rows, heavy tails among them; 50 targets that have nothing to do with them.
    n, levels = 300, np.unique(np.geomspace(2, 150, 12).astype(int))
    frame = pd.DataFrame({f"c{k}": [f"l{v}" for v in (rng.random(n) ** 2 * k).astype(int)] for k in levels})
    for k in range(3):
        frame[f"x{k}"] = rng.standard_t(2, n)
    columns = list(frame.columns)
    targets = {f"y{k}": rng.permutation(["rare"] * 8 + ["a"] * 142 + ["b"] * 150) for k in range(50)}
    m = gm.collect(pd.concat([frame, pd.DataFrame(targets)], axis=1))
    false = 0
    for name in targets:
        found = every_test(problem_of(m, columns, [name]))
        false += bool((adjusted(found.p_values, "fdr") <= 0.1).any())
    # With nothing true the share of false ones is 1 wherever any is kept: 0.1 of the targets, and three standard errors.
    assert false / 50 <= 0.1 + 3 * np.sqrt(0.09 / 50)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", ["number", "classes"])
def test_a_near_identifier_fools_no_selector(seed, target):
    rng = np.random.default_rng(seed)
    n = 500
    x = rng.standard_normal(n)
    frame = pd.DataFrame(
        {
            "id": [f"i{v}" for v in rng.integers(0, 450, n)],
            "third": [f"t{v}" for v in rng.integers(0, 160, n)],
            "color": rng.choice(["red", "green", "blue"], n),
            "x": x,
        }
    )
    signal = 0.6 * x + 0.8 * (frame["color"] == "red") + rng.standard_normal(n)
    y = signal.to_numpy() if target == "number" else np.where(signal > 0.5, "yes", "no")
    for selector in (
        gm.PearsonFilter(2),
        gm.MutualInformationFilter(2),
        gm.IndependenceFilter(k=2),
        gm.ForwardSelector(2),
        gm.ForwardSelector(),
        gm.RecursiveEliminator(2),
        gm.MRMRFilter(2),
        gm.LassoSelector(k=2),
    ):
        assert set(selector.fit(frame, y).get_feature_names_out()) == {"color", "x"}, selector


def test_moments_added_up_select_as_rows_read_at_once(mixed):
    parts = [gm.collect(mixed[:150]), gm.collect(mixed[150:])]
    whole = gm.collect(mixed)
    for selector in (gm.ForwardSelector(3), gm.RecursiveEliminator(3), gm.LassoSelector(k=3), gm.MRMRFilter(3)):
        one = selector.fit(parts[0] + parts[1], "kind")
        support, scores = one.get_support().copy(), one.scores_.copy()
        two = selector.fit(whole, "kind")
        np.testing.assert_array_equal(support, two.get_support())
        np.testing.assert_allclose(scores, two.scores_, rtol=1e-7, atol=1e-9)


def test_units_and_labels_do_not_matter(mixed):
    other = mixed.assign(
        size=1000 * mixed["size"] - 7,
        color=mixed["color"].map({"red": "z", "green": "y", "blue": "x"}),
    )
    columns = ["color", "shape", "grade", "size", "cost"]
    for selector in (gm.ForwardSelector(), gm.LassoSelector(0.2), gm.MRMRFilter(), gm.IndependenceFilter()):
        a = selector.fit(mixed[columns], mixed["kind"]).scores_.copy()
        b = selector.fit(other[columns], mixed["kind"]).scores_
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
