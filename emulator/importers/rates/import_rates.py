"""`emulator import rates`: metrics of topics become a workload file."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.errors import InputError, listing
from emulator.importers.rates.jmx_csv import read_jmx_csv
from emulator.importers.rates.prometheus import read_prometheus
from emulator.importers.rates.series import BYTES, MESSAGES, Held, Rates, time_text
from emulator.importers.rates.whole_records import WholeRecords, Window, total, whole_records
from emulator.scenario.shapes import MAX_RECORD_BYTES, MAX_RECORDS_PER_ROUND, MAX_ROUND_MS, MAX_ROUNDS
from emulator.scenario.workload import DEFAULT_RECORD_BYTES

COLUMNS = ("topic", "partitions", "from_round", "to_round", "records_per_round", "record_bytes", "acks")
_OUT_ALLOWED = "a new file, or one of an earlier import of rates"


@dataclass
class RatesSummary:
    """What was written: counts, and in notes (one sentence each) what had to be assumed or was left out."""

    out: str
    window: Window
    topics: int = 0
    partitions: int = 0
    records: int = 0
    bytes: int = 0
    rows: int = 0
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The summary for people: what it is, how a scenario takes it, then a line a note."""
        window = self.window
        return [
            f"{self.topics} topics, {self.partitions} partitions, {window.rounds} rounds of {window.round_ms} ms from"
            f" {time_text(window.from_ms)} to {time_text(window.to_ms)}: {self.records} records, {self.bytes} bytes,"
            f" {self.rows} rows",
            f'in the scenario: rounds = {window.rounds}, round_ms = {window.round_ms}, workload_file = "{self.out}"',
            *(f"note: {note}" for note in self.notes),
        ]


@dataclass(frozen=True)
class _Traffic:
    """Of a topic the rates of all its brokers, of records and of bytes; None where no file has any."""

    records: list[Held] | None
    bytes: list[Held] | None


def import_rates(
    files: Sequence[str],
    bytes_files: Sequence[str],
    partitions: Mapping[str, int],
    out: str,
    *,
    round_ms: int = 500,
    record_bytes: int | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    acks: str = "all",
) -> RatesSummary:
    """Writes a workload file of what metrics say of topics' traffic.

    Args:
        files: Prometheus' answers to range queries (.json) and JMX beans by time (.csv). Series without a name are messages.
        bytes_files: the same, of nothing but bytes.
        partitions: how many partitions topics have; a topic's rate is spread over them evenly. Other topics are left out.
        out: the file to write (.csv), there complete or not at all; one of an earlier import is replaced.
        round_ms: milliseconds that a round stands for.
        record_bytes: size of records; None: a topic's bytes by its messages, over the whole time, or 1000 where one is not there.
        from_ms, to_ms: the time, since 1970; None: from the first value, and until the last one has held for a step.
        acks: of all rows.

    Raises:
        InputError: a file is wrong, or there is nothing to write; nothing is written.
    """
    _check_out(out, [*files, *bytes_files])
    if round_ms > MAX_ROUND_MS:
        raise InputError(f"--round-ms: {round_ms} is out of range; allowed: 1 to {MAX_ROUND_MS}")
    if record_bytes is not None and record_bytes > MAX_RECORD_BYTES:
        raise InputError(f"--record-bytes: {record_bytes} is out of range; allowed: 1 to {MAX_RECORD_BYTES}")
    rates = Rates()
    for path in files:
        _read(path, rates, None)
    for path in bytes_files:
        _read(path, rates, BYTES)
    step_ms = rates.step_ms()
    named = files[0] if files else bytes_files[0]
    if step_ms is None:
        allowed = "two times or more, so that it shows how long one holds"
        raise InputError.at(named, "file", "no series has values of two times", allowed)
    traffic = _traffic(rates, step_ms, partitions)
    if not traffic:
        found = listing(sorted({topic for _, topic, _ in rates.values}))
        raise InputError.at(named, "file", f"none of its topics is one of the cluster ({found})", listing(partitions))
    window = _window(traffic, from_ms, to_ms, round_ms)
    summary = RatesSummary(out, window, notes=_notes(rates, step_ms, traffic) + _size_notes(traffic, record_bytes))
    rows = list(_rows(traffic, window, partitions, record_bytes, acks, summary))
    if not rows:
        problem = f"no record is from {time_text(window.from_ms)} to {time_text(window.to_ms)}"
        raise InputError.at(named, "file", problem, "rates above 0 in the time of --from and --to")
    summary.rows = len(rows)
    _write(out, rows)
    return summary


