import numpy as np
import pandas as pd
import pyarrow as pa

from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.random.features import count_rows, read_labels
from gramian.tables import open_table


def test_labels_come_in_order_of_first_sight():
    frame = pd.DataFrame({"a": ["z", None, "b", "z"], "n": [1.0, 2.0, 3.0, 4.0]})
    table = open_table([pa.Table.from_pandas(frame.iloc[:1]), pa.Table.from_pandas(frame.iloc[1:])])
    encoder = Encoder(plan_columns(types_of(table.schema), columns=["a"]))
    labels, n_rows = read_labels(table, encoder)
    assert labels[0].to_list() == ["z", None, "b"]
    assert n_rows == 4


def test_rows_are_counted_where_they_are_not_known():
    assert count_rows(open_table(np.zeros((5, 2)))) == 5
    assert count_rows(open_table(pa.table({"a": [1, 2]}).to_batches()[0] for _ in range(3))) == 6
    assert count_rows(open_table(np.zeros((4, 1)) for _ in range(2))) == 8
