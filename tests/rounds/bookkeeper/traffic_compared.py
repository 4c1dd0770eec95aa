"""Traffic of bookies by time bucket (`broker_rounds`) against the reference's entries round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.reference.bookkeeper.simulate import Result
from tests.rounds.bookkeeper.compared import Played, list_of

BUCKET = 12
BYTES = 700
"""Of every entry, so that it doesn't matter which one is read."""

Rows = Mapping[tuple[int, int, int], Any]
"""Rows of traffic by (ledger, broker, bucket)."""


def in_one_size(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case with entries of BYTES each, those of a given ledger as well."""
    one_size = {**case, "workload": [{**row, "record_bytes": BYTES} for row in case["workload"]]}
    if "initial" in case:
        one_size["initial"] = {**case["initial"], "bytes": BYTES * (case["initial"]["lac"] + 1)}
    return one_size


def by_bucket(game: Played) -> Rows:
    """What was told of traffic."""
    brokers = {
        (ledger, int(bookie.place)): int(bookie.broker)
        for ledger in range(len(game.state.ledgers))
        for bookie in list_of(game, "bookies", ledger)
    }
    rows = game.told.traffic
    return {(int(row.ledger), brokers[int(row.ledger), int(row.place)], int(row.bucket)): row for row in rows}


def asked_for(result: Result) -> int:
    """How many entries recoveries asked for and got."""
    return sum(one.endswith("ok") and not one.startswith("read -1") for own in result.ledger.asked.values() for one in own)


def traffic_differences(rows: Rows, place: int, case: Mapping[str, Any], result: Result) -> dict[Any, Any]:
    """What differs: (what, broker, bucket) -> (of the reference, of the rounds). `place`: of the ledger among the rows'."""
    sizes, expected, seen = result.ledger.slowness.sizes, Counter[Any](), Counter[Any]()
    there = case.get("initial", {}).get("entries", {})
    before: dict[int, set[int]] = {broker: set(there.get(broker, ())) for broker in case["brokers"]}
    twice: set[int] = set()  # who got an entry of its share that lay beside it before: the rounds count both
    for now in result.rounds:
        has = {broker: {e for e, holders in now["entries"].items() if broker in holders} for broker in before}
        for broker, ids in now["beside"].items():
            twice |= {broker} if has[broker] & set(ids) else set()
            has[broker] |= set(ids)
        bucket = now["round"] // BUCKET
        for broker in before:
            expected["taken", broker, bucket] += sum(sizes[entry] for entry in has[broker] - before[broker])
            if (now["round"] + 1) % BUCKET == 0:
                expected["bytes", broker, bucket] = sum(sizes[entry] for entry in has[broker])
                expected["entries", broker, bucket] = len(has[broker])
        before = has
    copied = result.ledger.repair.copied_entries
    expected["out"] = BYTES * (asked_for(result) + copied) + sum(result.ledger.served.values())
    whole = case["rounds"] // BUCKET
    for (at, broker, bucket), row in rows.items():
        if at != place:
            continue
        seen["taken", broker, bucket] += int(row.bytes_produced + row.bytes_in)
        seen["out"] += int(row.bytes_out)
        seen["in"] += int(row.bytes_in)
        if bucket < whole:
            seen["bytes", broker, bucket], seen["entries", broker, bucket] = int(row.local_bytes), int(row.entries)
    too_many = {"in": (BYTES * copied, seen["in"])} if seen.pop("in", 0) > BYTES * copied else {}
    differing = {key: (expected[key], seen[key]) for key in expected | seen if expected[key] != seen[key]}
    return too_many | {key: value for key, value in differing.items() if key == "out" or key[1] not in twice}
