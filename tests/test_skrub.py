"""skrub: a whole sub-frame by `ApplyToCols`, and column by column by `TableVectorizer`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gramian as gm

skrub = pytest.importorskip("skrub", reason="skrub is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture
def rows(rng):
    n = 300
    city = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    # Two columns that say nearly the same: fitted one by one each gets the whole effect.
    twin = np.where(rng.random(n) < 0.9, np.char.lower(city), "else")
    frame = pd.DataFrame({"city": city, "twin": twin, "size": rng.normal(size=n)})
    return frame, pd.Series(2.0 * (city == "Ulm") + 0.1 * rng.normal(size=n))


def test_apply_to_cols_fits_the_columns_together(rows):
    import skrub.selectors as s

    frame, y = rows
    encoder = gm.JointTargetEncoder(cv=None)
    applied = skrub.ApplyToCols(encoder, cols=s.string())
    applied.fit_transform(frame, y)
    alone = encoder.fit(frame[["city", "twin"]], y).transform(frame[["city", "twin"]])
    np.testing.assert_allclose(applied.transform(frame)[["city", "twin"]].to_numpy(), alone)


def test_a_table_vectorizer_fits_them_one_by_one(rows):
    frame, y = rows
    encoder = gm.JointTargetEncoder(cv=None)
    vectorizer = skrub.TableVectorizer(low_cardinality=encoder, high_cardinality=encoder)
    vectorizer.fit_transform(frame, y)
    found = vectorizer.transform(frame)[["city", "twin"]].to_numpy()
    single = [encoder.fit(frame[[name]], y).transform(frame[[name]])[:, 0] for name in ("city", "twin")]
    np.testing.assert_allclose(found, np.column_stack(single), rtol=1e-6)
    joint = encoder.fit(frame[["city", "twin"]], y).transform(frame[["city", "twin"]])
    # What the joint fit says once is counted twice.
    assert found.sum(axis=1).std() > 1.5 * joint.sum(axis=1).std()
