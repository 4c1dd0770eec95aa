"""What is said before a run of what consumer groups read: across racks, and from remote storage (notes.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import did_you_mean, listing, quoted, some
from emulator.scenario.configs_in_run import values
from emulator.scenario.consumers import read_partitions, remote_fetches
from emulator.scenario.globs import matching_topics, parse_partitions
from emulator.scenario.model import ConsumerRow, Scenario
from emulator.scenario.rates import mean_records_a_round
from emulator.scenario.tiered import ENABLE

MOST_RACKS = 10
"""Of those there are, that a note names."""


def notes_of_readers(scenario: Scenario) -> Iterator[str]:
    """The notes on a scenario's consumers."""
    if scenario.consumers:
        yield from _racks(scenario)
        yield from _remote_reads_too_slow(scenario)


def _racks(scenario: Scenario) -> Iterator[str]:
    """A reader without a rack crosses none; one of a rack without brokers crosses racks with all it reads (take_records.py)."""
    racks = sorted({broker.rack for broker in scenario.brokers if broker.rack is not None})
    more = [f"{len(racks) - MOST_RACKS} more"] if len(racks) > MOST_RACKS else []
    there = f"brokers are in rack{'s' if len(racks) > 1 else ''} {listing([*racks[:MOST_RACKS], *more])}"
    nowhere = dict.fromkeys(row.group for row in scenario.consumers if row.rack is None)
    if nowhere and len(racks) > 1:
        yield (
            f"reads of {some('group', list(nowhere))}, whose consumers have no rack, count as within a rack: no bill has them"
            f" as cross-rack reads; {there}"
        )
    unknown: dict[str, dict[str, None]] = {}
    for row in scenario.consumers:
        if row.rack is not None and row.rack not in racks:
            unknown.setdefault(row.rack, {})[row.group] = None
    for rack, groups in unknown.items():
        told = f"no broker is in rack {quoted(rack)} of {some('group', list(groups))}{did_you_mean(rack, racks)}"
        yield f"{told}: all that is read there counts as cross-rack; {there if racks else 'no broker is in a rack'}"


def _remote_reads_too_slow(scenario: Scenario) -> Iterator[str]:
    """What the remote fetches of a round bring (docs/consumer_rounds.md, Remote reads) may be less than what is written.

    Of whole records, one at least; who takes less by its own row falls behind wherever it reads, and needs no note.
    """
    tiered = {topic.name: topic.partitions for topic in scenario.topics if True in values(scenario, topic, ENABLE)}
    told: set[str] = set()
    record_bytes = pc.max(scenario.workload.column("record_bytes")).as_py() or 1
    for row in scenario.consumers:
        fetch, fetches = max(1, row.fetch_bytes // record_bytes) * record_bytes, remote_fetches(scenario, row)
        end = min(row.to_round, scenario.rounds)
        if row.group in told or row.from_round >= end or not matching_topics(row.topic, tiered):
            continue
        most, place = _most_written(scenario, row, tiered, end)
        takes = [row.bytes_per_round, None if row.records_per_round is None else row.records_per_round * record_bytes]
        if any(one is not None and one < most for one in takes):
            continue  # wherever it reads, as its row says
        if fetches * fetch < most:
            told.add(row.group)
            brings, comes = (a_round * 1000 / scenario.round_ms / 1e6 for a_round in (fetches * fetch, most))
            is_given, read_ms = scenario.fetching.per_round is not None, scenario.remote_storage.read_ms
            cure = "more fetches_per_round" if is_given else "a lower read_ms" if read_ms else "a lower fetch_round_trip_ms"
            yield (
                f"where group {row.group} reads from remote storage, a round of {scenario.round_ms} ms brings"
                f" {fetches:,} fetch{'es' if fetches > 1 else ''} of {fetch:,} bytes, {brings:.3g} MB/s: {place} is written"
                f" {comes:.3g} MB/s, so there it never catches up; {cure}, or a larger max.partition.fetch.bytes (and"
                " fetch.max.bytes)"
            )


def _most_written(scenario: Scenario, row: ConsumerRow, tiered: Mapping[str, int], end: int) -> tuple[float, str]:
    """The most bytes a round, as a mean over the row's rounds, written to a partition that it reads, and which it is."""
    rows = scenario.workload
    first = pc.max_element_wise(rows.column("from_round"), row.from_round)
    shared = pc.subtract(pc.min_element_wise(rows.column("to_round"), end), first)
    records = mean_records_a_round(rows, scenario.round_ms)
    size_bytes = pa.array(records * rows.column("record_bytes").to_numpy() * shared.to_numpy())
    rows = rows.select(["topic", "partitions"]).append_column("bytes", size_bytes).filter(pc.greater(shared, 0))
    sums = rows.group_by(["topic", "partitions"]).aggregate([("bytes", "sum")]).to_pylist()
    written = {topic: np.zeros(partitions) for topic, partitions in tiered.items()}
    for one in sums:
        for topic in matching_topics(one["topic"], tiered):
            for low, high in _ranges(one["partitions"], tiered[topic]):
                written[topic][low : high + 1] += one["bytes_sum"]
    most, place = 0.0, ""
    for topic, ranges in read_partitions(row, tiered).items():
        for low, high in ranges:
            at = low + int(written[topic][low : high + 1].argmax())
            if written[topic][at] > most:
                most, place = float(written[topic][at]), f"{topic} {at}"
    return most / (end - row.from_round), place


def _ranges(partitions: str | None, count: int) -> Sequence[tuple[int, int]]:
    return [(0, count - 1)] if partitions is None else parse_partitions(partitions)
