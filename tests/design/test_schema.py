from __future__ import annotations

import pytest

from gramian.design.schema import Column, Schema, reconcile
from gramian.errors import ColumnError, DataError


def number(name: str, **more) -> Column:
    return Column(name, "number", name, **more)


def test_kinds_of_forms() -> None:
    kinds = {form: Column("a", form, "a").kind for form in ("category", "integer", "number")}
    assert kinds == {"category": "categorical", "integer": "numeric", "number": "numeric"}
    assert [Column("a", form, "a").by_level for form in ("category", "integer", "number")] == [True, True, False]


def test_names_are_unique() -> None:
    with pytest.raises(ColumnError, match="'a' appears twice"):
        Schema((number("a"), number("a")))


def test_features_leave_targets_out() -> None:
    schema = Schema((number("a"), number("y", target=True)))
    assert schema.names == ["a", "y"]
    assert schema.features == ["a"]


def test_a_dates_name_stands_for_its_parts() -> None:
    schema = Schema((Column("w_month", "category", "w", "month"), Column("w_hour", "category", "w", "hour")))
    assert schema.resolve("w") == ["w_month", "w_hour"]
    assert schema.resolve(["w_hour"]) == ["w_hour"]
    with pytest.raises(ColumnError, match="twice"):
        schema.resolve(["w", "w_hour"])


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(ColumnError, match="did you mean 'age'"):
        Schema((number("age"),)).resolve("agee")


def test_reconcile_folds_integers_where_one_side_has() -> None:
    left, right = Schema((Column("k", "integer", "k"),)), Schema((number("k"),))
    assert reconcile(left, right)["k"].form == reconcile(right, left)["k"].form == "number"


def test_reconcile_keeps_the_left_order_and_any_target() -> None:
    left = Schema((number("a"), number("b")))
    right = Schema((number("b", target=True), number("a")))
    both = reconcile(left, right)
    assert both.names == ["a", "b"]
    assert both["b"].target


@pytest.mark.parametrize("swap", [False, True])
def test_reconcile_names_what_differs(swap: bool) -> None:
    one, other = Schema((number("a"), number("b"))), Schema((number("a"),))
    with pytest.raises(DataError, match="'b'"):
        reconcile(*((other, one) if swap else (one, other)))
    with pytest.raises(DataError, match="'a'"):
        reconcile(other, Schema((Column("a", "category", "a"),)))
