"""Writing the tables of an import into a folder that is there complete or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.errors import InputError

SUMMARY_FILE = "import_summary.json"
_TABLE_NAMES = ("brokers", "partitions", "replicas", "remote_segments", "topic_configs", "ledgers")
_ALL_FILES = frozenset({SUMMARY_FILE, *(f"{name}.parquet" for name in _TABLE_NAMES)})
_FILE_SCHEME = "file:"
_ALLOWED = "a new or empty folder, or one of an earlier import"


def check_out(out: str) -> str:
    """Resolves the output folder and checks that an import may take its place.

    Raises:
        InputError: not a local path, a file, or a folder that holds anything but an earlier import.
    """
    path = out
    if out.startswith(_FILE_SCHEME):
        path = "/" + out[len(_FILE_SCHEME) :].lstrip("/")
    elif "://" in out:
        raise InputError.at(out, "--out", "is not on this machine", "a local folder; copy it from there")
    path = os.path.realpath(path)
    if os.path.lexists(path):
        if not os.path.isdir(path):
            raise InputError.at(out, "--out", "is a file", _ALLOWED)
        names = set(os.listdir(path))
        if names and not (SUMMARY_FILE in names and names <= _ALL_FILES):
            foreign = sorted(names - _ALL_FILES) or sorted(names)
            raise InputError.at(out, "--out", f"holds other files ({foreign[0]})", _ALLOWED)
    return path


def write_import(out: str, tables: Mapping[str, pa.Table], summary: Mapping[str, Any]) -> None:
    """Writes the tables (by name, one Parquet file each) and the summary, then moves the whole folder into place.

    Raises:
        InputError: as `check_out`, or the folder cannot be written.
    """
    path = check_out(out)
    parent = os.path.dirname(path)
    try:
        os.makedirs(parent, exist_ok=True)
        temporary = tempfile.mkdtemp(prefix=f".{os.path.basename(path)}.", dir=parent)
    except OSError as error:
        raise _cannot_write(out, error) from None
    try:
        written = os.path.join(temporary, "new")
        os.mkdir(written)
        for name, table in tables.items():
            pq.write_table(table, os.path.join(written, f"{name}.parquet"))
        with open(os.path.join(written, SUMMARY_FILE), "w", encoding="utf-8") as file:
            json.dump(summary, file, indent=2)
            file.write("\n")
        _move_into_place(written, path, os.path.join(temporary, "old"))
    except OSError as error:
        raise _cannot_write(out, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move_into_place(written: str, path: str, old: str) -> None:
    had_earlier = os.path.isdir(path)
    if had_earlier:
        os.rename(path, old)
    try:
        os.rename(written, path)
    except OSError:
        if had_earlier:
            os.rename(old, path)
        raise


def _cannot_write(out: str, error: OSError) -> InputError:
    return InputError.at(out, "--out", f"cannot be written ({error.strerror or error})", _ALLOWED)
