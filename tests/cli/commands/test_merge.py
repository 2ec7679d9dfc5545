"""`gramian merge` adds moments up, as if their data had been collected together."""

from __future__ import annotations

import gramian as gm


def test_merged_moments_are_those_of_all_the_data(gramian, folder):
    done = gramian("merge", "monday.moments", "tuesday.moments", "-o", "both.moments").ok()
    assert gm.load(folder / "both.moments").isclose(gm.load(folder / "week.moments"))
    assert done.out.startswith("4,000 rows")


def test_one_file_alone_is_copied(gramian, folder):
    gramian("merge", "monday.moments", "-o", "same.moments").ok()
    assert gm.load(folder / "same.moments") == gm.load(folder / "monday.moments")