def _read(path: str, rates: Rates, kind: str | None) -> None:
    lowered = path.lower()
    if lowered.endswith(".json"):
        read_prometheus(path, rates, kind)
    elif lowered.endswith(".csv"):
        read_jmx_csv(path, rates, kind)
    else:
        problem = "is neither Prometheus' JSON nor a CSV by its name"
        raise InputError.at(path, "file", problem, "a name in .json or .csv")


def _traffic(rates: Rates, step_ms: int, partitions: Mapping[str, int]) -> dict[str, _Traffic]:
    """By topic of the cluster, in order of name."""
    held: dict[tuple[str, str], list[Held]] = {}
    for kind, topic, broker in rates.values:
        held.setdefault((kind, topic), []).extend(rates.held((kind, topic, broker), step_ms))
    topics = sorted({topic for _, topic, _ in rates.values} & partitions.keys())
    return {topic: _Traffic(held.get((MESSAGES, topic)), held.get((BYTES, topic))) for topic in topics}


def _window(traffic: Mapping[str, _Traffic], from_ms: int | None, to_ms: int | None, round_ms: int) -> Window:
    of_all = [h for topic in traffic.values() for held in (topic.records, topic.bytes) for h in held or ()]
    first, last = min(h.from_ms for h in of_all), max(h.to_ms for h in of_all)
    window = Window(first if from_ms is None else from_ms, last if to_ms is None else to_ms, round_ms)
    there = f"the files have {time_text(first)} to {time_text(last)}"
    if window.from_ms >= window.to_ms:
        name = "--from" if to_ms is None else "--to"
        problem = f"the time from {time_text(window.from_ms)} to {time_text(window.to_ms)} is none"
        raise InputError(f"{name}: {problem}; allowed: --from before --to; {there}")
    if window.from_ms >= last or window.to_ms <= first:
        name = "--from" if window.from_ms >= last else "--to"
        raise InputError(f"{name}: no value is from {time_text(window.from_ms)} to {time_text(window.to_ms)}; allowed: {there}")
    if window.rounds > MAX_ROUNDS:
        raise InputError(f"--round-ms: makes {window.rounds} rounds; allowed: a number that makes {MAX_ROUNDS} at most")
    return window


def _rows(
    traffic: Mapping[str, _Traffic],
    window: Window,
    partitions: Mapping[str, int],
    record_bytes: int | None,
    acks: str,
    summary: RatesSummary,
) -> Iterator[tuple[str | int | None, ...]]:
    for topic, rates in traffic.items():
        size = record_bytes or _mean_bytes(rates, window)
        if size > MAX_RECORD_BYTES:
            problem = f"records of topic {topic} have {size} bytes"
            raise InputError(f"--record-bytes: {problem}; allowed: 1 to {MAX_RECORD_BYTES}, or --record-bytes itself")
        held = rates.records if rates.records is not None else _by_size(rates.bytes or [], size)
        rows = list(whole_records(held, window, partitions[topic]))
        largest = max((row.records for row in rows), default=0)
        if largest > MAX_RECORDS_PER_ROUND:
            problem = f"topic {topic} has {largest} records a round and partition"
            raise InputError(f"--round-ms: {problem}; allowed: up to {MAX_RECORDS_PER_ROUND}, with a smaller round_ms")
        records = total(held, window)
        summary.topics += 1
        summary.partitions += partitions[topic]
        summary.records += records
        summary.bytes += records * size
        yield from ((topic, *_cells(row), size, acks) for row in rows)


