"""The list of methods prints as a table, and each of them can be built."""

from __future__ import annotations

import gramian as gm
from gramian.estimators.registry import HEAD, METHODS, methods, row_of


def test_every_method_is_listed_with_its_class():
    found = methods()
    assert found == METHODS
    assert [method.class_name for method in found] == [method.estimator.__name__ for method in found]
    assert {method.class_name for method in found} <= set(dir(gm))


def test_the_list_prints_as_a_table():
    lines = repr(methods()).splitlines()
    assert lines[0].split() == " ".join(HEAD).split()
    assert max(map(len, lines)) <= 120
    assert sum(line.startswith("density ") for line in lines) == 1


def test_a_row_says_what_goes_in_and_what_comes_out():
    rows = {method.name: row_of(method) for method in methods()}
    assert rows["density"][2:4] == ("rows, moments", "features\nodd rows")
    assert rows["fisher"][2:4] == ("rows, moments\n+ target", "features\nclasses")
    assert rows["mds"][2] == "distances"


def test_a_notebook_shows_it_as_a_table():
    html = methods()._repr_html_()
    assert html.count("<tr>") == len(METHODS) + 1
    assert html.startswith("<table><tr><th>method</th>")
