"""A file that an option names, to be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.errors import InputError


def refuse_unwritable(option: str, path: str) -> None:
    """Raises InputError for a file that an option names and that cannot be written, as far as that shows beforehand."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not path:
        raise InputError(f"{option}: {path or 'an empty name'} is no file to write; allowed: a local file")
    if not os.path.isdir(folder):
        raise InputError(f"{option}: {folder} is not a folder; allowed: a local file in a folder that exists")


@contextmanager
def writing(option: str, path: str) -> Iterator[None]:
    """Raises InputError when the file that an option names cannot be written within."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{option}: {path} cannot be written: {error.strerror}") from error
