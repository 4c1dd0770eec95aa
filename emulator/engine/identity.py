"""What a run must have in common with an earlier one to go on from what that one left, and how such notes are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FOLDER = "_checkpoint"
"""Under the output folder: all that is kept to go on from."""

PLAIN = frozenset({bool, int, float, str, type(None)})
"""Types whose `repr` says all of a value: commands and brokers, of which there may be many, hold little else."""

Identity = Callable[[], Mapping[str, str]]
"""Gives what must be the same to go on from what an earlier run kept, each as a fingerprint."""

ALLOWED = "allowed: the checkpoint that a run of the same scenario left there; without --resume the run starts anew"
"""Ends every refusal to go on."""


def fingerprint(*values: object) -> str:
    """A digest of values: of dataclasses, lists, dicts, arrays and Arrow tables by what they hold."""
    digest = hashlib.sha256()
    known: dict[int, bytes] = {}
    for value in values:
        _feed(digest.update, value, known)
    return digest.hexdigest()


@cache
def source_digest() -> str:
    """A digest of this package's own files: what another version of it began it would not go on with alike."""
    package = Path(__file__).parents[1]
    return fingerprint([(str(path.relative_to(package)), path.read_text()) for path in sorted(package.rglob("*.py"))])


def _feed(update: Callable[[bytes], None], value: object, known: dict[int, bytes]) -> None:
    """`known`: digests of tuples and tables by id: cases of a sweep share most of theirs."""
    if type(value) in PLAIN:
        update(f"{value!r};".encode())
    elif isinstance(value, (tuple, pa.Table)):
        if id(value) not in known:
            digest = hashlib.sha256()
            _feed_content(digest.update, value, known)
            known[id(value)] = digest.digest()
        update(known[id(value)])
    else:
        _feed_content(update, value, known)


def _feed_content(update: Callable[[bytes], None], value: object, known: dict[int, bytes]) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        _feed(update, {name: getattr(value, name) for name in _field_names(type(value))}, known)
    elif isinstance(value, dict) and PLAIN.issuperset(map(type, value.values())):
        update(repr(value).encode())
    elif isinstance(value, dict):
        for key, item in value.items():
            _feed(update, key, known)
            _feed(update, item, known)
    elif isinstance(value, list | tuple):
        update(f"[{len(value)}]".encode())
        for item in value:
            _feed(update, item, known)
    elif isinstance(value, np.ndarray):
        update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, pa.Table):
        _feed(update, [value.num_rows, value.schema.names], known)
        for column in value.columns if value.num_rows else ():
            _feed_column(update, column.combine_chunks())
    else:
        update(f"{type(value).__name__}:{value!r};".encode())


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _feed_column(update: Callable[[bytes], None], column: pa.Array) -> None:
    """What a column holds, wherever it begins in its buffers and whatever stands there for nulls."""
    update(f"{column.type}[{len(column)}], {column.null_count};".encode())
    if column.null_count == len(column):  # as most of a table of faults
        return
    valid = pc.is_valid(column)
    update(np.packbits(valid.to_numpy(zero_copy_only=False)).tobytes())
    present = column.filter(valid)
    if pa.types.is_struct(column.type):
        for inner in present.flatten():
            _feed_column(update, inner)
    elif pa.types.is_list(column.type):
        update(pc.list_value_length(present).to_numpy().tobytes())
        _feed_column(update, present.flatten())
    elif pa.types.is_string(column.type):
        update(pc.binary_length(present).to_numpy().tobytes())
        update("".join(present.to_pylist()).encode())
    else:
        update(present.to_numpy(zero_copy_only=False).tobytes())


def sealed(content: dict[str, Any]) -> str:
    """A text of the content that `unsealed` reads."""
    text = json.dumps(content)
    return json.dumps({"content": text, "sha256": fingerprint(text)})


def unsealed(text: str) -> dict[str, Any]:
    """What was sealed; raises ValueError, KeyError or TypeError for a text that is not as it was written."""
    outer = json.loads(text)
    if fingerprint(outer["content"]) != outer["sha256"]:
        raise ValueError
    content: dict[str, Any] = json.loads(outer["content"])
    return content


def differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """In what the identity of a run that left something differs from the one that wants to go on."""
    return [what for what, value in wanted.items() if found.get(what) != value]
