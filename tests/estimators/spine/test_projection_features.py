"""Features, the way back, loadings and unseen levels are one thing for estimators from moments and from rows."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.spine.estimator import ProjectionFeatures


@pytest.fixture(params=[gm.PCA(2), gm.HebbianPCA(2, rule="sanger")], ids=["moments", "rows"])
def model(request, frame):
    return request.param.fit(frame[["color", "size", "flag"]])


def test_all_of_them_are_projection_features(model):
    assert isinstance(model, ProjectionFeatures)


def test_features_are_those_of_the_projection(model, frame):
    rows = frame[["color", "size", "flag"]]
    projection = model.projection_
    expected = projection.apply([projection.design.encode(pa_batch(rows))])
    np.testing.assert_allclose(model.transform(rows), expected, atol=1e-12)


def pa_batch(frame):
    import pyarrow as pa

    return pa.RecordBatch.from_pandas(frame, preserve_index=False)


def test_unseen_levels_are_shown(model):
    row = pd.DataFrame({"color": ["violet"], "size": [1.0], "flag": [True]})
    np.testing.assert_array_equal(model.black_swans(row), [[True, False, False]])


def test_the_way_back_gives_source_columns(model, frame):
    back = model.inverse_transform(model.transform(frame))
    assert list(back.columns) == ["color", "size", "flag"]
    with pytest.raises(DataError, match="takes"):
        model.inverse_transform(np.zeros((2, 5)))


def test_loadings_have_a_row_a_level(model):
    table = model.loadings()
    assert len(table) == 2 * len(model.design_names_)
