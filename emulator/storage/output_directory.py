"""Output tables that are complete or absent, whatever moment a run is killed at.

A run writes into `DIR/_staging-<run_id>/`. `commit` first puts a list of all files there (`_COMMIT`), from which the
rest can be done over at any time: the tables before are moved away, the new ones moved in (`runs` leaves first and
arrives last), the staging folder deleted. What a kill cut short, the next `recover` finishes.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from emulator.arrow.packs import PackedRows
from emulator.errors import InputError
from emulator.session import is_connect
from emulator.spark.spark_errors import SPARK_ERRORS
from emulator.storage.files import files_of
from emulator.storage.processes import is_running, this_process
from emulator.storage.table_writer import TableWriter
from emulator.table_columns.spark_columns import OUTPUT_TABLES

STAGING_PREFIX = "_staging-"
COMMIT_FILE = "_COMMIT"
OWNER_FILE = "_OWNER"
PREVIOUS_FOLDER = "_previous"
LAST_TABLE = "runs"
# Whether a process of another host still lives cannot be seen: after this long without a change it is taken for dead.
FOREIGN_RUN_STALE_AFTER_SECONDS = 7 * 24 * 3600
FOREIGN_COMMIT_STALE_AFTER_SECONDS = 600

# Staging folders that this very process is writing.
_being_written: set[str] = set()


class OutputDirectory:
    """The folder `--out` names: a folder per output table, and whatever else the user keeps there.

    `uri`: any Hadoop URI or a local path. `run_id`: letters, digits and "-"; drawn if not given. `tables`: those that are
    written and replaced together, a run's unless others are given. `derived`: what is worked out from them, which `commit`
    removes. Only folders named as one of these and `_staging-*` are ever touched here (emulator/engine/job_files.py has
    `_checkpoint`). Raises `InputError` for an address that cannot be opened.
    """

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        run_id: str | None = None,
        tables: Mapping[str, StructType] = OUTPUT_TABLES,
        derived: Collection[str] = (),
    ) -> None:
        self.uri = uri
        self.run_id = run_id or uuid.uuid4().hex[:12]
        if not re.fullmatch(r"[A-Za-z0-9-]+", self.run_id):
            raise ValueError(f"run_id {self.run_id!r}: letters, digits and - only")
        self._spark = spark
        self._schemas = tables
        self._derived = derived
        self._files = files_of(spark, uri)
        self._staging = STAGING_PREFIX + self.run_id
        self._writer = TableWriter(spark, self._files, self._staging, self.run_id, tables)
        self._made_folders: list[str] = []

    def stage(self) -> None:
        """Makes the staging folder, after finishing or removing what dead runs left behind.

        Raises `InputError` when the folder is a file, cannot be made or written, holds something else under the name of
        an output table, or is being written by another run. Nothing is left behind then.
        """
        try:
            if self._files.exists() and not self._files.is_folder():
                raise InputError(f"{self.uri}: the output folder is a file; allowed: a folder, or a name not taken yet")
            self._made_folders = self._files.make_folders()
            self.recover()
            self._remove_stale_stagings()
            self._refuse_foreign_tables()
            self._files.make_folders(self._staging)
            self._files.write_text(f"{self._staging}/{OWNER_FILE}", json.dumps(this_process()))
            self._refuse_unseen()
        except OSError as error:
            self._remove_what_stage_made()
            raise InputError(f"{self.uri}: the output folder cannot be written: {error}") from error
        except InputError:
            self._remove_what_stage_made()
            raise
        _being_written.add(self._files.uri(self._staging))

    def path(self, table: str) -> str:
        """Returns the address to write a table to before `commit`; the table must be one of those of the folder."""
        return self._writer.path(table)

    def table_uri(self, table: str) -> str:
        """Returns the address to read a published table from."""
        return self._files.read_uri(table)

    def sizes(self, table: str) -> dict[str, int]:
        """Returns the bytes of each file of a published table, by name."""
        return self._files.sizes(table)

    def write(self, table: str, rows: DataFrame | PackedRows | pa.Table) -> None:
        """Writes a table to staging (TableWriter.write)."""
        self._writer.write(table, rows)

    def write_rows(self, table: str, rows: Iterable[Sequence[Any]], schema: StructType | None = None) -> None:
        """Writes a small table from tuples to staging (TableWriter.write_rows)."""
        self._writer.write_rows(table, rows, schema)

    def commit(self) -> None:
        """Publishes all staged tables in place of those before and of what is derived from these.

        Raises `OSError` when the file system fails.
        """
        staging = self._files.uri(self._staging)
        try:
            staged = [name for name in self._files.names(self._staging) if not name.startswith(("_", "."))]
            manifest = {
                "run_id": self.run_id,
                "tables": {name: self._files.sizes(f"{self._staging}/{name}") for name in staged},
                "retired": [*self.tables(), *self.derived_tables()],
            }
            self._files.write_text(f"{self._staging}/{COMMIT_FILE}", json.dumps(manifest))
            self._roll_forward(self._staging)
        finally:
            _being_written.discard(staging)

    def abort(self) -> None:
        """Removes what was staged, and the output folder if `stage` made it; after `commit` it does nothing."""
        _being_written.discard(self._files.uri(self._staging))
        if not self._files.exists(f"{self._staging}/{COMMIT_FILE}"):
            self._files.delete(self._staging)
            self._files.remove_empty_folders(self._made_folders)

    def recover(self) -> None:
        """Finishes the publishing that a run was cut off from; raises `OSError` when the file system fails."""
        for staging in self._stagings():
            if self._files.exists(f"{staging}/{COMMIT_FILE}") and not self._is_live(staging):
                self._roll_forward(staging)

    def is_being_published(self) -> bool:
        """Tells whether a live run is publishing its tables at this moment."""
        return any(self._files.exists(f"{staging}/{COMMIT_FILE}") for staging in self._stagings())

    def tables(self) -> list[str]:
        """Returns the names of the output tables that are there, in the order of their schemas."""
        if not self._files.is_folder():
            return []
        there = set(self._files.names())
        return [name for name in self._schemas if name in there and self._files.is_folder(name)]

    def derived_tables(self) -> list[str]:
        """Returns the names of the derived tables that are there: all of them or, where one isn't a table, none is ours."""
        return list(self._derived) if all(map(self._is_table, self._derived)) else []

    def _roll_forward(self, staging: str) -> None:
        """Moves the tables before away and the staged ones in. Doing it again from any point on ends the same."""
        manifest = json.loads(self._files.read_text(f"{staging}/{COMMIT_FILE}"))
        new: dict[str, dict[str, int]] = manifest["tables"]
        published = {name for name, sizes in new.items() if self._is_published(name, sizes)}
        for name in sorted({*manifest["retired"], *new} - published, key=_last_table_first):
            self._move_away(name, staging)
        for name in sorted(new.keys() - published, key=_last_table_first, reverse=True):
            self._files.rename(f"{staging}/{name}", name)
        # Without its list the rest is rubbish, which no later recovery may act on.
        self._files.delete(f"{staging}/{COMMIT_FILE}")
        self._files.delete(staging)

    def _is_published(self, table: str, sizes: dict[str, int]) -> bool:
        return self._files.is_folder(table) and self._files.sizes(table) == sizes

    def _move_away(self, table: str, staging: str) -> None:
        if not self._files.exists(table):
            return
        previous = f"{staging}/{PREVIOUS_FOLDER}/{table}"
        if self._files.exists(previous):
            # Where a rename is a copy, a kill can leave it half done: what is still here is a rest of it.
            self._files.delete(table)
        else:
            self._files.make_folders(f"{staging}/{PREVIOUS_FOLDER}")
            self._files.rename(table, previous)

    def _stagings(self) -> list[str]:
        if not self._files.is_folder():
            return []
        return [name for name in self._files.names() if name.startswith(STAGING_PREFIX)]

    def _remove_stale_stagings(self) -> None:
        for staging in self._stagings():
            if self._is_live(staging):
                owner = self._owner(staging)
                raise InputError(
                    f"{self.uri}: another run is writing here (process {owner.get('pid')} on {owner.get('host')}); "
                    f"wait for it, or remove {staging} if it is dead"
                )
            self._files.delete(staging)

    def _refuse_foreign_tables(self) -> None:
        """Makes sure that what `commit` will replace was written by a run; the folder is listed once, not asked for each name."""
        there = set(self._files.names())
        for name in self._schemas:
            if name in there and not self._is_table(name):
                raise InputError(f"{self.uri}: {name!r} there is not a table of a run; choose another output folder")

    def _is_table(self, name: str) -> bool:
        return self._files.is_folder(name) and all(map(_is_table_file, self._files.sizes(name)))

    def _refuse_unseen(self) -> None:
        """Makes sure that a server of Spark Connect sees the files that this process writes."""
        if not is_connect(self._spark):
            return
        try:
            self._spark.read.schema(OUTPUT_TABLES[LAST_TABLE]).parquet(self._files.read_uri(self._staging)).dtypes  # noqa: B018
        except SPARK_ERRORS as error:
            problem = "the server of Spark Connect does not see this folder; allowed: one that it shares with this process"
            raise InputError(f"{self.uri}: {problem}") from error

    def _is_live(self, staging: str) -> bool:
        owner = self._owner(staging)
        if not owner:
            return False
        here = this_process()
        if owner.get("host") != here["host"]:
            return self._changed_lately(staging)
        if owner.get("pid") == here["pid"] and owner.get("started") == here["started"]:
            return self._files.uri(staging) in _being_written
        return is_running(int(owner["pid"]), owner.get("started"))

    def _changed_lately(self, staging: str) -> bool:
        commit = f"{staging}/{COMMIT_FILE}"
        if self._files.exists(commit):
            name, seconds = commit, FOREIGN_COMMIT_STALE_AFTER_SECONDS
        else:
            name, seconds = f"{staging}/{OWNER_FILE}", FOREIGN_RUN_STALE_AFTER_SECONDS
        return time.time() - self._files.modified_ms(name) / 1000 < seconds

    def _owner(self, staging: str) -> dict[str, Any]:
        name = f"{staging}/{OWNER_FILE}"
        try:
            owner = json.loads(self._files.read_text(name)) if self._files.exists(name) else {}
        except (OSError, ValueError):
            return {}
        return owner if isinstance(owner, dict) else {}

    def _remove_what_stage_made(self) -> None:
        with suppress(OSError):  # the reason to be here is one already
            self._files.delete(self._staging)
            self._files.remove_empty_folders(self._made_folders)


def _last_table_first(table: str) -> tuple[bool, str]:
    return table != LAST_TABLE, table


def _is_table_file(name: str) -> bool:
    last = name.rsplit("/", 1)[-1]
    return last.endswith(".parquet") or last.startswith(("_", "."))
