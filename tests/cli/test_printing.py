"""Tables for people, JSON for programs."""

from __future__ import annotations

import datetime
import json

import numpy as np

from gramian.cli.printing import plain, show, show_json, show_next, show_table


def test_json_is_valid_whatever_the_values(capsys):
    value = {
        "nan": float("nan"),
        "inf": np.float64("inf"),
        "array": np.array([1.5, 2.5]),
        "labels": np.array(["a", None], dtype=object),
        "when": datetime.date(2024, 1, 2),
        "tuple": (np.int64(1), np.bool_(True)),
        "other": {1},
        "text": "Köln",
    }
    show_json(value)
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "nan": None,
        "inf": None,
        "array": [1.5, 2.5],
        "labels": ["a", None],
        "when": "2024-01-02",
        "tuple": [1, True],
        "other": "{1}",
        "text": "Köln",
    }
    assert plain(found) == found


def test_a_table_in_a_pipe_has_no_padding_and_no_colour(capsys):
    show_table(("name", "count"), [("a", 1), ("a longer one", 12_345)], right=(1,))
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["name           count", "a                  1", "a longer one  12,345"]
    assert all(line == line.rstrip() and "\x1b" not in line for line in lines)


def test_markup_in_data_is_shown_as_it_is(capsys):
    show_table(("name",), [("[bold]x[/bold]",)])
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_no_name_of_a_column_steers_the_terminal(capsys):
    name = "a\x1b[31m\r\nb\x9b\u202e"
    show_table(("name", "text"), [(name, name)])
    show(f"{name}: nearly every value differs\nthe second line")
    show_next(f"gramian collect --exclude '{name}'")
    found = capsys.readouterr().out
    assert not [letter for letter in found if letter != "\n" and not letter.isprintable()]
    assert r"a\x1b[31m\r\nb\u009b\u202e" in found
    assert found.endswith("'\n")
    assert "differs\nthe second line" in found
    show_json({name: 1})
    assert json.loads(capsys.readouterr().out) == {name: 1}
