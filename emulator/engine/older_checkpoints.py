"""All that is kept under an output folder to go on from, and the checkpoints there that no engine of this version wrote."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pyspark.sql import SparkSession

from emulator.engine.identity import ALLOWED, FOLDER
from emulator.errors import InputError
from emulator.spark.spark_errors import SPARK_OR_FILE_ERRORS
from emulator.storage.files import files_of

_CONTENT = "CHECKPOINT.json"
_FOLDERS = (FOLDER, f"{FOLDER}/kafka", f"{FOLDER}/bookkeeper")
"""Where they had numbered checkpoints of a state, each with _CONTENT."""


class OlderCheckpoints:
    """The checkpoints of versions whose rounds were SQL text; what it forgets is all of FOLDER."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._uri, self._files = uri, files_of(spark, uri)

    def is_there(self) -> bool:
        """Tells whether an older version left a checkpoint."""
        return bool(self._found())

    def check(self) -> None:
        """Raises InputError: no run can go on from it."""
        raise InputError(f"{self._uri}: {self._found()[0]}: the checkpoint is of an older version of the emulator; {ALLOWED}")

    def start_anew(self) -> None:
        """Forget all that is kept there."""
        self._files.delete(FOLDER)

    def forget(self, note: Callable[[str], None]) -> None:
        """Remove everything after a run that has ended well; whatever keeps it from that is only noted."""
        try:
            self.start_anew()
        except SPARK_OR_FILE_ERRORS as error:
            note(f"{self._uri}: {FOLDER} could not be removed: {error}")

    def forget_useless(self) -> None:
        """Remove what is left of an older version's run that had no checkpoint yet, if that can be done."""
        with suppress(Exception):
            if not self.is_there():
                for folder in _FOLDERS[1:]:
                    self._files.delete(folder)

    def _found(self) -> list[str]:
        folders = [folder for folder in _FOLDERS if self._files.is_folder(folder)]
        numbered = [f"{folder}/{name}" for folder in folders for name in self._files.names(folder) if name.isdigit()]
        return [name for name in numbered if self._files.exists(f"{name}/{_CONTENT}")]
