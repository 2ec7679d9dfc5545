"""`gramian subtract` takes a part away, as if its rows had never been seen."""

from __future__ import annotations

import gramian as gm


def test_what_is_left_is_the_rest(gramian, folder):
    done = gramian("subtract", "week.moments", "monday.moments", "-o", "rest.moments", "--json").ok()
    assert done.json["n_rows"] == 2_000
    assert done.json["output"] == "rest.moments"
    assert gm.load(folder / "rest.moments").isclose(gm.load(folder / "tuesday.moments"))
