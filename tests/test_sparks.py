"""Other Sparks than the one here: what the package uses of Spark is public, and sessions of Spark Connect are taken.

`make test-sparks` (tests/sparks) runs the demo on each version; SPARKS names some of them.
"""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator import session
from emulator.cli import main
from emulator.errors import EnvironmentProblem, InputError
from emulator.outcomes.sql import own_session
from emulator.spark import connect as of_connect
from emulator.storage.output_directory import OutputDirectory
from tests.sparks import compare

ROOT = Path(__file__).parents[1]

PRIVATE = re.compile(r"\b(_jdf|_jvm|_jsc|_jc|_sc|_gateway|_jsparkSession|py4j|pyspark\.sql\.(pandas|connect|classic|utils))\b")
"""What is Java's, or Spark's own business."""

MAY_USE_IT = {
    "emulator/storage/hadoop_files.py": "the errors of Hadoop's Java API, where there is a JVM",
    "emulator/session.py": "whether Spark Connect can be imported",
    "emulator/spark/classic.py": "each use with its reason",
    "emulator/spark/spark_errors.py": "what a call of Java raises",
}


class ConnectSession:
    """What a session of Spark Connect is here: it has no JVM, no context and no second session."""

    __module__ = "pyspark.sql.connect.session"
    version = "4.3.0"

    def __init__(self) -> None:
        self.conf: Any = SimpleNamespace(set=lambda key, value: self.settings.update({key: value}))
        self.settings: dict[str, str] = {}
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def connect() -> Any:
    return ConnectSession()


def test_only_named_files_use_what_is_private() -> None:
    files = [path for folder in ("emulator", "datasets", "jobs") for path in (ROOT / folder).rglob("*.py")]
    uses = {path.relative_to(ROOT).as_posix() for path in files if PRIVATE.search(path.read_text("utf-8"))}
    assert uses == MAY_USE_IT.keys()


def test_a_session_of_spark_connect_is_taken(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: connect)
    assert session.is_there()
    assert session.get_session(master="local[7]") is connect
    assert session.is_connect(connect)
    assert not session.is_ours(connect)
    session.stop_if_ours(connect)
    assert not connect.stopped
    monkeypatch.setattr(session, "_ours", connect)
    session.stop_if_ours(connect)
    assert connect.stopped


def test_a_query_without_a_session_of_its_own(connect: Any) -> None:
    assert own_session(connect) is connect
    assert connect.settings == {"spark.sql.session.timeZone": "UTC", "spark.sql.runSQLOnFiles": "false"}


def test_a_server_that_does_not_see_the_folder(connect: Any, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    class Reader:
        def schema(self, _: object) -> Reader:
            return self

        def parquet(self, _: str) -> Any:
            raise AnalysisException("[PATH_NOT_FOUND]")

    connect.read = Reader()
    with pytest.raises(InputError, match="the server of Spark Connect does not see this folder; allowed: one that it shares"):
        OutputDirectory(connect, str(tmp_path / "out")).stage()
    assert list(tmp_path.iterdir()) == []


def _nothing_traced(scenario: Any) -> Any:
    import numpy as np

    return np.zeros(sum(topic.partitions for topic in scenario.topics), bool)


@pytest.mark.parametrize(
    "command",
    [
        ["run", str(ROOT / "datasets" / "examples" / "kafka_6361.toml"), "--out", "hdfs://name/out"],
        ["sql", "hdfs://name/out", "SELECT 1"],
        ["compare", "hdfs://name/out"],
        ["explain", "hdfs://name/out", "--topic", "t", "--partition", "0"],
        ["check", "hdfs://name/out"],
    ],
    ids=lambda command: str(command[0]),
)
def test_remote_is_handed_on(command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def get_session(master: str | None, conf: dict[str, str], *_: object) -> Any:
        raise EnvironmentProblem(f"asked for {master}, {conf}")

    monkeypatch.setattr("emulator.session.get_session", get_session)
    assert main([*command, "--remote", "sc://host:1", "--conf", "spark.a=b"]) == 3
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note: ")]
    assert said == ["error: asked for None, {'spark.a': 'b', 'spark.remote': 'sc://host:1'}"]
    assert main([*command, "--remote", "sc://host:1", "--master", "local"]) == 2
    assert capsys.readouterr().err == "error: --remote: stands beside --master; allowed: one of them\n"


@pytest.mark.parametrize("remote", ["", "host:1", "sc://", "sc://host:x", "local[0]", "spark://host:1"])
def test_an_unknown_remote_is_an_input_error(remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is not a Spark Connect server; allowed: sc://HOST:PORT"):
        session.get_session(conf={"spark.remote": remote})
    monkeypatch.setenv("SPARK_REMOTE", remote)
    with pytest.raises(InputError, match="is not a Spark Connect server"):
        session.get_session()


def test_spark_connect_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_existing_session", lambda: None)
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    with pytest.raises(EnvironmentProblem, match=r"needs further packages \(.*\); install them with: .*pyspark\[connect\]"):
        session.get_session(conf={"spark.remote": "sc://host:1"})


def test_a_second_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setattr(of_connect, "CONNECT_PORT", other.getsockname()[1])
        with pytest.raises(EnvironmentProblem, match=r"needs port \d+, which another process has"):
            of_connect.refuse_taken_port()
    of_connect.refuse_taken_port()


@pytest.mark.parametrize("port", ["", ":99999"], ids=["nobody listens", "no such port"])
def test_a_server_that_cannot_be_reached(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = port or f":{other.getsockname()[1]}"
        with pytest.raises(EnvironmentProblem, match=f"Spark Connect at sc://127.0.0.1{port}/;token=x could not be reached: ."):
            of_connect.refuse_unreachable(f"sc://127.0.0.1{port}/;token=x")
        other.listen()
        if port != ":99999":
            of_connect.refuse_unreachable(f"sc://127.0.0.1{port}")


def test_what_differs_between_sparks_is_told() -> None:
    first = {"spark": "4.0.5", "start": [1, None], "demo": [2, {"a": "1"}], "jobs": [3, {"a": "1"}], "report": [4, ["x"]]}
    assert compare.differences(first, first) == []
    assert compare.differences(first | {"spark": "4.1.4", "report": [9, ["x"]]}, first) == []
    assert compare.differences(first | {"report": [4, ["y"]]}, first) == ["report"]
    assert compare.differences(first | {"jobs": [3, {"a": "2"}]}, first) == ["jobs and driver", "jobs (a)"]
    assert compare.differences(first | {"demo": [3, {"a": "2"}], "jobs": [3, {"a": "2"}]}, first) == ["demo (a)", "jobs (a)"]


def test_one_that_fails_or_differs_is_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def demo(version: str, mode: str) -> compare.Found:
        if version == "fails":
            raise RuntimeError("boo")
        rows = "other" if version == "differs" and mode == "connect" else "rows"
        return {"spark": version, "start": [1, None], "demo": [1, rows], "jobs": [1, rows]}

    monkeypatch.setattr(compare, "demo", demo)
    assert compare.main(["one", "two"]) == 0
    assert [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()] == [
        "spark one classic: the others are held against it", "spark one connect: equal",
        "spark two classic: equal", "spark two connect: equal",
    ]  # fmt: skip
    assert compare.main(["one", "differs"]) == 1
    assert "spark differs connect: DIFFERS in demo; jobs; " in capsys.readouterr().out
    assert compare.main(["fails"]) == 1
    assert capsys.readouterr().out == "spark fails classic: FAILED: boo\nspark fails connect: FAILED: boo\n"
