"""Messages of the library come out in the words of the command line."""

from __future__ import annotations

import pytest

from gramian.cli.wording import in_options
from gramian.errors import Argument, Call, DataError, Message, PythonOnly, Value, WideColumnWarning


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (DataError("leave it out with ", Argument("exclude", ["a"])), "leave it out with --exclude a"),
        (
            DataError("pass ", Argument("numeric", ["a b"]), ", or ", Argument("exclude", ["a b", "it's"])),
            "pass --numeric 'a b', or --exclude 'a b' --exclude 'it'\"'\"'s'",
        ),
        (
            DataError("column 'a' is named in ", Argument("categorical"), " and in ", Argument("sample_weight")),
            "column 'a' is named in --categorical and in --weights",
        ),
        (DataError(Argument("n_components", 90), " is more than the rank"), "-k 90 is more than the rank"),
        (DataError(Argument("k", 9), " columns are asked for"), "-k 9 columns are asked for"),
        (DataError(Argument("ridge", "cv"), " needs ", Argument("cv")), "--set ridge=cv needs --set cv"),
        (DataError(Argument("cv", None)), "--set cv=none"),
        (DataError(Argument("priors", [0.5, 0.5])), "--set 'priors=[0.5, 0.5]'"),
        (DataError("use ", Value("auto"), " or ", Value(None)), "use auto or none"),
        (DataError(Call("collect", folds=5), " keeps them"), "gramian collect --folds 5 keeps them"),
        (WideColumnWarning(Call("pool", min_count=3), " helps"), "pool(min_count=3) (in Python) helps"),
        (DataError("bin it", PythonOnly(", or ", Call("pool"), " it")), "bin it"),
        (DataError("day.csv: ", DataError("drop ", Argument("keep", "a"))), "day.csv: drop --keep a"),
        (Message("an id? ", Argument("exclude", ["a"])), "an id? --exclude a"),
        (DataError("a value of mine:\n x=3"), "a value of mine: x=3"),
        (ValueError("of somebody else's: x=3"), "of somebody else's: x=3"),
    ],
)
def test_arguments_become_options_and_calls_commands(message, options):
    assert in_options(message) == options
