"""The output of `kafka-log-dirs --describe`: size and lag of every replica's log.

Source: org.apache.kafka.tools.LogDirsCommand and KIP-113: two lines of text, then JSON on one line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from emulator.errors import InputError, quoted
from emulator.importers.text_input import (
    MAX_INT32,
    MAX_INT64,
    TopicPartition,
    read_text,
    split_topic_partition,
)

_ALLOWED_FILE = "the output of kafka-log-dirs --describe"
_TEXT_LINES = ("Querying brokers", "Received log directory information", "#")
_UNKNOWN_LAG = -1

_BrokerId = Annotated[int, Field(ge=0, le=MAX_INT32)]
_SizeBytes = Annotated[int, Field(ge=0, le=MAX_INT64)]
_OffsetLag = Annotated[int, Field(ge=_UNKNOWN_LAG, le=MAX_INT64)]


class _Replica(TypedDict):
    partition: str
    size: _SizeBytes
    offsetLag: _OffsetLag
    isFuture: bool


class _LogDir(TypedDict):
    logDir: str
    error: str | None
    partitions: list[_Replica]


class _Broker(TypedDict):
    broker: _BrokerId
    logDirs: list[_LogDir]


class _Report(TypedDict):
    brokers: list[_Broker]


_REPORT = TypeAdapter(_Report)


@dataclass
class LogDirs:
    """What brokers report of their current logs (future ones left out), by broker and (topic, partition)."""

    sizes_bytes: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    offset_lags: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    """Only lags above 0: records the log's end is behind the high watermark."""
    with_several: set[int] = field(default_factory=set)
    """Brokers with more than one log directory (JBOD), failed ones counted."""
    failed: list[str] = field(default_factory=list)
    """Log directories that report an error, for people."""


def read_log_dirs(path: str) -> LogDirs:
    """Reads the output of `kafka-log-dirs --describe`, or its JSON alone, or several of them one after another.

    Raises:
        InputError: unreadable, no JSON, another structure, an impossible number, a replica reported twice.
    """
    log_dirs = LogDirs()
    text = read_text(path, _ALLOWED_FILE)
    position, found = _next_json(path, text, 0), False
    while position < len(text):
        document, position = _decode(path, text, position)
        _add_report(path, _validate(path, document), log_dirs)
        position, found = _next_json(path, text, position), True
    if not found:
        raise InputError.at(path, "file", "has no JSON", _ALLOWED_FILE)
    return log_dirs


def _next_json(path: str, text: str, position: int) -> int:
    """Skips the tool's lines of text from a position on; the end of the text when no JSON follows."""
    while position < len(text):
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        line = text[position:line_end].lstrip()
        if line.startswith("{"):
            return line_end - len(line)
        if line and not line.startswith(_TEXT_LINES):
            line_number = text.count("\n", 0, position) + 1
            raise InputError.at(path, f"line {line_number}", f"{quoted(line)} is not of this tool", _ALLOWED_FILE)
        position = line_end + 1
    return len(text)


def _decode(path: str, text: str, position: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text, position)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError.at(path, place, f"is not JSON ({error.msg})", _ALLOWED_FILE) from None
    except (RecursionError, ValueError):
        line_number = text.count("\n", 0, position) + 1
        wrong = "is not JSON of this tool (nested too deep, or a number too long)"
        raise InputError.at(path, f"line {line_number}", wrong, _ALLOWED_FILE) from None


def _validate(path: str, document: Any) -> _Report:
    try:
        return _REPORT.validate_python(document, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]).lstrip(".")
        found = "" if first["type"] == "missing" else f" (it is {quoted(str(first['input']))})"
        raise InputError.at(path, place or "JSON", first["msg"] + found, _ALLOWED_FILE) from None


def _add_report(path: str, report: _Report, log_dirs: LogDirs) -> None:
    for broker_index, broker in enumerate(report["brokers"]):
        sizes = log_dirs.sizes_bytes.setdefault(broker["broker"], {})
        lags = log_dirs.offset_lags.setdefault(broker["broker"], {})
        if len({log_dir["logDir"] for log_dir in broker["logDirs"]}) > 1:
            log_dirs.with_several.add(broker["broker"])
        for dir_index, log_dir in enumerate(broker["logDirs"]):
            if log_dir["error"] is not None:
                log_dirs.failed.append(f"{log_dir['logDir']} of broker {broker['broker']} ({log_dir['error']})")
            for index, replica in enumerate(log_dir["partitions"]):
                if replica["isFuture"]:
                    continue
                key = split_topic_partition(replica["partition"])
                if key is None or key in sizes:
                    place = f"brokers[{broker_index}].logDirs[{dir_index}].partitions[{index}].partition"
                    raise _wrong_replica(path, place, replica["partition"], key is not None)
                sizes[key] = replica["size"]
                if replica["offsetLag"] > 0:
                    lags[key] = replica["offsetLag"]


def _wrong_replica(path: str, place: str, name: str, is_repeated: bool) -> InputError:
    if is_repeated:
        return InputError.at(path, place, f"{quoted(name)} is reported twice by this broker", "one current log each")
    return InputError.at(path, place, f"is {quoted(name)}", "TOPIC-PARTITION")
