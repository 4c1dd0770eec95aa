"""Durable checkpoints: a run that was killed goes on from the last one to the same result.

Under the output folder, `_checkpoint/NUMBER/state/` holds the state as Parquet and `_checkpoint/NUMBER/CHECKPOINT.json`, written
last, what else the loop knew and what the state's files must be. The one before is removed afterwards. Traced rounds are written
as parts, `_checkpoint/trace/NUMBER/TABLE/`; a checkpoint says how many there were. A run that ends well removes it all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from emulator.errors import InputError
from emulator.files import files_of
from emulator.spark_errors import SPARK_ERRORS, SPARK_OR_FILE_ERRORS

FOLDER = "_checkpoint"
DEFAULT_EVERY = {"plain": 20, "leap": 4}
"""Jobs between two checkpoints; in leap mode a job goes through far more rounds."""

_CONTENT = "CHECKPOINT.json"
_FORMAT = 3


def fingerprint(*values: object) -> str:
    """A digest of values: of dataclasses, lists, dicts, arrays and Arrow tables by what they hold."""
    digest = hashlib.sha256()
    for value in values:
        _feed(digest.update, value)
    return digest.hexdigest()


def source_digest() -> str:
    """A digest of this package's own files: what another version of it began it would not go on with alike."""
    package = Path(__file__).parent
    return fingerprint([(str(path.relative_to(package)), path.read_text()) for path in sorted(package.rglob("*.py"))])


def _feed(update: Callable[[bytes], None], value: object) -> None:
    if is_dataclass(value) and not isinstance(value, type):
        _feed(update, {f.name: getattr(value, f.name) for f in fields(value)})
    elif isinstance(value, dict):
        for key, item in value.items():
            _feed(update, key)
            _feed(update, item)
    elif isinstance(value, list | tuple):
        update(f"[{len(value)}]".encode())
        for item in value:
            _feed(update, item)
    elif isinstance(value, np.ndarray):
        update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, pa.Table):
        _feed(update, value.schema.names)
        for column in value.columns:
            _feed_column(update, column.combine_chunks())
    else:
        update(f"{type(value).__name__}:{value!r};".encode())


def _feed_column(update: Callable[[bytes], None], column: pa.Array) -> None:
    """What a column holds, wherever it begins in its buffers and whatever stands there for nulls."""
    update(f"{column.type}[{len(column)}]".encode())
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


