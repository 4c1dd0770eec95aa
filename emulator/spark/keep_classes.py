"""Has Java keep Spark's classes, where it does not yet: `python -m emulator.spark.keep_classes`, called by `make setup`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from emulator.engine.compile_all import SCENARIO
from emulator.errors import EnvironmentProblem
from emulator.outcomes.ask import Asker
from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.session import end_java, get_session
from emulator.spark.class_archive import QUIET, archive_path
from emulator.spark.java import OLDEST_JAVA, java_major_version

DUMP_SECONDS_MAX = 300
QUESTIONS = ("how_do_variants_compare", "which_broker_hurts_most", "which_partitions_lost_records")
"""They load nearly all that runs and questions load."""


def keep_classes() -> None:
    """Has Java keep what a small run and its questions load, where it is not kept yet, for each environment's jars."""
    path = archive_path()
    if path is None or path.exists() or (java_major_version() or 0) < OLDEST_JAVA:
        return
    began = time.monotonic()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
        unfinished = Path(folder) / "classes.jsa"
        _work(Path(folder), f"-XX:ArchiveClassesAtExit={unfinished} {QUIET}")
        unfinished.rename(path)
    print(f"Spark's classes kept in {time.monotonic() - began:.0f} s", file=sys.stderr)


def _work(folder: Path, options: str) -> None:
    spark = get_session("local[2]", {"spark.driver.defaultJavaOptions": options})
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    run_emulation(load_run(str(folder / "scenario.toml")), str(folder / "run"), spark)
    spark.range(4).mapInArrow(lambda batches: batches, "id long").toArrow()
    asker = Asker(str(folder / "run"), "spark", lambda: spark)
    for name in QUESTIONS:
        list(asker.ask(f"@{name}")[1])
    spark.stop()
    end_java(DUMP_SECONDS_MAX)


if __name__ == "__main__":
    try:
        keep_classes()
    except (EnvironmentProblem, OSError) as problem:  # every Spark then loads its classes by itself
        print(f"Spark's classes are not kept: {problem}", file=sys.stderr)
