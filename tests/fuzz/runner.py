"""The child: runs cases one after the other, and notes each before it begins, so that a death or a hang has a name."""

from __future__ import annotations

import faulthandler
import json
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

from .base import Itself, Subject, classes

OUTCOMES = ("right", "refused", "answered", "failed")
MEMORY = 6 * 2**30
"""Address space of a child: what a damaged size asks for beyond it is a `MemoryError`, and not the end of the machine."""


def main(first: int, last: int, shared_path: str, failures_path: str, chosen: list[str]) -> None:
    """Run the cases from `first` to `last`, each with its number as seed."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    _limit_memory()
    # The case that runs, then a count per class and outcome.
    shared = np.memmap(shared_path, dtype=np.int64, mode="r+")
    counts = shared[1:].reshape(-1, len(OUTCOMES))
    names = classes(chosen)
    made: dict[str, Subject] = {}
    with tempfile.TemporaryDirectory(dir=Path(shared_path).parent) as folder:
        for seed in range(first, last):
            place = seed % len(names)
            name = names[place]
            if name not in made:
                made[name] = _subject(name)
            shared[0] = seed
            try:
                outcome = made[name].case(np.random.default_rng(seed), Path(folder))
            except Exception as error:
                outcome = "failed"
                lines = traceback.format_exc().splitlines()
                note = {"seed": seed, "class": name, "how": type(error).__name__, "words": str(error)[:300]}
                with open(failures_path, "a") as file:
                    file.write(json.dumps(note | {"where": lines[-14:]}) + "\n")
            counts[place, OUTCOMES.index(outcome)] += 1
        shared[0] = last


def _subject(name: str) -> Subject:
    if name == Itself.name:
        return Itself()
    from .subjects import SUBJECTS

    return SUBJECTS[name]()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
