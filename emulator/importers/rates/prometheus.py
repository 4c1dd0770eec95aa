"""The JSON that Prometheus answers a range query with (GET /api/v1/query_range)."""

from __future__ import annotations

import json
from typing import Any

from emulator.errors import InputError, quoted
from emulator.importers.rates.series import BYTES, MESSAGES, RATE_ALLOWED, TIME_ALLOWED, Rates, parse_rate, parse_time
from emulator.importers.text_input import is_topic_name, read_text

PROMETHEUS_ALLOWED = 'the answer to a range query, {"status": "success", "data": {"resultType": "matrix", "result": [...]}}'
TOPIC_ALLOWED = "a query by topic, as in sum by (topic, instance) (rate(..._messagesin_total[5m]))"
_BROKER_LABELS = ("broker", "broker_id", "instance")
_COUNTERS = ("_total", "_count")
_OTHERS = ("replication", "reassignment")
"""ReplicationBytesInPerSec and ReassignmentBytesInPerSec are what followers fetch."""


def read_prometheus(path: str, rates: Rates, kind: str | None) -> None:
    """Adds the series of a range query's answer to `rates`.

    `kind`: BYTES or MESSAGES, that of all its series; None: by the name of each metric that has one, else MESSAGES. Brokers are
    told apart by the label broker, broker_id or instance. Raises InputError, with the place, for the first thing that is wrong.
    """
    answer = _parse(path, read_text(path, PROMETHEUS_ALLOWED))
    for index, series in enumerate(_list(path, _result_of(path, answer), "data.result")):
        here = f"data.result[{index}]"
        metric = _table(path, _table(path, series, here).get("metric"), f"{here}.metric")
        topic, broker = metric.get("topic"), _broker_of(path, metric, here)
        if not isinstance(topic, str) or not is_topic_name(topic):
            problem = "has no label topic" if topic in (None, "") else f"{quoted(topic)} is not a topic name"
            raise InputError.at(path, f"{here}.metric.topic", problem, TOPIC_ALLOWED)
        named = _kind_of(path, metric, here, kind)
        key = (named, topic, broker)
        values = _list(path, series.get("values"), f"{here}.values")
        for at, value in enumerate(values):
            place = f"{here}.values[{at}]"
            time_ms, rate = _pair(path, value, place)
            rates.add(path, place, key, time_ms, rate)


def _kind_of(path: str, metric: dict[str, Any], here: str, kind: str | None) -> str:
    """What a metric counts by its name, or by its label name; raises InputError if that is neither, or not `kind`, or no rate."""
    label = next((label for label in ("__name__", "name") if _of_name(metric.get(label)) is not None), "__name__")
    if label not in metric:
        return kind or MESSAGES
    place, name, found = f"{here}.metric.{label}", metric[label], _of_name(metric[label])
    if found is None or (kind is not None and found != kind):
        allowed = f"{kind} with --bytes" if kind else f"a metric of {MESSAGES} or {BYTES}"
        raise InputError.at(path, place, f"{quoted(name)} is another metric", allowed)
    if str(metric.get("__name__", "")).endswith(_COUNTERS):
        problem = f"{quoted(metric['__name__'])} counts and is no rate"
        raise InputError.at(path, f"{here}.metric.__name__", problem, f"rate({metric['__name__']}[5m]), or OneMinuteRate")
    return found


def _of_name(name: Any) -> str | None:
    letters = "".join(c for c in str(name).lower() if c.isalnum())
    if any(other in letters for other in _OTHERS):
        return None
    return BYTES if "bytesin" in letters else MESSAGES if "messagesin" in letters else None


def _parse(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError.at(path, place, f"is not JSON: {error.msg} (cut off?)", PROMETHEUS_ALLOWED) from None
    except (RecursionError, ValueError):
        raise InputError.at(path, "file", "is not JSON that can be read", PROMETHEUS_ALLOWED) from None


def _result_of(path: str, answer: Any) -> Any:
    status = _table(path, answer, "file").get("status")
    if status != "success":
        said = f" ({quoted(answer['error'])})" if isinstance(answer.get("error"), str) else ""
        raise InputError.at(path, "status", f"is {_shown(status)}{said}", '"success"')
    data = _table(path, answer.get("data"), "data")
    if data.get("resultType") != "matrix":
        problem = f"is {_shown(data.get('resultType'))}"
        raise InputError.at(path, "data.resultType", problem, '"matrix", of /api/v1/query_range with start, end and step')
    return data.get("result")


def _broker_of(path: str, metric: dict[str, Any], here: str) -> str:
    label = next((name for name in _BROKER_LABELS if name in metric), None)
    if label is None:
        return ""
    if not isinstance(metric[label], str):
        raise InputError.at(path, f"{here}.metric.{label}", f"is {_shown(metric[label])}", "a string")
    return str(metric[label])


def _pair(path: str, value: Any, place: str) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError.at(path, place, "is not a time and a value", '[seconds, "value"]')
    time, rate = value
    is_time = isinstance(time, (int, float)) and not isinstance(time, bool)
    time_ms = parse_time(repr(time)) if is_time else None
    if time_ms is None:
        raise InputError.at(path, f"{place}[0]", f"{_shown(time)} is not a time", TIME_ALLOWED)
    parsed = parse_rate(rate) if isinstance(rate, str) else None
    if parsed is None:
        raise InputError.at(path, f"{place}[1]", f"{_shown(rate)} is not a rate", f"as a string {RATE_ALLOWED}")
    return time_ms, parsed


def _table(path: str, value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError.at(path, place, f"is {_shown(value)}", PROMETHEUS_ALLOWED if place == "file" else "a JSON object")
    return value


def _list(path: str, value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError.at(path, place, f"is {_shown(value)}", "a JSON list")
    return value


def _shown(value: Any) -> str:
    """A value as the file has it, nearly; of lists and objects what they are."""
    if value is None:
        return "absent"
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else quoted(value)
