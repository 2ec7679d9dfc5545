import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import gramian as gm
from gramian.engines import base
from gramian.errors import ColumnError, DataError, SourceNotFoundError
from gramian.estimators.spine import files
from gramian.tables import open_table

FEATURES = ["color", "shape", "size", "count", "flag", "when"]

READERS = {
    "parquet": pq.read_table,
    "csv": pyarrow.csv.read_csv,
    "csv.gz": pyarrow.csv.read_csv,
    "arrow": pyarrow.feather.read_table,
    "feather": pyarrow.feather.read_table,
}


@pytest.fixture
def model(frame):
    return gm.FisherDiscriminant().fit(frame, "bought")


@pytest.mark.parametrize("suffix", READERS)
def test_one_row_out_a_row_in_whatever_the_format(frame, model, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(base, "BATCH_ROWS", 70)
    frame.assign(id=range(len(frame))).to_parquet(tmp_path / "in.parquet")
    out = tmp_path / f"out.{suffix}"
    assert gm.transform_file(model, tmp_path / "in.parquet", out, keep=["id", "color"]) == len(frame)
    table = READERS[suffix](out)
    assert table.column_names == ["id", "color", *model.get_feature_names_out()]
    assert table["id"].to_pylist() == list(range(len(frame)))
    np.testing.assert_allclose(table["fisherdiscriminant0"].to_numpy(), model.transform(frame)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_other_methods_write_their_columns(frame, model, tmp_path, method):
    gm.transform_file(model, frame, tmp_path / "out.parquet", method=method)
    table = pq.read_table(tmp_path / "out.parquet")
    expected = np.asarray(getattr(model, method)(frame)).reshape(len(frame), -1)
    assert table.num_columns == expected.shape[1]
    for k, column in enumerate(table.columns):
        if method == "predict":
            assert column.to_pylist() == expected[:, k].tolist()
        else:
            np.testing.assert_allclose(column.to_numpy(), expected[:, k], rtol=1e-12)


def test_float32_on_request_and_streams(frame, model):
    reader = gm.transform_stream(model, frame, dtype="float32")
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.field(0).type == pa.float32()
    assert reader.read_all().num_rows == len(frame)


def test_nothing_is_left_behind_where_something_fails(frame, model, tmp_path):
    with pytest.raises(ColumnError, match="'size'"):
        gm.transform_file(model, frame.drop(columns="size"), tmp_path / "out.parquet")
    with pytest.raises(ColumnError, match="did you mean 'color'"):
        gm.transform_file(model, frame, tmp_path / "out.parquet", keep="colour")
    with pytest.raises(DataError, match=r"\.parquet"):
        gm.transform_file(model, frame, tmp_path / "out.xlsx")
    with pytest.raises(DataError, match="anomaly_score"):
        gm.transform_file(model, frame, tmp_path / "out.parquet", method="anomaly_score")
    with pytest.raises(SourceNotFoundError, match="nowhere"):
        gm.transform_file(model, frame, tmp_path / "nowhere" / "out.parquet")

    def breaks_off():
        yield frame
        raise OSError("the line went dead")

    with pytest.raises(OSError, match="dead"):
        gm.transform_file(model, breaks_off(), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_a_feature_cannot_take_a_kept_column_s_name(frame, model, tmp_path):
    clash = frame.assign(fisherdiscriminant0=1.0)
    with pytest.raises(ColumnError, match="fisherdiscriminant0"):
        gm.transform_file(model, clash, tmp_path / "out.parquet", keep="fisherdiscriminant0")


def test_files_may_disagree_on_columns_that_a_model_does_not_read(frame, model, tmp_path):
    read = list(model.feature_names_in_)
    first, second = frame.assign(note=1), frame.assign(note="text")
    first.to_parquet(tmp_path / "1.parquet")
    second.to_parquet(tmp_path / "2.parquet")
    assert files.transform_file(model, tmp_path / "*.parquet", tmp_path / "out.csv") == 2 * len(frame)
    second.drop(columns=read[0]).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=f"no column '{read[0]}'"):
        files.transform_file(model, tmp_path / "*.parquet", tmp_path / "other.csv")
    first.drop(columns="note").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match="no column 'note'"):
        files.transform_file(model, tmp_path / "*.parquet", tmp_path / "other.csv", keep="note")
    assert not (tmp_path / "other.csv").exists()


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "relative"])
def test_an_input_is_never_the_output(frame, model, tmp_path, monkeypatch, link):
    data, out = tmp_path / "x.parquet", tmp_path / "y.parquet"
    frame.to_parquet(data)
    before = data.read_bytes()
    monkeypatch.chdir(tmp_path)
    if link == "same":
        out = data
    elif link == "relative":
        out = "./x.parquet"
    else:
        (out.symlink_to if link == "symbolic" else out.hardlink_to)(data)
    for source in (data, str(data), [data], tmp_path / "x*.parquet", open_table(data), dataset.dataset(data)):
        with pytest.raises(DataError, match="one of the inputs") as caught:
            gm.transform_file(model, source, out)
        assert "\n" not in str(caught.value)
    assert data.read_bytes() == before


def test_a_link_as_output_is_written_through(frame, model, tmp_path):
    (tmp_path / "link.parquet").symlink_to(tmp_path / "real.parquet")
    gm.transform_file(model, frame, tmp_path / "link.parquet")
    assert (tmp_path / "link.parquet").is_symlink()
    assert pq.read_table(tmp_path / "real.parquet").num_rows == len(frame)


def test_a_frame_with_a_column_called_files_is_no_list_of_files(frame, model, tmp_path):
    (tmp_path / "out.parquet").write_text("old")
    assert gm.transform_file(model, frame.assign(files=1), tmp_path / "out.parquet") == len(frame)


def test_rows_without_an_answer_are_refused_in_words(frame, model, tmp_path):
    with pytest.raises(DataError, match="no rows"):
        gm.transform_file(model, pa.Table.from_pandas(frame).slice(0, 0), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
