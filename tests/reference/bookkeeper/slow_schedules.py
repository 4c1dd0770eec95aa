"""Random schedules with slow bookies: acks and reads that come late, in any order, in the midst of other troubles."""

from __future__ import annotations

import random
from typing import Any

from .placed_schedules import placed_schedule
from .schedules import TROUBLE_ROUNDS, lossy_schedule, schedule, topic_schedule


def slow_schedule(seed: int) -> dict[str, Any]:
    """A schedule of one ledger; half of them are placed by BookKeeper's own policies."""
    rng = random.Random(f"bookkeeper/slow/{seed}")
    makers = (placed_schedule, placed_schedule, schedule, lambda one: lossy_schedule(one, integrity_check=True))
    case = with_slow_bookies(rng, rng.choice(makers)(seed))
    readers = [{"kind": "open_no_recovery", "round": rng.randint(0, TROUBLE_ROUNDS)} for _ in range(rng.randint(0, 2))]
    return {**case, "commands": [*case["commands"], *readers]}


def slow_topic_schedule(seed: int) -> dict[str, Any]:
    """A schedule of a topic that is a list of ledgers."""
    return with_slow_bookies(random.Random(f"bookkeeper/slow topics/{seed}"), topic_schedule(seed))


def with_slow_bookies(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """One to four of them, some for the whole run, more than one lag at a time in some."""
    faults = list(case["faults"])
    for _ in range(rng.randint(1, 4)):
        begin = rng.choice((0, rng.randint(0, TROUBLE_ROUNDS)))
        length = rng.choice((1, 2, 4, 8, 20, 100))
        lag = rng.choice((1, 1, 2, 2, 3, 4, 6, 12))
        slow = {"kind": "slow_bookie", "broker": rng.choice(case["brokers"]), "lag_rounds": lag}
        faults.insert(rng.randint(0, len(faults)), {**slow, "from_round": begin, "to_round": begin + length})
    return {**case, "faults": faults}
