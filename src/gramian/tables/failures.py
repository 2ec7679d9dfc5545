"""What goes wrong while a file is read, in one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from gramian.errors import DataError, FileFormatError, GramianError, MemoryLimitError, SourceNotFoundError


def one_line(error: BaseException, limit: int = 240) -> str:
    """Return the message of `error` on one line, cut where Arrow appends pages of detail."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


@contextmanager
def reading(path: str, kind: str) -> Iterator[None]:
    """Turn what Arrow and the system raise while `path` is read as `kind` into this package's errors."""
    try:
        yield
    except GramianError:
        raise
    except MemoryError as error:
        # Sizes in a damaged file are any number.
        words = f"{path} asks for more memory than there is: it is damaged, or too large ({one_line(error)})"
        raise MemoryLimitError(words) from error
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied") from None
    except FileNotFoundError:
        raise SourceNotFoundError(f"{path} does not exist") from None
    except (pa.ArrowException, OSError, UnicodeError, EOFError) as error:
        raise FileFormatError(f"{path} cannot be read as {kind}: {one_line(error)}") from error
