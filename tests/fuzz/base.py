"""What a class of inputs is to the child that runs it, and one that tests the driver."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

NAMES = (
    "moments",
    "models",
    "arrow files",
    "arrow memory",
    "parquet",
    "csv",
    "json lines",
    "spreadsheets",
    "sparse matrices",
    "arguments",
)
"""The classes, in the order in which seeds go round them."""


class Wrong(Exception):
    """An answer that cannot be right."""


class Subject(ABC):
    """A class of inputs; made once in a child."""

    name: str

    @abstractmethod
    def case(self, rng: np.random.Generator, folder: Path) -> str:
        """Open and use one input: "right", "refused" or "answered"; raise where it ends otherwise."""


class Itself(Subject):
    """Refuses, dies, hangs or raises: what the driver must see."""

    name = "itself"

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        how = rng.integers(4)
        if how == 1:
            os.abort()
        if how == 2:
            time.sleep(3600)
        if how == 3:
            raise ZeroDivisionError("as asked")
        return "refused"


def classes(chosen: tuple[str, ...] | list[str]) -> list[str]:
    """Return the names of the classes chosen, all of them where none is."""
    return list(chosen) or list(NAMES)
