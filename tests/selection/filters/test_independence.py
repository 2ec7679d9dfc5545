import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.filters.univariate import tests as every_test
from gramian.selection.problem import problem_of

COLUMNS = ["color", "shape", "grade", "size", "cost"]


@pytest.mark.parametrize("target", ["kind", "cost"])
def test_each_test_is_the_test_of_one_column(mixed, target):
    m = gm.collect(mixed)
    columns = [name for name in [*COLUMNS, "kind"] if name != target]
    found = every_test(problem_of(m, columns, [target]))
    alone = [gm.independence_test(m, name, target) for name in columns]
    np.testing.assert_allclose(found.statistics, [t.statistic for t in alone], rtol=1e-8)
    np.testing.assert_allclose(found.p_values, [t.p_value for t in alone], rtol=1e-6, atol=1e-300)
    np.testing.assert_array_equal(found.df, [t.df for t in alone])


def test_p_values_are_small_no_more_often_than_they_say(rng):
    # Few rows, rare classes, heavy tails, levels of two rows: where chi-squared fails.
    n, times = 60, 300
    frame = pd.DataFrame({"x": rng.standard_t(1.5, n), "level": [f"l{k // 2}" for k in range(n)]})
    rare = np.array(["rare"] * 3 + ["usual"] * (n - 3))
    targets = pd.DataFrame({f"y{k}": rng.permutation(rare) for k in range(times)})
    m = gm.collect(pd.concat([frame, targets], axis=1))
    found = np.array([every_test(problem_of(m, ["x", "level"], [name])).p_values for name in targets])
    for level in (0.01, 0.05, 0.2):
        # Three standard errors above.
        assert ((found <= level).mean(axis=0) <= level + 3 * np.sqrt(level * (1 - level) / times)).all()
    assert (found[:, 0] <= 0.2).mean() > 0.1
