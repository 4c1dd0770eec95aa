"""The session: found or built, and the settings held around the loop."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator import session
from emulator.errors import EnvironmentProblem, InputError
from emulator.spark import java
from emulator.spark.class_archive import archive_options, archive_path


def test_an_existing_session_is_used_as_it_is(spark: SparkSession) -> None:
    found = session.get_session(master="local[7]", conf={"spark.sql.shuffle.partitions": "99"})
    assert found.sparkContext is spark.sparkContext
    assert found.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_only_what_was_built_here_is_stopped(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session.is_ours(spark)
    monkeypatch.setattr(session, "_ours", None)
    assert not session.is_ours(spark)
    session.stop_if_ours(spark)
    assert spark.range(1).count() == 1


def test_settings_are_put_back_also_after_an_error(spark: SparkSession) -> None:
    keys = ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold")
    before = [spark.conf.get(key) for key in keys]
    with (
        pytest.raises(KeyError),
        session.settings_held(spark, dict(zip(keys, ("false", "5", "1"), strict=True)) | {"spark.emulator.test": "1"}),
    ):
        assert [spark.conf.get(key) for key in keys] == ["false", "5", "1"]
        assert spark.conf.get("spark.emulator.test") == "1"
        raise KeyError
    assert [spark.conf.get(key) for key in keys] == before
    assert spark.conf.get("spark.emulator.test", None) is None


def test_local_sessions_are_quiet_and_in_utc(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.sql.catalogImplementation") == "in-memory"
    assert not Path("spark-warehouse").exists()


@pytest.mark.parametrize("master", ["", "loca", "local[0]", "local[x]", "http://host:1", "spark:/x"])
def test_an_unknown_master_is_an_input_error(master: str) -> None:
    with pytest.raises(InputError, match="is not a Spark master; allowed: local"):
        session.get_session(master=master)


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('JAVA_VERSION="17.0.15"\n', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("nothing", None),
    ],
)
def test_java_version_is_read(text: str, major: int | None) -> None:
    assert java._major_of(text) == major


def test_the_java_here_is_found() -> None:
    assert (java.java_major_version() or 0) >= java.OLDEST_JAVA


@pytest.mark.parametrize("release", [None, 'JAVA_VERSION="11.0.2"'])
def test_no_or_old_java_says_how_to_install_one(release: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if release is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").touch(mode=0o755)
        (tmp_path / "release").write_text(release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    with pytest.raises(EnvironmentProblem) as raised:
        session._build(None, {}, "test")
    assert str(raised.value) == ("Java 17 or later is needed: install it with: sudo apt-get install openjdk-17-jre-headless")


def test_settings_given_win_over_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    settings = session._settings(None, {"spark.driver.memory": "1g"}, submitted=False)
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.driver.memory"] == "1g"
    remote = session._settings("spark://host:7077", {}, submitted=False)
    assert "spark.driver.host" not in remote
    assert "spark.driver.memory" not in remote


def test_something_else_is_done_while_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    monkeypatch.setattr(session, "_started", lambda *_: begun.wait(10))
    assert session._started_beside_handler("test", {}, begun.set) is True


SERIAL, QUICK, ROOM = "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"


@pytest.mark.parametrize(
    ("cores", "chosen", "ours"),
    [
        (2, "", {SERIAL, QUICK, ROOM}),
        (4, "-Xss2m", {SERIAL, QUICK, ROOM}),
        (5, "", set()),
        (2, "-XX:+UseParallelGC", {QUICK, ROOM}),
        (2, "-XX:+TieredCompilation", {SERIAL, ROOM}),
    ],
)
def test_java_leaves_few_cores_to_the_rounds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int, chosen: str, ours: set[str]
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setenv("EMULATOR_CACHE_DIR", str(tmp_path))  # without kept classes
    monkeypatch.setenv("JDK_JAVA_OPTIONS", chosen)
    options = session._settings("local[2]", {}, submitted=False)["spark.driver.extraJavaOptions"]
    assert {option for option in options.split() if option.startswith("-XX")} == ours
    assert "-XX" not in session._settings("spark://host:7077", {}, submitted=False)["spark.driver.extraJavaOptions"]


def test_java_takes_kept_classes_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMULATOR_CACHE_DIR", str(tmp_path))
    assert archive_options() == ""
    path = archive_path()
    assert path is not None and path.parent == tmp_path
    path.write_bytes(b"no classes")
    assert f"-XX:SharedArchiveFile={path} " in session._settings("local[2]", {}, False)["spark.driver.extraJavaOptions"]
    of_java = subprocess.run(["java", *archive_options().split(), "-version"], capture_output=True, text=True, check=True)
    assert "SharedArchiveFile" not in of_java.stdout + of_java.stderr  # nor is anything said where they cannot be taken
    monkeypatch.setattr("emulator.spark.class_archive.pyspark.__version__", "another")
    assert archive_options() == ""


def test_driver_memory_is_at_most_half_of_the_machine() -> None:
    assert 0 < java.default_driver_memory_bytes() <= java.LARGEST_DEFAULT_DRIVER_MEMORY_BYTES
