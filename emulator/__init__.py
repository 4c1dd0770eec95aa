"""An emulator of replicated logs that runs on Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.outcomes.result import Result

__version__ = "0.1.0"


def read(folder: str | os.PathLike[str]) -> Result:
    """Returns the tables of a run, for a notebook or a program: `read(DIR).outcomes.df()` (docs/tables.md, "In Python").

    `folder`: the DIR of `emulator run --out DIR`; a Hadoop URI for `.spark(session)` alone. Raises
    emulator.errors.InputError, one line, for a folder that is no result.
    """
    from emulator.outcomes.result import Result

    return Result(folder)
