"""Files under an output folder: by Hadoop's Java API and by pyarrow they are the same to everything above."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from emulator.arrow.files import ArrowFiles
from emulator.errors import InputError
from emulator.storage.files import Files, files_of
from emulator.storage.hadoop_files import HadoopFiles
from tests.engine_helpers import emulate

RUN = """
rounds = 12
cluster = { brokers = 3 }
topics = [{ name = "t", partitions = 4, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 5 }]
faults = [{ kind = "broker_crash", broker = 1, from_round = 3, to_round = 9 }]
"""

KINDS = ("hadoop", "arrow", "arrow, file by file")


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Files under "out [1]", which is not there yet; "file by file" renames folders as on an object store."""
    root = str(tmp_path / "out [1]")
    if request.param == "hadoop":
        return HadoopFiles(request.getfixturevalue("spark"), root)
    if request.param == "arrow, file by file":
        monkeypatch.setattr(ArrowFiles, "_renames_folders", False)
    return ArrowFiles(root)


def test_which_files_a_session_has(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    for uri in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}", "a:b/c"):
        assert isinstance(files_of(spark, uri), ArrowFiles), uri
    assert isinstance(files_of(connect, str(tmp_path)), ArrowFiles)
    monkeypatch.setattr("emulator.storage.hadoop_files.HadoopFiles", lambda _, uri: f"of Hadoop: {uri}")
    for uri in ("hdfs://host/a", "s3a://bucket/file:", "file://host/a"):
        assert files_of(spark, uri) == f"of Hadoop: {uri}"
    hadoop_conf = {"fs.defaultFS": "hdfs://host"}
    monkeypatch.setattr("emulator.storage.hadoop_files.java_of", lambda _: SimpleNamespace(hadoop_conf=hadoop_conf))
    assert files_of(spark, "a/b") == "of Hadoop: a/b"
    assert isinstance(files_of(spark, f"file:{tmp_path}"), ArrowFiles)


def test_a_run_writes_the_same_by_hadoop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the driver and as jobs, over tables that are there."""
    tables = [emulate(spark, RUN, tmp_path / "arrow", trace="none")]
    monkeypatch.setattr("emulator.storage.hadoop_files.is_of_this_machine", lambda *_: False)
    tables.append(emulate(spark, RUN, tmp_path / "hadoop", trace="none"))
    monkeypatch.setattr("emulator.engine.compiled_engine.is_for_driver", lambda *_: False)
    tables.append(emulate(spark, RUN, tmp_path / "hadoop", trace="none"))
    first, *others = ({name: sorted(map(repr, rows)) for name, rows in seen.items() if name != "runs"} for seen in tables)
    assert others == [first, first]
    assert len(first["outcomes"]) == 4


def test_addresses(files: Files, tmp_path: Path) -> None:
    assert files.uri() == f"file:{tmp_path}/out [1]"
    assert files.uri("a/b") == f"file:{tmp_path}/out [1]/a/b"
    assert files.read_uri("a*") == f"file:{tmp_path}/out \\[1\\]/a\\*"


def test_a_folder_made_filled_renamed_and_removed(files: Files, tmp_path: Path) -> None:
    root = tmp_path / "out [1]"
    assert not files.exists()
    made = files.make_folders("a/b")
    assert made == [files.uri("a/b"), files.uri("a"), files.uri()]
    assert files.make_folders("a/b") == []
    files.write_text("a/b/text.gz", "grüß")
    files.write_bytes("a/b/deep/er/bytes", b"\0\1")
    (root / "a" / "b" / ".text.gz.crc").write_text("checksum")
    assert (root / "a" / "b" / "text.gz").read_bytes() == "grüß".encode()
    assert files.read_text("a/b/text.gz") == "grüß"
    assert files.sizes("a/b") == {"text.gz": 6, "deep/er/bytes": 2}
    assert files.names("a/b") == [".text.gz.crc", "deep", "text.gz"]
    assert files.is_folder("a/b/deep")
    assert not files.is_folder("a/b/text.gz")
    assert abs(files.modified_ms("a/b/text.gz") - (root / "a/b/text.gz").stat().st_mtime_ns / 1e6) < 1000
    with pytest.raises(OSError, match="is there already"):
        files.rename("a/b", "a/b")
    files.rename("a/b", "c")
    assert files.sizes("c") == {"text.gz": 6, "deep/er/bytes": 2}
    assert files.names() == ["a", "c"]
    files.rename("c/text.gz", files.uri("a/whole address"))
    assert files.read_text("a/whole address") == "grüß"
    files.remove_empty_folders(made)
    assert files.names() == ["a", "c"]
    files.delete("a/whole address")
    files.delete("a/whole address")
    files.delete("c")
    files.make_folders("a/b")
    files.remove_empty_folders(made)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there(files: Files, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for refused in (files.names, files.sizes, files.read_text, files.modified_ms):
        with pytest.raises(OSError):
            refused("nothing")
    files.delete("nothing")
    below_a_file = files.uri().replace("out [1]", "file/below")
    with pytest.raises(OSError):
        files.write_text(below_a_file, "x")
    with pytest.raises(OSError):
        files.make_folders(below_a_file)
    with pytest.raises(OSError):
        files.rename("nothing", "something")


def test_an_unfinished_file_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ArrowFiles(str(tmp_path))
    monkeypatch.setattr(files, "rename", lambda *_: (_ for _ in ()).throw(OSError("killed")))
    with pytest.raises(OSError, match="killed"):
        files.write_text("a", "x")
    assert not files.exists("a")


@pytest.mark.parametrize(
    ("uri", "scheme", "prefix", "root"),
    [
        ("s3a://bucket/a/b/", "s3", "s3a://", "bucket/a/b"),
        ("gs://bucket/a", "gs", "gs://", "bucket/a"),
        ("hdfs://name:8020/a", "hdfs", "hdfs://name:8020", "/a"),
    ],
)
def test_addresses_of_stores(uri: str, scheme: str, prefix: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's names of a store, and the paths that pyarrow gives for its own."""

    class Opened:
        @staticmethod
        def from_uri(asked: str) -> tuple[Any, str]:
            assert asked.startswith(f"{scheme}://")
            return fs.LocalFileSystem(), root

    monkeypatch.setattr(fs, "FileSystem", Opened)
    files = ArrowFiles(uri)
    assert files.uri() == prefix + root
    assert files.uri("t/part") == f"{prefix}{root}/t/part"
    assert files._path(files.uri("t/part")) == f"{root}/t/part"


@pytest.mark.parametrize("uri", ["nosuchscheme://host/dir", "s3://", " "])
def test_addresses_that_cannot_be_opened(uri: str) -> None:
    with pytest.raises(InputError, match="cannot be opened|the path is empty") as raised:
        ArrowFiles(uri)
    assert "\n" not in str(raised.value)
