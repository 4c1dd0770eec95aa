"""A CSV of what brokers' JMX beans BytesInPerSec and MessagesInPerSec said: a row a time, topic and broker."""

from __future__ import annotations

import csv
import io

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.importers.rates.prometheus import TOPIC_ALLOWED
from emulator.importers.rates.series import BYTES, MESSAGES, RATE_ALLOWED, TIME_ALLOWED, Rates, parse_rate, parse_time
from emulator.importers.text_input import is_topic_name, read_text
from emulator.scenario.table_files import row_place

COLUMNS = ("timestamp", "topic", "broker", MESSAGES, BYTES)
CSV_ALLOWED = f"CSV with the columns timestamp, topic, {MESSAGES} or {BYTES} or both, and if there are several brokers broker"


def read_jmx_csv(path: str, rates: Rates, kind: str | None) -> None:
    """Adds the values of a CSV to `rates`; one that is empty was not measured.

    `kind`: BYTES if nothing but bytes may be there, else None. Raises InputError, with row and column, for what is wrong.
    """
    reader = csv.reader(io.StringIO(read_text(path, CSV_ALLOWED), newline=""), strict=True)
    row = -1
    try:
        header = next(reader)
        _check_header(path, header, kind)
        for values in reader:
            if values:
                row += 1
                _add_row(path, rates, header, values, row)
    except csv.Error as error:
        raise InputError.at(path, f"row {row + 2}", f"is not CSV: {error} (cut off?)", CSV_ALLOWED) from None


def _check_header(path: str, header: list[str], kind: str | None) -> None:
    for name in header:
        if name not in COLUMNS:
            raise InputError.at(path, "header", f"unknown column {quoted(name)}{did_you_mean(name, COLUMNS)}", listing(COLUMNS))
        if header.count(name) > 1:
            raise InputError.at(path, "header", f"column {quoted(name)} stands there twice", listing(COLUMNS))
    for name in ("timestamp", "topic"):
        if name not in header:
            raise InputError.at(path, "header", f"no column {quoted(name)}", listing(COLUMNS))
    if kind is not None and (kind not in header or MESSAGES in header):
        raise InputError.at(path, "header", f"is not of {kind} alone", f"only the column {kind} with --bytes; else as FILE")
    if BYTES not in header and MESSAGES not in header:
        raise InputError.at(path, "header", "no column with a rate", f"{MESSAGES}, {BYTES} or both")


def _add_row(path: str, rates: Rates, header: list[str], values: list[str], row: int) -> None:
    if len(values) != len(header):
        problem = f"has {len(values)} values where the header has {len(header)} (cut off?)"
        raise InputError.at(path, f"row {row + 1}", problem, f"{len(header)} values: {listing(header)}")
    cells = dict(zip(header, values, strict=True))
    time_ms = parse_time(cells["timestamp"])
    if time_ms is None:
        problem = f"{quoted(cells['timestamp'])} is not a time"
        raise InputError.at(path, row_place(row, "timestamp"), problem, TIME_ALLOWED)
    topic = cells["topic"]
    if not is_topic_name(topic):
        problem = f"{quoted(topic)} is not a topic name" if topic else "no value: all topics of a broker together"
        raise InputError.at(path, row_place(row, "topic"), problem, TOPIC_ALLOWED if not topic else "letters, digits and . _ -")
    for kind in (MESSAGES, BYTES):
        if cells.get(kind):
            rate = parse_rate(cells[kind])
            if rate is None:
                raise InputError.at(path, row_place(row, kind), f"{quoted(cells[kind])} is not a rate", RATE_ALLOWED)
            rates.add(path, row_place(row, kind), (kind, topic, cells.get("broker", "")), time_ms, rate)
