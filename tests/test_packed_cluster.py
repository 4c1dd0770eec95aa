"""spark-submit on Spark's standalone master with two workers, one of which dies in mid-run.

They have this package from the archive of `emulator pack`, compiled rounds included. Of others an archive of the suite has none:
the workers' Python has them. `PACK_ALL=1` (`make test-packed`) packs all, with rounds for any CPU of this kind, for workers whose
Python has nothing, and for a driver that has the archive alone, as in cluster mode: a minute of compiling, and half a gigabyte
to write and to unpack three times.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from emulator.packing.generic_rounds import generic_rounds
from emulator.packing.pack import pack
from emulator.rounds import compiled_cache
from emulator.rounds.kafka.play_partitions import play_partitions
from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.standalone_cluster import loopback_problem, rounds_done, standalone_cluster, wait_for

ROOT = Path(__file__).parents[1]

# Six seconds on two cores: 95 million replica-rounds, in eight blocks.
TOPICS = 4
SCENARIO = """
name = "packed"
rounds = 24_000
mode = "plain"
[cluster]
brokers = 6
session_timeout_rounds = 4
config = { "unclean.leader.election.enable" = true }
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 24_000
mean_duration_rounds = 600
""" + "".join(
    f"""
[[topics]]
name = "topic{number}"
partitions = 330
replication_factor = 3
[[workload]]
topic = "topic{number}"
records_per_round = {number + 1}
acks = "{"all" if number % 2 else "1"}"
"""
    for number in range(TOPICS)
)
TRACED = "topic3:17"

PACK_ALL = bool(os.environ.get("PACK_ALL"))
RUN_SECONDS_MAX = 600

pytestmark = [
    pytest.mark.skipif(bool(loopback_problem()), reason=loopback_problem() or "loopback works"),
    pytest.mark.skipif(compiled_cache.numba is None, reason="numba is missing"),
]


def packed(folder: Path) -> Path:
    """The archive, not compressed; and of rounds those that are played: all take minutes to compile."""
    path = folder / "env.tar.gz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emulator.packing.archive.COMPRESSION", 0)
        if PACK_ALL:
            patch.setattr("emulator.packing.pack.generic_rounds", lambda: generic_rounds(["core"]))
        else:
            patch.setattr("emulator.packing.pack.generic_rounds", lambda: [compiled_cache.folder_of(play_partitions)])
            patch.setattr("emulator.packing.pack.files_of", lambda _: ())
        told = pack(str(path), lambda _: None)
    assert f"--archives '{path}#environment'" in told[-1]
    return path


def machine(folder: Path) -> dict[str, str]:
    """Environment variables of a machine whose user has no home that can be written, of this CPU or any of its kind."""
    java = os.environ.get("JAVA_HOME") or str(Path(str(shutil.which("java"))).resolve().parents[1])
    (folder / "tmp").mkdir()
    variables = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "JAVA_HOME": java,
        "HOME": "/dev/null",
        "TMPDIR": str(folder / "tmp"),
    }
    return bare(folder, variables) if PACK_ALL else variables | {"NUMBA_CPU_NAME": compiled_cache.cpu().split()[0]}


def bare(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """The same with a Python that has no packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    variables = variables | {"PATH": f"{folder / 'bare' / 'bin'}:/usr/bin:/bin"}
    found = subprocess.run(["python3", "-c", "import numpy"], env=variables, capture_output=True, text=True, check=False)
    assert "No module named 'numpy'" in found.stderr
    return variables


def as_in_cluster_mode(archive: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """The job and the Python of a driver that has the unpacked archive, on a node whose Python has no packages.

    A standalone cluster has no cluster mode for Python: the driver is spark-submit's process all the same.
    """
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "driver", filter="data")
    monkeypatch.setenv("EMULATOR_PYTHON", str(folder / "bare" / "bin" / "python3"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    job = shutil.copy(ROOT / "jobs" / "emulate.py", folder / "driver")
    return Path(job), str(folder / "driver" / "bin" / "python")


def test_a_cluster_with_the_archive(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, out, folder = tmp_path / "packed.toml", tmp_path / "out", tmp_path / "cluster"
    # By leaps, which takes this machine no time, once it has the rounds compiled.
    scenario.write_text(SCENARIO.replace('mode = "plain"', 'mode = "leap"'))
    run_emulation(load_run(str(scenario)), str(tmp_path / "local"), spark, trace=TRACED)
    archive = packed(tmp_path)
    scenario.write_text(SCENARIO)
    folder.mkdir()
    with standalone_cluster(folder, variables=machine(tmp_path)) as cluster:
        job, driver = ROOT / "jobs" / "emulate.py", sys.executable
        if PACK_ALL:
            job, driver = as_in_cluster_mode(archive, tmp_path, monkeypatch)
        python = ["spark.pyspark.python=./environment/bin/python", f"spark.pyspark.driver.python={driver}"]
        flags = ["--archives", f"{archive}#environment", *(part for setting in python for part in ("--conf", setting))]
        asked = [str(scenario), "--out", str(out), "--trace", TRACED]
        run = cluster.submit("run", *flags, str(job), *asked)
        log = cluster.log("run")
        wait_for(lambda: run.poll() is not None or rounds_done(log) > 0, RUN_SECONDS_MAX)
        assert run.poll() is None, log.read_text()
        cluster.kill_worker(cluster.workers[0])
        assert run.wait(RUN_SECONDS_MAX) == 0, log.read_text()
        assert "Lost executor" in log.read_text()
    assert not list((tmp_path / "tmp").glob("*.lock")), "executors did not have to compile"
    used = compiled_files_of(tmp_path / "tmp")
    assert any("kafka/play_partitions" in name for name in used)
    assert set(used) <= set(compiled_files_in(archive)), "of the systems that were played"
    for name in OUTPUT_TABLES.keys() - {"runs"}:
        there = in_order(tmp_path / "local" / name)
        assert in_order(out / name) == there, name
        assert any(there.values()) or name not in ("trace", "events"), name


def in_order(folder: Path) -> dict[str, list[Any]]:
    """The columns of a table, but for how its rounds were to be played, by all columns that have an order."""
    table: pa.Table = ds.dataset(folder, format="parquet").to_table()
    table = table.select([name for name in table.column_names if name != "mode"])
    ordered = table.sort_by([(field.name, "ascending") for field in table.schema if not pa.types.is_nested(field.type)])
    columns: dict[str, list[Any]] = ordered.to_pydict()
    return columns


def compiled_files_of(temporary: Path) -> list[str]:
    """What is compiled in the cache of a machine without a home."""
    (home,) = temporary.glob("replication-emulator-*/")
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*.nb?"))


def compiled_files_in(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return sorted(re.sub("^compiled/", "", name) for name in opened.getnames() if name.startswith("compiled/"))
