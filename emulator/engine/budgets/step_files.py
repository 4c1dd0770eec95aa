"""What the steps of partitions that share budgets leave under the output folder, to be gone on from.

`_checkpoint/compiled/steps-ID/step-N/rows/keeps=0/` are what step N of scenario ID told, `keeps=1/` the states at its end, which
go when the step after it is done; `step-N/STEP.json`, written last, says which files there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from emulator.engine.identity import ALLOWED, sealed, unsealed
from emulator.engine.rows import OF_PACKS, rows_of, rows_schema
from emulator.errors import InputError
from emulator.storage.files import files_of

STEPS, FIRST_STEP = "steps-", "step-0/STEP.json"
"""How the folders of scenarios begin; what there is of one with a step done."""

_TOLD, _STATES = "keeps=0", "keeps=1"


class StepFiles:
    """The steps of one scenario. `folder`: of what compiled rounds keep; `names`: the tables that are told."""

    def __init__(self, spark: SparkSession, uri: str, folder: str, scenario_id: int, names: Sequence[str]) -> None:
        self._spark, self._uri = spark, uri
        self._folder = f"{folder}/{STEPS}{scenario_id}"
        self._files = files_of(spark, uri)
        self._told = rows_schema(names)
        self.schema = StructType([*self._told, StructField("keeps", IntegerType())])

    def is_done(self, step: int) -> bool:
        """Tells whether a step is done; raises InputError where its files are not as they were written."""
        if not self._files.exists(f"{self._at(step)}/STEP.json"):
            return False
        try:
            noted = unsealed(self._files.read_text(f"{self._at(step)}/STEP.json"))["files"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self._uri}: {self._at(step)}/STEP.json is damaged; {ALLOWED}") from error
        if noted != self._told_sizes(step):
            raise InputError(f"{self._uri}: {self._at(step)}: files of rows are missing or have another size; {ALLOWED}")
        return True

    def write(self, step: int, rows: DataFrame) -> None:
        """Play a step: compute its rows, write them, mark it as done."""
        rows.write.mode("overwrite").options(**OF_PACKS).partitionBy("keeps").parquet(self._files.uri(f"{self._at(step)}/rows"))
        self._files.write_text(f"{self._at(step)}/STEP.json", sealed({"files": self._told_sizes(step)}))

    def states(self, step: int) -> DataFrame:
        """The blocks at the end of a step."""
        rows = self._read(self._told, [f"{self._at(step)}/rows/{_STATES}"])
        return rows_of(rows, "between")

    def forget_states(self, step: int) -> None:
        """Nothing goes on from the end of this step any more."""
        self._files.delete(f"{self._at(step)}/rows/{_STATES}")

    def told(self, steps: Sequence[int]) -> DataFrame:
        """What steps told."""
        return self._read(self._told, [f"{self._at(step)}/rows/{_TOLD}" for step in steps])

    def _read(self, schema: StructType, folders: Sequence[str]) -> DataFrame:
        checked = self._spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", True)
        return checked.parquet(*(self._files.read_uri(folder) for folder in folders))

    def _told_sizes(self, step: int) -> dict[str, int]:
        folder = f"{self._at(step)}/rows/{_TOLD}"
        return self._files.sizes(folder) if self._files.exists(folder) else {}

    def _at(self, step: int) -> str:
        return f"{self._folder}/step-{step}"
