"""Reads users' CSV and Parquet tables into Arrow tables of declared columns."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet as pq

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.scenario.list_texts import ListTextError, list_text_allowed, lists_of_texts

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
CSV_BOOLEANS = ("true", "false", "1", "0")
WHOLE_FILE = "file"
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Column:
    """A column that a table may have: its Arrow type, and whether every row must have a value in it."""

    type: pa.DataType
    required: bool = False


def resolve_path(path: str, folder: str) -> str:
    """Returns the path as seen from `folder`; absolute paths and URIs stay as they are."""
    return path if "://" in path or path.startswith("file:") else posixpath.join(folder, path)


def absolute_path(path: str) -> str:
    """Returns a path that means the same in another working folder; URIs stay as they are."""
    return path if "://" in path else os.path.abspath(path.removeprefix("file:"))


def open_filesystem(path: str) -> tuple[pa.fs.FileSystem, str]:
    """Returns the file system of a local path or Hadoop URI, and the path within it.

    Raises InputError when there is no access to a file system of that kind.
    """
    try:
        if "://" in path:
            return pa.fs.FileSystem.from_uri(path)
        return pa.fs.LocalFileSystem(), path.removeprefix("file:")
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable(path, error) from None


def read_bytes(path: str, max_bytes: int | None = None) -> bytes:
    """Reads a whole file, local or at a Hadoop URI.

    Raises InputError when it does not exist, cannot be read, or is larger than `max_bytes`.
    """
    system, inner = open_filesystem(path)
    try:
        info = system.get_file_info(inner)
        if info.type == pa.fs.FileType.NotFound:
            raise InputError.at(path, WHOLE_FILE, "does not exist", "a file that can be read")
        if info.type == pa.fs.FileType.Directory:
            raise InputError.at(path, WHOLE_FILE, "is a folder", "a file that can be read")
        with system.open_input_stream(inner) as stream:
            data: bytes = stream.read(None if max_bytes is None else max_bytes + 1)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable(path, error) from None
    if max_bytes is not None and len(data) > max_bytes:
        raise InputError.at(path, WHOLE_FILE, "is too large", f"up to {max_bytes} bytes")
    return data


def sha256_of(path: str) -> str:
    """The SHA-256 of a file's bytes, local or at a Hadoop URI; of a folder's: of names and digests of the files in it.

    Raises InputError when it does not exist or cannot be read.
    """
    system, inner = open_filesystem(path)
    digest = hashlib.sha256()
    try:
        kind = system.get_file_info(inner).type
        if kind == pa.fs.FileType.NotFound:
            raise InputError.at(path, WHOLE_FILE, "does not exist", "a file that can be read")
        if kind == pa.fs.FileType.Directory:
            found = system.get_file_info(pa.fs.FileSelector(inner, recursive=True))
            names = sorted(posixpath.relpath(info.path, inner) for info in found if info.type == pa.fs.FileType.File)
            for name in names:
                digest.update(f"{name} {sha256_of(posixpath.join(path, name))}\n".encode())
            return digest.hexdigest()
        with system.open_input_stream(inner) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable(path, error) from None
    return digest.hexdigest()


def unreadable(path: str, error: Exception) -> InputError:
    """The error for a file that the system does not let us read."""
    return InputError.at(path, WHOLE_FILE, f"cannot be read: {error}", "a file that can be read")


def read_table(path: str, columns: Mapping[str, Column], extra: bool = False) -> pa.Table:
    """Reads a CSV file with a header, or a Parquet file or folder, as exactly the declared columns.

    Absent optional columns are null, as are empty fields of a CSV; lists may be texts (list_texts.py). `extra`: other
    columns are left out, not refused.
    Raises InputError naming the file, the row (from 1, data rows only) and the column when the file is not readable,
    lacks a required column or value, has an unknown one, or has values of another type.
    """
    lowered = path.rstrip("/").lower()
    if lowered.endswith(".csv"):
        table = _read_csv(path, columns)
    elif lowered.endswith((".parquet", ".pq")):
        table = _read_parquet(path)
    else:
        raise InputError.at(path, WHOLE_FILE, "is neither CSV nor Parquet by its name", "a name in .csv, .parquet or .pq")
    _check_names(path, table.column_names, columns, extra)
    arrays = []
    for name, column in columns.items():
        if name not in table.column_names:
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, column.type)]))
            continue
        array = _conform(path, name, table.column(name), column.type)
        if column.required and array.null_count:
            row = pc.index(pc.is_null(array), True).as_py()
            raise InputError.at(path, row_place(row, name), "no value", f"a value of type {column.type} in every row")
        arrays.append(array)
    return pa.table(arrays, names=list(columns))


def row_place(row: int, column: str) -> str:
    """The place of a value in a table file, as messages name it; `row` counts from 0, users from 1."""
    return f"row {row + 1}, column {column}"


def _check_names(path: str, names: list[str], columns: Mapping[str, Column], extra: bool) -> None:
    allowed = listing(columns)
    for name in names:
        if names.count(name) > 1:
            raise InputError.at(path, "header", f"column {quoted(name)} stands there twice", allowed)
        if name not in columns and not extra:
            raise InputError.at(path, "header", f"unknown column {quoted(name)}{did_you_mean(name, columns)}", allowed)
    for name, column in columns.items():
        if column.required and name not in names:
            raise InputError.at(path, "header", f"no column {quoted(name)}", allowed)


def _read_parquet(path: str) -> pa.Table:
    system, inner = open_filesystem(path)
    try:
        return pq.read_table(inner, filesystem=system)
    except FileNotFoundError:
        raise InputError.at(path, WHOLE_FILE, "does not exist", "a Parquet file or folder") from None
    except (OSError, pa.ArrowException, ValueError) as error:
        raise InputError.at(path, WHOLE_FILE, f"is not Parquet: {error}", "a Parquet file or folder") from None


def _conform(path: str, name: str, array: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Casts to the wanted type where no value changes its meaning."""
    if array.type == wanted:
        return array
    found = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_list(wanted) and (pa.types.is_string(found) or pa.types.is_large_string(found)):
        try:
            return pa.chunked_array([lists_of_texts(array, wanted)])
        except ListTextError as error:
            problem = f"{quoted(array[error.row].as_py())} is no such list"
            raise InputError.at(path, row_place(error.row, name), problem, list_text_allowed(wanted)) from None
    if not _is_castable(found, wanted):
        raise InputError.at(path, f"column {name}", f"is of type {array.type}", str(wanted))
    try:
        return array.cast(wanted)
    except pa.ArrowException as error:
        raise InputError.at(path, f"column {name}", f"has a value out of range: {error}", str(wanted)) from None


