"""`gramian merge` adds moments up, as if their data had been collected together."""

from __future__ import annotations

import shutil

import gramian as gm


def test_merged_moments_are_those_of_all_the_data(gramian, folder):
    done = gramian("merge", "monday.moments", "tuesday.moments", "-o", "both.moments").ok()
    assert gm.load(folder / "both.moments").isclose(gm.load(folder / "week.moments"))
    assert done.out.startswith("4,000 rows")


def test_one_file_alone_is_copied(gramian, folder):
    gramian("merge", "monday.moments", "-o", "same.moments").ok()
    assert gm.load(folder / "same.moments") == gm.load(folder / "monday.moments")


def test_a_column_that_a_file_lacks_is_named_and_filled_where_asked(gramian, folder):
    gm.load(folder / "tuesday.moments").drop("merchant").save(folder / "fewer.moments")
    said = gramian("merge", "monday.moments", "fewer.moments", "-o", "both.moments").at_fault(1)
    assert said.startswith("monday.moments (left) and fewer.moments (right): ")
    assert "take it as missing there with gramian merge --missing fill" in said
    gramian("merge", "monday.moments", "fewer.moments", "--missing", "fill", "-o", "both.moments").ok()
    both = gm.load(folder / "both.moments")
    assert (both.n_rows, int(both.counts("merchant")[both.levels("merchant").index(None)])) == (4_000, 2_000)


def test_a_file_named_twice_is_refused_however_it_is_spelled(gramian, folder):
    (folder / "link.moments").symlink_to(folder / "monday.moments")
    for again in ("monday.moments", "./monday.moments", str(folder / "monday.moments"), "link.moments"):
        said = gramian("merge", "monday.moments", "tuesday.moments", again, "-o", "both.moments").at_fault(2)
        assert "its rows would count twice; name it once, or a copy of it" in said
    assert not (folder / "both.moments").exists()
    shutil.copy(folder / "monday.moments", folder / "copy.moments")
    gramian("merge", "monday.moments", "copy.moments", "-o", "both.moments").ok()
    assert gm.load(folder / "both.moments").n_rows == 4_000
