"""Random schedules with slow bookies: acks and reads come late, in any order, in the midst of other troubles; and slow disks."""

from __future__ import annotations

import random
from typing import Any

from .placed_schedules import placed_schedule
from .schedules import TROUBLE_ROUNDS, loss_schedule, lossy_schedule, repair_schedule, schedule, topic_schedule


def slow_schedule(seed: int) -> dict[str, Any]:
    """A schedule of one ledger; half of them are placed by BookKeeper's own policies."""
    rng = random.Random(f"bookkeeper/slow/{seed}")
    makers = (placed_schedule, placed_schedule, schedule, lambda one: lossy_schedule(one, integrity_check=True))
    case = with_slow_bookies(rng, rng.choice(makers)(seed))
    readers = [{"kind": "open_no_recovery", "round": rng.randint(0, TROUBLE_ROUNDS)} for _ in range(rng.randint(0, 2))]
    readers += [{"kind": "read_ledger", "round": rng.randint(0, TROUBLE_ROUNDS + 20)} for _ in range(rng.randint(0, 3))]
    return with_speculation(rng, {**case, "commands": [*case["commands"], *readers]})


def reading_schedule(seed: int) -> dict[str, Any]:
    """A schedule of one ledger that is read again and again, while bookies are slow, away, or lost what they had."""
    rng = random.Random(f"bookkeeper/reads/{seed}")
    case = rng.choice((slow_schedule, repair_schedule, loss_schedule, lambda one: with_slow_bookies(rng, loss_schedule(one))))(
        seed
    )
    readers = [{"kind": "read_ledger", "round": rng.randint(0, TROUBLE_ROUNDS + 30)} for _ in range(rng.randint(1, 5))]
    return with_speculation(rng, {**case, "commands": [*case["commands"], *readers]})


def reading_topic_schedule(seed: int) -> dict[str, Any]:
    """Likewise of a topic that is a list of ledgers."""
    rng = random.Random(f"bookkeeper/reading topics/{seed}")
    case = rng.choice((slow_topic_schedule, topic_schedule))(seed)
    readers = [{"kind": "read_topic", "round": rng.randint(0, TROUBLE_ROUNDS + 30)} for _ in range(rng.randint(1, 4))]
    return with_speculation(rng, {**case, "commands": [*case["commands"], *readers]})


def with_speculation(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """When readers ask further bookies."""
    own = {
        "firstSpeculativeReadTimeout": rng.choice((0, 500, 1000, 2000, 2000)),
        "maxSpeculativeReadTimeout": rng.choice((500, 1500, 5000)),
    }
    return {**case, "config": {**case["config"], **own}}


def slow_topic_schedule(seed: int) -> dict[str, Any]:
    """A schedule of a topic that is a list of ledgers."""
    return with_slow_bookies(random.Random(f"bookkeeper/slow topics/{seed}"), topic_schedule(seed))


def paced_topic_schedule(seed: int) -> dict[str, Any]:
    """A schedule for a topic whose bookies have slow disks, or slow links, of a fraction of a message a round or of some."""
    rng = random.Random(f"bookkeeper/paced topics/{seed}")
    case = topic_schedule(seed)
    size = case["workload"][0]["record_bytes"]
    readers = [{"kind": "read_topic", "round": rng.randint(0, TROUBLE_ROUNDS + 30)} for _ in range(rng.choice((0, 0, 1, 3)))]
    larger = (1,) if readers else (1, 1, 2)  # what is read is a sum of means
    workload = [{**row, "record_bytes": size * rng.choice(larger)} for row in case["workload"]]
    faults = list(case["faults"])
    for _ in range(rng.randint(1, 4)):
        begin = rng.randint(0, TROUBLE_ROUNDS)
        rate = max(1, int(size * rng.choice((0.3, 0.7, 1, 1.5, 2.5, 4)) * 1000 / case["round_ms"]))
        slow = {"kind": rng.choice(("slow_disk", "slow_link")), "broker": rng.choice(case["brokers"]), "bytes_per_second": rate}
        faults.append({**slow, "from_round": begin, "to_round": begin + rng.choice((3, 8, 20, 60))})
    config = {**case["config"], "journalSyncData": rng.random() < 0.9}
    commands = [*case["commands"], *readers]
    return {**case, "workload": workload, "faults": faults, "config": config, "commands": commands}


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
