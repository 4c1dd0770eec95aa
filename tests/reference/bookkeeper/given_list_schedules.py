"""Random schedules of topics whose lists of ledgers are given: closed and offloaded ledgers, one that is written to."""

from __future__ import annotations

import random
from typing import Any

from .schedules import topic_schedule


def given_list_schedule(seed: int) -> dict[str, Any]:
    """A schedule of a topic that starts with one to five ledgers."""
    rng = random.Random(f"bookkeeper/given lists/{seed}")
    case = topic_schedule(seed)
    size = case["topic_config"]["ensembleSize"]
    given: list[dict[str, Any]] = []
    count = rng.randint(1, 5)
    for number in range(count):
        is_last = number == count - 1
        state = rng.choice(("OPEN", "OPEN", "OPEN", "CLOSED", "IN_RECOVERY")) if is_last else "CLOSED"
        last_entry = rng.randint(-1, 6)
        offloaded = state == "CLOSED" and last_entry >= 0 and rng.random() < 0.4
        fragments = {0: rng.sample(case["brokers"], size)}
        if last_entry > 1 and rng.random() < 0.4:
            fragments[rng.randint(1, last_entry)] = rng.sample(case["brokers"], size)
        if offloaded and rng.random() < 0.5:
            fragments = {}
        given.append({"state": state, "last_entry": last_entry, "fragments": fragments, "offloaded": offloaded, "bytes": 0})
    record_bytes = max(row["record_bytes"] for row in case["workload"])
    given = [{**one, "bytes": (one["last_entry"] + 1) * record_bytes} for one in given]
    readers = [{"kind": "read_topic", "round": rng.randint(0, 60)} for _ in range(rng.randint(0, 3))]
    return {**case, "given_list": given, "commands": [*case["commands"], *readers]}