def _is_castable(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_null(found):
        return True
    if pa.types.is_string(wanted):
        return pa.types.is_large_string(found) or pa.types.is_string(found) or pa.types.is_integer(found)
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(found))
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found))
    if pa.types.is_list(wanted):
        is_list = pa.types.is_list(found) or pa.types.is_large_list(found)
        return is_list and _is_castable(found.value_type, wanted.value_type)
    if pa.types.is_struct(wanted):
        return pa.types.is_struct(found) and _same_fields(found, wanted)
    return bool(found == wanted)


def _same_fields(found: pa.StructType, wanted: pa.StructType) -> bool:
    return [field.name for field in found] == [field.name for field in wanted] and all(
        _is_castable(found.field(i).type, wanted.field(i).type) for i in range(wanted.num_fields)
    )


def _read_csv(path: str, columns: Mapping[str, Column]) -> pa.Table:
    data = read_bytes(path)
    if not data.strip():
        raise InputError.at(path, WHOLE_FILE, "is empty", f"a header of the columns {listing(columns)}, then rows")
    options = pa.csv.ConvertOptions(
        column_types={name: _csv_type(column.type) for name, column in columns.items()},
        null_values=[""],
        strings_can_be_null=True,
    )
    try:
        table = pa.csv.read_csv(pa.BufferReader(data), convert_options=options)
    except (pa.ArrowException, ValueError) as error:
        raise _find_csv_fault(path, data, columns, str(error)) from None
    if data.count(b'"') % 2:  # read as if the quote ended with the file
        raise _find_csv_fault(path, data, columns, "a quoted value does not end")
    return table


def _csv_type(wanted: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_list(wanted) else wanted


def _find_csv_fault(path: str, data: bytes, columns: Mapping[str, Column], otherwise: str) -> InputError:
    """Goes through the lines of a CSV file that could not be read to say which is wrong, and why."""
    if b"\0" in data:
        return InputError.at(path, WHOLE_FILE, "is binary", "CSV as UTF-8 text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return InputError.at(path, f"line {line}", "is not UTF-8 text", "CSV as UTF-8 text")
    row_number = -1
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader)
        row_number = 0
        _check_names(path, header, columns, extra=False)
        for row in reader:
            if not row:
                continue
            row_number += 1
            if len(row) != len(header):
                problem = f"has {len(row)} values where the header has {len(header)} (cut off?)"
                return InputError.at(path, f"row {row_number}", problem, f"{len(header)} values: {listing(header)}")
            for name, value in zip(header, row, strict=True):
                if not _is_value_of(value, columns[name].type):
                    place = row_place(row_number - 1, name)
                    return InputError.at(path, place, f"{quoted(value)} is not of the type", _csv_values(columns[name].type))
    except InputError as error:
        return error
    except csv.Error as error:
        place = f"row {row_number + 1}" if row_number >= 0 else "header"
        return InputError.at(path, place, f"is not CSV: {error} (cut off?)", "CSV with a header")
    return InputError.at(path, WHOLE_FILE, f"is not CSV: {otherwise}", "CSV with a header")


def _is_value_of(value: str, wanted: pa.DataType) -> bool:
    if value == "" or pa.types.is_string(_csv_type(wanted)):
        return True
    if pa.types.is_boolean(wanted):
        return value.strip().lower() in CSV_BOOLEANS
    if pa.types.is_floating(wanted):
        return NUMBER.match(value.strip()) is not None
    digits = value.strip().removeprefix("-")
    bits = wanted.bit_width
    return digits.isascii() and digits.isdigit() and len(digits) < 20 and -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)


def _csv_values(wanted: pa.DataType) -> str:
    if pa.types.is_boolean(wanted):
        return "true or false"
    if pa.types.is_floating(wanted):
        return "a number"
    bits = wanted.bit_width
    return f"an integer from {-(2 ** (bits - 1))} to {2 ** (bits - 1) - 1}"
