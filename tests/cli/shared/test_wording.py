"""Messages of the library come out in the words of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gramian
from gramian.cli.shared import wording
from gramian.cli.shared.wording import in_options


def test_every_phrase_that_is_reworded_is_one_the_library_says():
    sources = [path.read_text() for path in Path(gramian.__file__).parent.rglob("*.py") if "cli" not in path.parts]
    # Long messages are written as adjacent strings.
    said = re.sub(r"\"\s*\n\s*f?\"", "", "\n".join(sources))
    assert [phrase for phrase in wording._PHRASES if phrase not in said] == []


@pytest.mark.parametrize(
    ("python", "options"),
    {
        "leave it out with exclude=['a']": "leave it out with --exclude a",
        "pass numeric=['a b'], or exclude=['a b']": "pass --numeric 'a b', or --exclude 'a b'",
        "column 'a' is named in categorical= and in numeric=; keep one": (
            "column 'a' is named in --categorical and in --numeric; keep one"
        ),
        "like= fixes columns and kinds": "--like fixes columns and kinds",
        "sample_weight: column 'w' is not in the table": "sample_weight: column 'w' is not in the table",
        "choosing by 'cv' needs moments with folds: collect(folds=5) keeps them in the same pass": (
            "choosing by 'cv' needs moments with folds: gramian collect --folds 5 keeps them in the same pass"
        ),
        "a value of mine: x=3": "a value of mine: x=3",
    }.items(),
)
def test_arguments_become_options(python, options):
    assert in_options(python) == options
