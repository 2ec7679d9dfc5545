"""Odd rows are listed by score with the reasons of the detector."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from gramian.reporting.report import summary


def test_odd_rows_are_explained_by_what_was_planted(whole: dict, made: SimpleNamespace) -> None:
    found = whole["anomalies"]["rows"]
    scores = made.models["density"].anomaly_score(made.new)
    assert [row["position"] for row in found] == np.argsort(-scores, kind="stable")[: len(found)].tolist()
    assert [row["position"] for row in found[:3] if row["never_seen"]] == [700, 7, 70]
    planted = [row for row in found if row["position"] in np.flatnonzero(made.odd)]
    # Among the rows whose values are all known, the planted ones come first, for their device, money or bank.
    assert planted == found[3 : 3 + int(made.odd.sum())]
    for row in planted:
        assert any(
            f"{name}=" in reason["text"] for reason in row["reasons"] for name in ("device", "currency", "issuer")
        )
    assert whole["anomalies"]["above"] == int((made.models["density"].predict(made.new) == -1).sum())


def test_many_rows_never_seen_do_not_hide_the_other_odd_rows(made: SimpleNamespace) -> None:
    entry = ["iris scan" if k % 3 else value for k, value in enumerate(made.new["entry"].to_pylist())]
    flooded = made.new.set_column(made.new.column_names.index("entry"), "entry", pa.array(entry))
    found = summary(made.models["density"], flooded, max_rows=50)["anomalies"]
    assert found["never_seen"]["rows"] > 0.6 * made.new.num_rows
    assert sum(row["never_seen"] for row in found["rows"]) == found["never_seen"]["listed"] == 5
    assert len(found["rows"]) == 20
    assert sum(found["histogram"]["counts"]) == made.new.num_rows - found["never_seen"]["rows"]
