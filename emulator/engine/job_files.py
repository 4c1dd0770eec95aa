"""What jobs of compiled rounds leave under the output folder: tables, progress and `--resume` are made from these files only.

`_checkpoint/compiled/PLAN.json` says how the run is cut into blocks and jobs; `job-N/rows/` are a job's rows as Parquet
(emulator/engine/rows.py), `job-N/JOB.json`, written last, which files they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from emulator.engine.blocks import Plan
from emulator.engine.budgets.step_files import FIRST_STEP, STEPS
from emulator.engine.identity import ALLOWED, Identity, differences, sealed, unsealed
from emulator.engine.rows import OF_PACKS
from emulator.errors import InputError
from emulator.spark.spark_errors import SPARK_ERRORS, SPARK_OR_FILE_ERRORS
from emulator.storage.files import files_of

_PLAN = "PLAN.json"
_JOB = "JOB.json"
_FORMAT = 3


class JobFiles:
    """The files of one run's jobs in its output folder `uri`.

    `identity`: gives what must be the same to go on (scenario, mode, trace, version), each as a fingerprint.
    """

    def __init__(self, spark: SparkSession, uri: str, identity: Identity, folder: str) -> None:
        self._spark = spark
        self.uri = uri
        self._identity = identity
        self.folder = folder
        self._files = files_of(spark, uri)

    def is_there(self) -> bool:
        """Tells whether a job, or a step of partitions that share budgets, is done that a run could go on from."""
        if not self._files.exists(f"{self.folder}/{_PLAN}"):
            return False
        return any(self._is_done(name) for name in self._files.names(self.folder))

    def check(self) -> None:
        """Raises InputError with the reason why this run cannot go on from what is there."""
        self.plan()

    def plan(self) -> Plan:
        """How the run that is there was cut.

        Raises InputError for one that is of another run, or not as it was written.
        """
        content = self._read(_PLAN)
        if other := ["version"] if content["format"] != _FORMAT else differences(self._identity(), content["identity"]):
            raise InputError(f"{self.uri}: {self.folder}: the checkpoint is of another {' and '.join(other)}; {ALLOWED}")
        return Plan(tuple(content["bounds"]), tuple(content["jobs"]))

    def shared_fetchers(self) -> list[int]:
        """Of the run that is there the scenarios whose partitions share fetchers, by scenario_id."""
        found: list[int] = self._read(_PLAN).get("shared_fetchers", [])
        return found

    def begin(self, plan: Plan, shared_fetchers: Sequence[int] = ()) -> None:
        """Note how the run is cut, and which of its scenarios share fetchers; nothing is there before."""
        content = {"format": _FORMAT, "identity": self._identity(), "bounds": plan.bounds, "jobs": plan.jobs}
        if shared_fetchers:
            content["shared_fetchers"] = list(shared_fetchers)
        self._files.write_text(f"{self.folder}/{_PLAN}", sealed(content))

    def done(self, plan: Plan, schema: StructType) -> set[int]:
        """The jobs that are done; raises InputError where their files are not as they were written."""
        done = {job for job in range(plan.job_count) if self._is_done(_name(job))}
        for job in done:
            where = f"{self.uri}: {self.folder}/{_name(job)}"
            if self._read(f"{_name(job)}/{_JOB}")["files"] != self._files.sizes(f"{self.folder}/{_name(job)}/rows"):
                raise InputError(f"{where}: files of rows are missing or have another size; {ALLOWED}")
            try:
                rows = self.rows([job], schema)
                rows.agg(F.bit_xor(F.xxhash64(*rows.columns))).collect()
            except SPARK_ERRORS as error:
                raise InputError(f"{where}: the rows cannot be read, or are not as they were written; {ALLOWED}") from error
        return done

    def write(self, job: int, rows: DataFrame) -> None:
        """Play a job: compute its rows, write them, mark it as done."""
        rows.write.mode("overwrite").options(**OF_PACKS).parquet(self._files.uri(f"{self.folder}/{_name(job)}/rows"))
        content = {"files": self._files.sizes(f"{self.folder}/{_name(job)}/rows")}
        self._files.write_text(f"{self.folder}/{_name(job)}/{_JOB}", sealed(content))

    def rows(self, jobs: Iterable[int], schema: StructType) -> DataFrame:
        """The rows of jobs, held against the checksums of their pages; `schema`: of what they were written with."""
        folders = [self._files.read_uri(f"{self.folder}/{_name(job)}/rows") for job in jobs]
        return self._spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", True).parquet(*folders)

    def start_anew(self) -> None:
        """Forget every job."""
        self._files.delete(self.folder)

    def forget(self, note: Callable[[str], None]) -> None:
        """Remove everything after a run that has ended well; whatever keeps it from that is only noted."""
        try:
            self.start_anew()
        except SPARK_OR_FILE_ERRORS as error:
            note(f"{self.uri}: {self.folder} could not be removed: {error}")

    def forget_useless(self) -> None:
        """Remove what a failed run leaves that has no job done, if that can be done."""
        with suppress(Exception):
            if not self.is_there():
                self.start_anew()

    def _is_done(self, name: str) -> bool:
        if name.startswith(STEPS):
            return self._files.exists(f"{self.folder}/{name}/{FIRST_STEP}")
        return name.startswith("job-") and self._files.exists(f"{self.folder}/{name}/{_JOB}")

    def _read(self, name: str) -> dict[str, Any]:
        try:
            return unsealed(self._files.read_text(f"{self.folder}/{name}"))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.uri}: {self.folder}/{name} is damaged; {ALLOWED}") from error


def _name(job: int) -> str:
    return f"job-{job}"
