"""Tables of text: aligned, broken between words where lines would be too long, and complete."""

from __future__ import annotations

import pytest

from gramian.text_table import text_table


def test_columns_are_aligned_without_blanks_at_the_end():
    lines = text_table(("name", "n", ""), [("a", "1", "x"), ("longer", "1,000", "")], right=(1,))
    assert lines == ["name        n", "a           1  x", "longer  1,000"]


def test_without_a_head_there_are_rows_alone():
    assert text_table(None, [("a", "1"), ("bb", "2")]) == ["a   1", "bb  2"]
    assert text_table(None, []) == []
    assert text_table(("a", "b"), []) == ["a  b"]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_long_lines_are_broken_between_words_and_nothing_is_lost(width):
    words = "the quick brown fox jumps over the lazy dog and runs away into the dark wood behind the house"
    lines = text_table(("name", "about"), [("fox", words), ("dog", "sleeps")], width=width)
    assert max(map(len, lines)) <= width
    assert " ".join(line[5:] for line in lines[1:-1]).split() == words.split()
    assert lines[-1] == "dog   sleeps"


def test_names_are_cut_and_not_broken():
    lines = text_table(None, [("n" * 100, "1")], width=40)
    assert lines == ["n" * 36 + "…  1"]


def test_a_cell_may_have_lines_of_its_own():
    assert text_table(None, [("a", "x\ny", "1")]) == ["a  x  1", "   y"]


def test_control_characters_are_shown_and_lines_of_names_are_kept_together():
    assert text_table(None, [("a\x1b[1m\nb", "x\x07\ny")]) == [r"a\x1b[1m\nb  x\x07", "             y"]
