"""What is asked for at least is what was tested."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def asked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [*project["dependencies"], *(p for extra in project["optional-dependencies"].values() for p in extra)]
    found = [re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", part) for part in parts]
    return {match[1].lower(): match[2] for match in found if match}


@pytest.fixture(scope="module")
def lowest():
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_lower_bounds_are_the_versions_that_are_tested(asked, lowest):
    for name, version in lowest.items():
        assert asked[name].split(".") == version.split(".")[: asked[name].count(".") + 1], name
        assert not version.removeprefix(asked[name]).strip(".0"), name


def test_everything_that_is_needed_to_run_is_held_to_a_tested_version(lowest):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {re.match(r"[\w-]+", part)[0].lower() for part in project["dependencies"]} <= set(lowest)