def _cells(row: WholeRecords) -> tuple[str | None, int, int, int]:
    return row.partitions, row.from_round, row.to_round, row.records


def _mean_bytes(rates: _Traffic, window: Window) -> int:
    if rates.records is None or rates.bytes is None:
        return DEFAULT_RECORD_BYTES
    records = total(rates.records, window)
    return max(1, (2 * total(rates.bytes, window) + records) // (2 * records)) if records else DEFAULT_RECORD_BYTES


def _by_size(rates: list[Held], size: int) -> list[Held]:
    """Rates of bytes as those of records of this size."""
    return [Held(h.from_ms, h.to_ms, (2 * h.nano_per_second + size) // (2 * size)) for h in rates]


def _notes(rates: Rates, step_ms: int, traffic: Mapping[str, _Traffic]) -> list[str]:
    notes = [
        "records are whole ones: whenever its rate changes, a topic has as many as its rates come to until then, to the nearest"
    ]
    gaps = rates.gaps(step_ms)
    if gaps:
        notes.append(
            f"{gaps} gaps between values of a series, more than one and a half of {step_ms / 1000:g} s: no traffic in them"
        )
    others = sorted({topic for _, topic, _ in rates.values} - traffic.keys())
    if others:
        notes.append(f"{len(others)} topics are not in the cluster, left out: {_few(others)}")
    return notes


def _size_notes(traffic: Mapping[str, _Traffic], record_bytes: int | None) -> list[str]:
    size = f"{record_bytes or DEFAULT_RECORD_BYTES} bytes"
    notes = []
    without_records = [topic for topic, rates in traffic.items() if rates.records is None]
    if without_records:
        notes.append(f"{len(without_records)} topics have bytes alone, taken as records of {size}: {_few(without_records)}")
    without_bytes = [topic for topic, rates in traffic.items() if rates.bytes is None]
    if without_bytes and record_bytes is None:
        notes.append(f"{len(without_bytes)} topics have no bytes: records of {size}: {_few(without_bytes)}")
    return notes


def _few(topics: Sequence[str]) -> str:
    """The first topics by name, for a note."""
    return ", ".join([*topics[:3], *(["..."] if len(topics) > 3 else [])])


def _check_out(out: str, files: Sequence[str]) -> None:
    """Raises InputError for a file that is not a CSV's, or that may not be replaced."""
    if not out.lower().endswith(".csv"):
        raise InputError.at(out, "--out", "is no name of a workload file", "a name in .csv")
    folder = os.path.dirname(out) or "."
    if not os.path.isdir(folder):
        raise InputError.at(out, "--out", f"{folder} is not a folder", "a file in a folder that exists")
    if os.path.isdir(out):
        raise InputError.at(out, "--out", "is a folder", _OUT_ALLOWED)
    if any(os.path.realpath(out) == os.path.realpath(path) for path in files):
        raise InputError.at(out, "--out", "is one of the files to read", _OUT_ALLOWED)
    if os.path.lexists(out):
        try:
            with open(out, "rb") as file:
                ours = file.readline(1000).rstrip() == ",".join(COLUMNS).encode()
        except OSError as error:
            raise InputError.at(out, "--out", f"cannot be read ({error.strerror})", _OUT_ALLOWED) from None
        if not ours:
            raise InputError.at(out, "--out", "holds something else", _OUT_ALLOWED)


def _write(out: str, rows: Sequence[tuple[str | int | None, ...]]) -> None:
    try:
        number, written = tempfile.mkstemp(prefix=f".{os.path.basename(out)}.", dir=os.path.dirname(out) or ".")
        try:
            with open(number, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(rows)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(written, 0o666 & ~mask)
            os.replace(written, out)
        except BaseException:
            os.unlink(written)
            raise
    except OSError as error:
        raise InputError.at(out, "--out", f"cannot be written ({error.strerror})", _OUT_ALLOWED) from None