class Checkpoints:
    """The checkpoints of one run in its output folder.

    `identity`: what must be the same to go on (scenario, mode, trace, version), each as a fingerprint. `every`: jobs between two
    checkpoints, 0 for none. `folder`: where they are; the systems of a run that has two have one each.
    """

    def __init__(self, spark: SparkSession, uri: str, identity: Mapping[str, str], every: int, folder: str = FOLDER) -> None:
        self._folder = folder
        self._spark = spark
        self.uri = uri
        self._files = files_of(spark, uri)
        self._identity = dict(identity)
        self._every = every
        self._jobs = 0
        self._trace_parts = 0

    def is_there(self) -> bool:
        """Tells whether there is a checkpoint to go on from."""
        return bool(self._numbers())

    def save_if_due(self, state: Callable[[], DataFrame], known: dict[str, Any]) -> None:
        """Called after each job: every so many, writes the state and what else is `known` (JSON), then forgets older ones."""
        self._jobs += 1
        if self._every and self._jobs % self._every == 0:
            self.save(state(), known)

    def save(self, state: DataFrame, known: dict[str, Any]) -> None:
        """Write a checkpoint."""
        older = self._files.names(self._folder) if self._files.is_folder(self._folder) else []
        number = max((int(name) for name in older if name.isdigit()), default=0) + 1
        folder = f"{self._folder}/{number}"
        state.write.mode("overwrite").parquet(self._files.uri(f"{folder}/state"))
        content = {
            "format": _FORMAT,
            "identity": self._identity,
            "known": known,
            "trace_parts": [self._part_sizes(part) for part in range(self._trace_parts)],
            "schema": state.schema.json(),
            "files": self._files.sizes(f"{folder}/state"),
            "digest": _digest(state),
        }
        self._files.write_text(f"{folder}/{_CONTENT}", sealed(content))
        for name in older:
            if name.isdigit():
                self._files.delete(f"{self._folder}/{name}")

    def load(self) -> tuple[DataFrame, dict[str, Any]]:
        """The state and what else was known at the last checkpoint; trace parts written after it are removed.

        Raises InputError with the reason for a checkpoint that is of another run, or not as it was written.
        """
        folder = f"{self._folder}/{self._numbers()[-1]}"
        where = f"{self.uri}: {folder}"
        try:
            content = unsealed(self._files.read_text(f"{folder}/{_CONTENT}"))
            identity, known, files = content["identity"], content["known"], content["files"]
            schema, digest, parts = StructType.fromJson(json.loads(content["schema"])), content["digest"], content["trace_parts"]
            version = content["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{where}: {_CONTENT} is damaged; {ALLOWED}") from error
        if other := ["version"] if version != _FORMAT else differences(self._identity, identity):
            raise InputError(f"{where}: the checkpoint is of another {' and '.join(other)}; {ALLOWED}")
        if not self._files.is_folder(f"{folder}/state") or self._files.sizes(f"{folder}/state") != files:
            raise InputError(f"{where}: files of the state are missing or have another size; {ALLOWED}")
        try:
            state = self._spark.read.schema(schema).parquet(self._files.read_uri(f"{folder}/state"))
            intact = _digest(state) == digest
        except SPARK_ERRORS as error:
            raise InputError(f"{where}: the state cannot be read; {ALLOWED}") from error
        if not intact:
            raise InputError(f"{where}: the state is not as it was written; {ALLOWED}")
        if any(self._part_sizes(part) != sizes for part, sizes in enumerate(parts)):
            raise InputError(f"{where}: files of the trace are missing or have another size; {ALLOWED}")
        self._trace_parts = len(parts)
        for name in self._trace_names():
            if int(name) >= len(parts):
                self._files.delete(f"{self._folder}/trace/{name}")
        return state, known

    def check(self) -> None:
        """Raises InputError with the reason if this run cannot go on from the last checkpoint."""
        self.load()

    def start_anew(self) -> None:
        """Forget every checkpoint and every part of a trace."""
        self._trace_parts = 0
        self._files.delete(self._folder)

    def forget(self, note: Callable[[str], None]) -> None:
        """Remove everything after a run that has ended well; whatever keeps it from that is only noted."""
        try:
            self.start_anew()
        except SPARK_OR_FILE_ERRORS as error:
            note(f"{self.uri}: {self._folder} could not be removed: {error}")

    def forget_useless(self) -> None:
        """Remove the trace parts of a failed run that has no checkpoint to go on from, if that can be done."""
        with suppress(Exception):
            if not self.is_there():
                self.start_anew()

    def write_trace(self, tables: dict[str, DataFrame]) -> None:
        """Write the next part of the trace tables."""
        for name, frame in tables.items():
            frame.write.mode("overwrite").parquet(self._files.uri(f"{self._folder}/trace/{self._trace_parts}/{name}"))
        self._trace_parts += 1

    def collect_trace(self, folders: dict[str, str]) -> None:
        """Move the parts of each trace table to the address it is published from."""
        for table, uri in folders.items():
            parts = [f"trace/{part}/{table}" for part in self._trace_names()]
            moved = [
                (part, name)
                for part in parts
                for name in self._files.names(f"{self._folder}/{part}")
                if name.endswith(".parquet")
            ]
            if moved:
                self._files.make_folders(uri)
            for number, (part, name) in enumerate(moved):
                self._files.rename(f"{self._folder}/{part}/{name}", f"{uri}/traced-{number:05d}.parquet")

    def _part_sizes(self, part: int) -> dict[str, dict[str, int]]:
        """The sizes of a trace part's files, by table."""
        folder = f"{self._folder}/trace/{part}"
        if not self._files.is_folder(folder):
            return {}
        return {name: self._files.sizes(f"{folder}/{name}") for name in sorted(self._files.names(folder))}

    def _numbers(self) -> list[int]:
        if not self._files.is_folder(self._folder):
            return []
        numbered = [name for name in self._files.names(self._folder) if name.isdigit()]
        return sorted(int(name) for name in numbered if self._files.exists(f"{self._folder}/{name}/{_CONTENT}"))

    def _trace_names(self) -> list[str]:
        return self._files.names(f"{self._folder}/trace") if self._files.is_folder(f"{self._folder}/trace") else []


ALLOWED = "allowed: the checkpoint that a run of the same scenario left there; without --resume the run starts anew"
"""Ends every refusal to go on."""


def _digest(state: DataFrame) -> list[int]:
    """Rows, and a hash of all they hold that does not depend on their order."""
    row = state.agg(F.count(F.lit(1)), F.bit_xor(F.xxhash64(*state.columns)), F.sum(F.xxhash64(*state.columns) % 1_000_003))
    return [int(value or 0) for value in row.collect()[0]]
