"""Whatever is wrong with the input gives one line: file, place, what is wrong, what is allowed.

The cases are the files of bad_inputs/: the first line of each says which parts its message must have, and ` | ` stands
between them. The command line runs the same folder.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.errors import InputError
from emulator.scenario import load_run

FOLDER = Path(__file__).parent / "bad_inputs"
CASES = sorted(FOLDER.glob("*.toml"))
MARK = "# expect: "
JUNK_BYTES = 10 * 2**20
VALID = 'rounds = 10\n{}\n[cluster]\nbrokers = 3\n[[topics]]\nname = "orders"\npartitions = 3\nreplication_factor = 3\n'


def message_of(path: Path) -> str:
    """The one line that loading the file gives."""
    with pytest.raises(InputError) as caught:
        load_run(str(path))
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(str(path.parent))
    assert message.count(": ") >= 2
    return message


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 230


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_bad_input(path: Path) -> None:
    message = message_of(path)
    first_line = path.read_text().splitlines()[0]
    assert first_line.startswith(MARK)
    assert "; allowed: " in message
    for part in first_line.removeprefix(MARK).split(" | "):
        assert part in message


def random_bytes(count: int) -> bytes:
    return random.Random(1).randbytes(count)


JUNK = {
    "empty": b"",
    "blank": b" \n\t\n",
    "binary": random_bytes(4096),
    "binary_10_mb": random_bytes(JUNK_BYTES),
    "zeros": bytes(4096),
    "utf_16": "rounds = 10".encode("utf-16"),
    "latin_1": 'name = "caf\xe9"'.encode("latin-1"),
    "letters_10_mb": b"a" * JUNK_BYTES,
    "lines_10_mb": b"more junk\n" * (JUNK_BYTES // 10),
    "brackets_10_mb": b"x = " + b"[" * JUNK_BYTES,
    "tables_in_tables": b"x = " + b"{a = " * 100_000,
    "dotted_key_10_mb": b"a." * (JUNK_BYTES // 2),
    "spaced_key_10_mb": b"a . " * (JUNK_BYTES // 4),
    "long_number": b"rounds = " + b"9" * 100_000,
    "long_hex_number": b"rounds = 0x" + b"f" * 100_000,
    "long_string": b'rounds = "' + b"z" * JUNK_BYTES + b'"',
    "sixty_five_mb": b"#" * (65 * 2**20),
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_is_refused_in_seconds(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(JUNK[name])
    started = time.monotonic()
    assert "; allowed: " in message_of(path)
    assert time.monotonic() - started < 10


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert message_of(tmp_path / "none.toml").endswith(": file: does not exist; allowed: a file that can be read")
    (tmp_path / "folder.toml").mkdir()
    assert "is a folder" in message_of(tmp_path / "folder.toml")


@pytest.mark.parametrize("uri", ["gopher://host/scenario.toml", "://", "a\0b"])
def test_paths_of_no_file_system(uri: str) -> None:
    with pytest.raises(InputError) as caught:
        load_run(uri)
    assert str(caught.value).isprintable()


TABLES = {
    "binary.csv": random_bytes(4096),
    "zeros.csv": bytes(4096),
    "junk_10_mb.csv": b"junk" * (JUNK_BYTES // 4),
    "not_utf_8.csv": b"topic,records_per_round\n\xff\xfe,1\n",
    "cut.csv": b"topic,from_round,records_per_round\n" + b"orders,0,1\n" * 100_000 + b"orders,0",
    "two_of_a_name.csv": b"topic,topic,records_per_round\norders,orders,1\n",
    "binary.parquet": random_bytes(4096),
    "empty.parquet": b"",
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_table_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(TABLES[name])
    path = tmp_path / "scenario.toml"
    path.write_text(VALID.format(f'workload_file = "{name}"'))
    message = message_of(path)
    assert message.startswith(str(tmp_path / name))
    assert "; allowed: " in message


def test_cut_csv_names_its_row(tmp_path: Path) -> None:
    (tmp_path / "cut.csv").write_bytes(TABLES["cut.csv"])
    (tmp_path / "scenario.toml").write_text(VALID.format('workload_file = "cut.csv"'))
    assert "cut.csv: row 100001: has 2 values where the header has 3" in message_of(tmp_path / "scenario.toml")


def test_cut_parquet(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"topic": ["orders"] * 1000, "records_per_round": [1] * 1000}), whole)
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-100])
    (tmp_path / "scenario.toml").write_text(VALID.format('workload_file = "cut.parquet"'))
    assert "cut.parquet: file: is not Parquet" in message_of(tmp_path / "scenario.toml")


WRONG_TYPES = {
    "text_for_number": (
        {"topic": ["orders"], "records_per_round": ["5"]},
        "column records_per_round: is of type string",
    ),
    "float_for_number": (
        {"topic": ["orders"], "records_per_round": [5.0]},
        "column records_per_round: is of type double",
    ),
    "boolean_for_number": (
        {"topic": ["orders"], "records_per_round": [True]},
        "column records_per_round: is of type bool",
    ),
    "list_for_text": ({"topic": [["orders"]], "records_per_round": [5]}, "column topic: is of type list"),
    "null_for_number": (
        {"topic": ["orders"], "records_per_round": [None]},
        "row 1, column records_per_round: no value",
    ),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_parquet_columns_of_another_type(tmp_path: Path, name: str) -> None:
    columns, expected = WRONG_TYPES[name]
    pq.write_table(pa.table(columns), tmp_path / "workload.parquet")
    (tmp_path / "scenario.toml").write_text(VALID.format('workload_file = "workload.parquet"'))
    assert expected in message_of(tmp_path / "scenario.toml")
