"""What must hold between the output tables of a run of partitions, whatever happened in it (docs/tables.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tests.engine_helpers import Row

Tables = Mapping[str, list[Row]]
Found = tuple[Any, ...]
COUNTED = {
    "isr_shrinks": "isr_shrink",
    "isr_expands": "isr_expand",
    "unclean_elections": "unclean_election",
    "remote_copy_requests": "copy_started",
    "remote_copy_errors": "copy_failed",
}
"""Column of `outcomes`: the kind of event that it counts."""
SKIPS = {"skipped": "skip", "read_lost": "loss"}
"""Column of `consumer_groups`: the kind of row of `unread` whose offsets it counts."""


def violated(tables: Tables) -> list[Found]:
    """(what should be, where, on one side, on the other) of all that differs. Every kind of event has to be written."""
    checks = (_of_events, _of_partitions, _of_epochs, _of_remote_segments, _of_readers, _of_brokers)
    return [(name, where, one, other) for check in checks for name, where, one, other in check(tables) if one != other]


def _place(row: Row) -> tuple[Any, ...]:
    return row["scenario_id"], row["topic"], row["partition"]


def _by_place(rows: list[Row]) -> dict[tuple[Any, ...], list[Row]]:
    parted = defaultdict(list)
    for row in rows:
        parted[_place(row)].append(row)
    return parted


def _span(rows: list[Row], kind: str) -> int:
    """Offsets in all rows of a kind."""
    return sum(row["to_offset"] - row["from_offset"] for row in rows if row["kind"] == kind)


def _of_events(tables: Tables) -> Iterator[Found]:
    counts = Counter((row["scenario_id"], row["topic"], row["kind"]) for row in tables["events"])
    yield "event_counts", "", counts, {(r["scenario_id"], r["topic"], r["kind"]): r["events"] for r in tables["event_counts"]}
    yield "epochs of events", "", [row for row in tables["events"] if (row["leader_epoch"] or 0) < 0], []
    events = _by_place(tables["events"])
    for row in tables["outcomes"]:
        own = events[_place(row)]
        kinds = Counter(event["kind"] for event in own)
        yield "elections", _place(row), row["elections"], kinds["election"] + kinds["unclean_election"]
        yield "refused", _place(row), row["refused"], _span(own, "refused")
        for column, kind in COUNTED.items():
            yield column, _place(row), row[column], kinds[kind]


def _of_partitions(tables: Tables) -> Iterator[Found]:
    replicas, listed = _by_place(tables["replicas"]), {_place(row): row["replicas"] for row in tables["partitions"]}
    for row in tables["outcomes"]:
        where, own = _place(row), {replica["broker"]: replica for replica in replicas[_place(row)]}
        if own:  # a topic that was deleted has none
            yield "replicas", where, sorted(own), sorted(listed[where])
        yield "isr", where, row["isr"], sorted(broker for broker, replica in own.items() if replica["in_isr"])
        yield "isr and elr", where, set(row["isr"]) & set(row["elr"]), set()
        yield "acked", where, row["acked"] + row["sent_unacknowledged"] <= row["appended"], True
        if row["leader"] >= 0:
            leader = own[row["leader"]]
            yield "leader", where, (row["hw"], row["leo"], True), (leader["hw"], leader["leo"], leader["in_isr"])
        for replica in own.values():
            offsets = [replica[name] for name in ("log_start_offset", "local_log_start_offset", "leo")]
            yield "offsets", where, (offsets, replica["hw"] <= replica["leo"]), (sorted(offsets), True)


def _of_epochs(tables: Tables) -> Iterator[Found]:
    ends = {(*_place(row), row["broker"]): row["leo"] for row in tables["replicas"]}
    caches = defaultdict(list)
    for row in tables["leader_epochs"]:
        caches[(*_place(row), row["broker"])].append((row["epoch"], row["start_offset"], row["end_offset"]))
    for where, cache in caches.items():
        cache.sort()
        starts = [start for _, start, _ in cache]
        yield "ends of epochs", where, [end for *_, end in cache], [*starts[1:], None]
        yield "starts of epochs", where, (starts, starts[-1] <= ends[where]), (sorted(set(starts)), True)


def _of_remote_segments(tables: Tables) -> Iterator[Found]:
    segments = _by_place(tables["remote_segments"])
    for row in tables["outcomes"]:
        moved = [one for one in segments[_place(row)] if one["started_round"] is not None]
        yield "attempts", _place(row), row["remote_copy_requests"], len(moved)
        finished = sum(one["bytes"] for one in moved if one["copied_round"] is not None)
        between = finished <= row["remote_copy_bytes"] <= sum(one["bytes"] for one in moved)
        yield "remote_copy_bytes", _place(row), between, True
        for one in segments[_place(row)]:
            stored = (
                one["stored_bytes"] == one["bytes"] if one["state"] == "COPY_FINISHED" else one["stored_bytes"] <= one["bytes"]
            )
            is_deleted = (one["deleted_round"] is not None) == (one["state"] == "DELETE_FINISHED")
            yield "bytes of segments", (_place(row), one["segment"]), (stored, is_deleted), (True, True)


def _of_readers(tables: Tables) -> Iterator[Found]:
    unread, hws = _by_place(tables["unread"]), {_place(row): row["hw"] for row in tables["outcomes"]}
    for row in tables["consumer_groups"]:
        where = (*_place(row), row["group"])
        own = [one for one in unread[_place(row)] if one["group"] == row["group"]]
        waited = Counter[str]()
        for one in own:
            waited[one["cause"]] += one["to_round"] - one["from_round"] if one["kind"] == "stretch" else 0
        yield "waited_rounds", where, waited <= Counter(dict(row["waited_rounds"])), True
        for column, kind in SKIPS.items():
            yield column, where, row[column], _span(own, kind)
        yield "indexes", where, row["remote_requests"], row["index_hits"] + row["index_misses"]
        if row["position"] is not None:
            yield "lag", where, row["lag"], max(0, hws[_place(row)] - row["position"])


def _of_brokers(tables: Tables) -> Iterator[Found]:
    outcomes, readers, carried = (_sums(tables[name]) for name in ("outcomes", "consumer_groups", "broker_rounds"))
    led = Counter((row["scenario_id"], row["leader"]) for row in tables["outcomes"])
    held, sizes = Counter[Any](), Counter[Any]()
    for row in tables["replicas"]:
        held[row["scenario_id"], row["broker"]] += 1
        sizes[row["scenario_id"], row["broker"]] += row["local_bytes"]
    for scenario in tables["scenarios"]:
        at, rounds = scenario["scenario_id"], scenario["rounds"]
        own, read = carried[at], readers[at]
        yield "traffic", at, (own["bytes_in"], own["bytes_in"]), (own["bytes_out"], outcomes[at]["replicated_bytes"])
        yield "uploads", at, own["bytes_uploaded"] >= outcomes[at]["remote_copy_bytes"], True
        of_groups = sum(read[f"{source}_bytes"] for source in ("page_cache", "disk", "remote"))
        downloads = read["remote_bytes"] + read["index_bytes"]
        consumed = (own["bytes_consumed"], own["disk_bytes_read"], own["bytes_downloaded"])
        yield "reads", at, consumed, (of_groups, read["disk_bytes"], downloads)
        for row in tables["broker_rounds"]:
            if row["scenario_id"] == at and row["to_round"] == rounds:
                broker = at, row["broker"]
                yield "local_bytes", broker, row["local_bytes"], sizes[broker]
                # Who is paused is up, and leads and follows nothing.
                counts = (row["leader_count"], row["follower_count"])
                expected = (led[broker], held[broker] - led[broker])
                yield "leaders and followers", broker, counts in ((0, 0), expected) and (row["up"] or counts == (0, 0)), True


def _sums(rows: list[Row]) -> dict[int, Counter[str]]:
    """The sums of columns of numbers, by scenario."""
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        sums[row["scenario_id"]].update({name: number for name, number in row.items() if type(number) is int})
    return sums
