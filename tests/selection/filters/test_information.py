import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import gramian as gm
from gramian.selection.filters.information import Information, entropy, information_with_target
from gramian.selection.problem import problem_of


def table_information(table, correction=None):
    """Return the information of two columns that have this table."""
    rows, cols = (np.repeat(at.ravel(), np.ravel(table)) for at in np.indices(np.shape(table)))
    moments = gm.collect(pd.DataFrame({"a": rows.astype(str), "b": cols.astype(str)}))
    return Information(moments, ["a", "b"], correction).row(0)[1]


def test_a_table_has_the_information_of_its_rows(mixed):
    table = pd.crosstab(mixed["color"], mixed["kind"]).to_numpy()
    expected = mutual_info_score(mixed["color"], mixed["kind"])
    assert table_information(table) == pytest.approx(expected, rel=1e-12)


def test_miller_and_madow_count_the_cells_that_occur():
    table = np.array([[5, 0, 2], [1, 4, 0]])
    expected = table_information(table) + (2 + 3 - 4 - 1) / (2 * 12)
    assert table_information(table, "miller-madow") == pytest.approx(expected, rel=1e-12)


def test_chance_takes_off_the_mean_over_permutations(rng):
    a, b = rng.integers(0, 12, 80), rng.integers(0, 3, 80)
    corrected = []
    for _ in range(150):
        table = np.zeros((12, 3), dtype=int)
        np.add.at(table, (a, rng.permutation(b)), 1)
        corrected.append(table_information(table, "chance"))
    assert np.mean(corrected) == pytest.approx(0.0, abs=4 * np.std(corrected) / np.sqrt(150))


def test_integers_by_level_show_any_shape_and_numbers_their_slope(rng):
    x = rng.integers(-3, 4, 2000)
    y = np.where(rng.random(2000) < 0.9, x**2 > 3, rng.random(2000) < 0.5)
    frame = pd.DataFrame({"level": x, "number": x + 0.0, "y": np.where(y, "in", "out")})
    found = information_with_target(problem_of(gm.collect(frame, numeric="number"), ["level", "number"], ["y"]))
    assert found[0] > 0.2
    assert abs(found[1]) < 0.01


def test_numbers_have_the_information_of_normal_variables(rng):
    x = rng.standard_normal((3000, 2))
    y = x[:, 0] + rng.standard_normal(3000)
    problem = problem_of(gm.collect(np.column_stack([x, y])), ["x0", "x1"], ["x2"])
    r2 = np.corrcoef(x[:, 0], y)[0, 1] ** 2
    assert information_with_target(problem, None)[0] == pytest.approx(-np.log(1 - r2) / 2, rel=1e-9)
    assert information_with_target(problem, None)[0] == pytest.approx(np.log(2) / 2, abs=0.04)


def test_rows_of_the_matrix_are_symmetric_and_those_of_tables(mixed):
    m = gm.collect(mixed)
    columns = ["color", "shape", "grade", "size", "cost"]
    found = np.array([Information(m, columns, None).row(j) for j in range(5)])
    np.testing.assert_allclose(found[:3, :3], found[:3, :3].T, rtol=1e-9)
    assert found[0, 1] == pytest.approx(mutual_info_score(mixed["color"], mixed["shape"]), rel=1e-9)
    assert found[0, 2] == pytest.approx(mutual_info_score(mixed["color"], mixed["grade"]), rel=1e-9)
    assert found[0, 0] == pytest.approx(entropy(mixed["color"].value_counts()), rel=1e-9)
    r2 = np.corrcoef(mixed["size"].fillna(mixed["size"].mean()), mixed["cost"])[0, 1] ** 2
    assert found[3, 4] == pytest.approx(-np.log(1 - r2) / 2, rel=1e-6)


def test_several_targets_are_averaged(mixed):
    m = gm.collect(mixed)
    one = [information_with_target(problem_of(m, ["color", "size"], [t])) for t in ("kind", "cost")]
    both = information_with_target(problem_of(m, ["color", "size"], ["kind", "cost"]))
    np.testing.assert_allclose(both, np.mean(one, axis=0), rtol=1e-9)


def test_a_number_that_is_a_function_of_a_category_has_finite_information():
    frame = pd.DataFrame({"c": ["a", "b"] * 20, "x": [1.0, 2.0] * 20, "same": ["z"] * 40, "y": ["u", "v"] * 20})
    found = information_with_target(problem_of(gm.collect(frame), ["c", "x", "same"], ["y"]), None)
    assert found[0] == pytest.approx(np.log(2))
    assert np.isfinite(found).all()
    assert found[2] == 0.0
