"""Writes Java's class archive for local runs: `python -m emulator.class_archive`, called by `make setup`.

Starting Spark means loading 16,000 classes, a fifth of a short run's time. Java can map them from an archive of an earlier
run instead (dynamic AppCDS, JEP 350). The archive lies in the environment, is used when it fits, and is never needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.session import CLASS_ARCHIVE, driver_java_options, get_session

SCENARIO = """
rounds = 30
cluster = { brokers = 3, session_timeout_rounds = 3 }
topics = [{ name = "t", partitions = 3, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 5, record_bytes = 100 }]
faults = [{ kind = "broker_crash", broker = 1, from_round = 5, to_round = 15 }]
"""


def write_class_archive() -> None:
    """Run a small scenario once and have Java keep the classes it loaded; replaces an archive that is there."""
    if " " in str(CLASS_ARCHIVE):
        raise ValueError(f"{CLASS_ARCHIVE}: Java options cannot name a path with blanks")
    CLASS_ARCHIVE.unlink(missing_ok=True)
    unfinished = CLASS_ARCHIVE.with_suffix(".tmp")
    options = f"{driver_java_options()} -XX:ArchiveClassesAtExit={unfinished} -Xlog:cds=off -Xlog:cds+dynamic=off"
    spark = get_session(conf={"spark.driver.extraJavaOptions": options})
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        run_emulation(load_run(str(scenario)), str(Path(folder) / "out"), spark)
    gateway = spark.sparkContext._gateway
    spark.stop()
    assert gateway is not None
    java = gateway.proc
    gateway.shutdown()
    java.stdin.close()
    java.wait(timeout=120)
    unfinished.rename(CLASS_ARCHIVE)


if __name__ == "__main__":
    try:
        write_class_archive()
    except Exception as problem:  # short runs are then slower, nothing else
        print(f"no class archive: {problem}", file=sys.stderr)
