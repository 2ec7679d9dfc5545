"""Options that several commands share read alike in all of them."""

from __future__ import annotations

import pytest

from gramian.cli import options
from gramian.cli.program import COMMANDS, build


def test_an_option_means_the_same_in_every_command():
    told: dict[str, set[str]] = {}
    for command in build().commands.values():
        for param in command.params:
            for name in param.opts:
                if name in (
                    "--exclude",
                    "--keep",
                    "--target",
                    "--weights",
                    "--categorical",
                    "--numeric",
                    "--json",
                    "--set",
                ):
                    told.setdefault(name, set()).add(param.help)
    assert {name: len(words) for name, words in told.items()} == dict.fromkeys(told, 1)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_prints_a_table_prints_json(name):
    assert "--json" in {opt for param in build().commands[name].params for opt in param.opts}


def test_columns_complete_from_the_data():
    assert options.Keep.__metadata__[0].autocompletion is options.Exclude.__metadata__[0].autocompletion
