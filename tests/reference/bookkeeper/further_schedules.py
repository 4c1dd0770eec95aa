"""What other schedules don't draw: racks that are lost, outages by Kafka's name, recoveries that try once, a given ledger."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from .metadata import CLOSED, IN_RECOVERY, OPEN
from .placed_schedules import placed_schedule
from .schedules import TROUBLE_ROUNDS, loss_schedule, repair_schedule, schedule

MAKERS = (schedule, repair_schedule, loss_schedule, placed_schedule)


def further_schedule(seed: int) -> dict[str, Any]:
    """A schedule of one ledger, of another kind in turn."""
    return further(seed, MAKERS[seed % len(MAKERS)](seed))


def further(seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule of one ledger with some of these; entries of a ledger that is given have the bytes of those to come."""
    rng = random.Random(f"bookkeeper/further/{seed}")
    commands = [{**one, "retry": rng.random() < 0.6} if one["kind"] == "recover_ledger" else one for one in case["commands"]]
    further_one = with_racks_lost(rng, {**case, "commands": commands})
    return with_given_ledger(rng, further_one) if rng.random() < 0.5 else further_one


def further_topic(seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule of a topic that is a list of ledgers, with some of these."""
    return with_racks_lost(random.Random(f"bookkeeper/further topics/{seed}"), case)


def with_racks_lost(rng: random.Random, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case in racks, if it isn't yet, of which one or two go down, with or without their power; and the store does."""
    racks = dict(case.get("racks", {}))
    own: dict[str, Any] = {"faults": list(case["faults"])}
    if not racks:
        count = rng.randint(1, 4)
        racks = {bookie: str((bookie - 1) % count) for bookie in case["brokers"]}
        own |= {"rack_count": count, "racks": racks}
    for _ in range(rng.choice((0, 1, 1, 2))):
        begin, rack = rng.randint(1, TROUBLE_ROUNDS), rng.choice(sorted(set(map(str, racks.values()))))
        times = {"from_round": begin, "to_round": begin + rng.choice((1, 2, 4, 9, 30))}
        loss = {"kind": "rack_loss", "rack": rack, **times, "power": rng.random() < 0.5}
        own["faults"].insert(rng.randint(0, len(own["faults"])), loss)
    for _ in range(rng.choice((0, 0, 1, 2))):
        begin = rng.randint(0, TROUBLE_ROUNDS)
        loss = {"kind": "controller_loss", "from_round": begin, "to_round": begin + rng.choice((1, 2, 5, 12))}
        own["faults"].insert(rng.randint(0, len(own["faults"])), loss)
    return {**case, **own}


def with_given_ledger(rng: random.Random, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case of a ledger with some entries before round 0, of one to three ensembles; open, being recovered or closed."""
    shape = case["topic_config"]
    size, write = shape["ensembleSize"], shape["writeQuorumSize"]
    end = rng.choice((0, 1, 2, 5, 9))
    later = {one["broker"] for one in case["commands"] if one["kind"] == "add_bookie"}
    there = [bookie for bookie in case["brokers"] if bookie not in later]
    if len(there) < size:
        return dict(case)
    starts = [0, *sorted(rng.sample(range(1, end), min(end - 1, rng.choice((0, 0, 1, 2)))) if end > 1 else [])]
    fragments = {first: rng.sample(there, size) for first in starts}
    entries: dict[int, dict[int, int]] = {}
    for entry in range(end):
        ensemble = fragments[max(first for first in starts if first <= entry)]
        for step in range(write):
            entries.setdefault(ensemble[(entry + step) % size], {})[entry] = entry - 1
    state = rng.choice((OPEN, OPEN, OPEN, IN_RECOVERY, CLOSED))
    record_bytes = max(row.get("record_bytes", 1000) for row in case["workload"])
    given = {"state": state, "fragments": fragments, "entries": entries, "lac": end - 1, "bytes": end * record_bytes}
    return {**case, "initial": given, "replicas": fragments[starts[-1]]}
