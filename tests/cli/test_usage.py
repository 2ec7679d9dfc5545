"""The command line as it was typed, and errors about it."""

from __future__ import annotations

import sys

from gramian.cli.wording import UsageError, command_line
from gramian.errors import Argument


def test_the_command_can_be_typed_again(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/gramian", "fit", "a file.csv", "-k", "2"])
    assert command_line() == "gramian fit 'a file.csv' -k 2"


def test_a_message_may_have_parts():
    assert str(UsageError("keep ", Argument("exclude", ["a"]))) == "keep exclude=['a']"
