from __future__ import annotations

import pytest

from gramian import errors


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (errors.DataError, ValueError),
        (errors.ColumnError, ValueError),
        (errors.FileFormatError, ValueError),
        (errors.SourceNotFoundError, FileNotFoundError),
        (errors.MemoryLimitError, MemoryError),
        (errors.MissingPackageError, ImportError),
    ],
)
def test_errors_are_caught_as_python_people_do(error: type[Exception], also: type[Exception]) -> None:
    assert issubclass(error, also)
    assert issubclass(error, errors.GramianError)
    assert str(error("one line")) == "one line"


def test_the_nearest_name_is_suggested() -> None:
    assert "did you mean 'color'?" in str(errors.unknown_column("colour", ["age", "color"]))


def test_few_names_are_listed_where_none_is_near() -> None:
    message = str(errors.unknown_column("zzz", ["age", "color"]))
    assert "'age', 'color'" in message
    assert "did you mean" not in message


def test_many_names_are_counted() -> None:
    message = str(errors.unknown_column("zzz", [f"column{k}" for k in range(100)]))
    assert "100 columns" in message
    assert "column50" not in message


def test_no_names_are_said_to_be_none() -> None:
    assert "no columns" in str(errors.unknown_column("a", []))
