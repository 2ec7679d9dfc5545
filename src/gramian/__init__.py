"""Dense features from categorical tables, mixed tables and distances.

One pass over the data collects `Moments`; every linear method after that is algebra.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it, as `__init__.pyi` lists them. Modules load when a name is first used, so that
# importing the package is cheap.
_LISTED = re.findall(r"^from (\S+) import (\w+) as", Path(__file__).with_suffix(".pyi").read_text(), re.MULTILINE)
_HOMES = {name: module for module, name in _LISTED}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gramian' has no attribute {name!r}")
    value = import_module("gramian.errors") if name == "errors" else getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
