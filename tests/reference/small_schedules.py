"""Small random schedules: which invariants do the variants and the mutants break, and does `kafka` break none?

python -m reference.small_schedules [SCHEDULES [NAME ...]]     (from the tests folder; names as in SUBJECTS)

A schedule has three brokers, at most three faults, in one of five also a rack that is cut off, and 30 rounds, starts empty,
and has nothing in it that excuses a loss: no lost disks or power, no unclean elections. acks=all in the even ones, acks=1 in
the odd ones.

Every third has eligible leader replicas, with min.insync.replicas 2 and further stops of brokers, of which one may lose
what it has. KIP-966 promises that nothing is lost with that as long as no other stop is unclean, however little is lost
by it. With two unclean stops the ISR and ELR may become empty; what is lost by the unclean election that then follows
is excused from its round on (`unexcused`): in WeakIsr, StrongIsr, LeaderCandidateCompleteness, LeaderCompleteness and
NoCommittedRecordLost, as NoAckedRecordLost does by itself, and nothing else. Strategy `balanced` needs no excuse.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any

from .elr import BALANCED
from .invariants import INVARIANTS
from .kafka import Result, simulate
from .rules import CHECKED_ONCE, MUTANTS, checked_once
from .truncation import VARIANTS

SCHEDULES = 3000
ROUNDS = 30
ROUND_MS = 500
RECORD_BYTES = 100
BROKERS = (1, 2, 3)
FAULTS = (
    "broker_crash", "controlled_shutdown", "broker_pause", "isolation", "link_cut", "link_cut", "link_cut", "slow_link",
    "stale_metadata", "stale_metadata",
)  # fmt: skip

SAVED_BY_SECOND_CHECK = ("fetch-without-epoch-check", "response-after-epoch-moved", "new-leader-keeps-old-remote-leo")

EXCUSED_BY_UNCLEAN_ELECTIONS = (
    "WeakIsr", "StrongIsr", "LeaderCandidateCompleteness", "LeaderCompleteness", "NoCommittedRecordLost",
)  # fmt: skip

Subject = dict[str, Any]

SUBJECTS: dict[str, Subject] = {
    "kafka": {},
    **{protocol: {"protocol": protocol} for protocol in VARIANTS},
    **{name: {"rules": rules} for name, rules in MUTANTS.items()},
    "divergence-checked-once": {"rules": CHECKED_ONCE},
    **{f"{name}, checked once": {"rules": checked_once(MUTANTS[name])} for name in SAVED_BY_SECOND_CHECK},
}
"""What a schedule is played with: a protocol, or the `kafka` protocol without one of its guards."""


def schedule(seed: int) -> dict[str, Any]:
    """One schedule as `simulate` takes it, of the `kafka` protocol; every third has eligible leader replicas."""
    case = _with_late_news(random.Random(f"small/late/{seed}"), _plain_schedule(seed))
    case = _with_cut_rack(random.Random(f"small/racks/{seed}"), case)
    return _with_elr(random.Random(f"small/elr/{seed}"), case) if has_elr(seed) else case


def has_elr(seed: int) -> bool:
    """Tell whether eligible leader replicas are on in the schedule."""
    return seed % 3 == 0


def _plain_schedule(seed: int) -> dict[str, Any]:
    """Faults, and elections that come soon after them."""
    rng = random.Random(f"small/{seed}")
    trouble = rng.randint(3, ROUNDS // 2 - 3)
    order = rng.sample(BROKERS, len(BROKERS))
    return {
        "rounds": ROUNDS,
        "round_ms": ROUND_MS,
        "session_timeout_rounds": rng.randint(2, 4),
        "brokers": list(BROKERS),
        "racks": {},
        "config": {
            "auto.leader.rebalance.enable": False,
            "replica.lag.time.max.ms": rng.choice((1, 2, 2, 3, 4, 6)) * ROUND_MS,
            "replica.high.watermark.checkpoint.interval.ms": rng.choice((1, 2, 5, 10)) * ROUND_MS,
            "replica.fetch.wait.max.ms": rng.choice((0, 500)),
        },
        "topic_config": {"min.insync.replicas": rng.choice((1, 1, 2))},
        "replicas": order,
        "initial": {
            "leader": rng.choice(order),
            "leader_epoch": 0,
            "isr": order,
            "replicas": {broker: {"leo": 0, "hw": 0, "epochs": []} for broker in order},
        },
        "workload": _workload(rng, trouble, "1" if seed % 2 else "all"),
        "faults": [_fault(rng, trouble) for _ in range(rng.randint(0, 3))],
        "commands": [*_slow_fetchers(rng), *_elections(rng, trouble)],
    }


def _with_late_news(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case with old news for some of those that stale_metadata covers, and with more of them when leaders change."""
    faults = [
        {**fault, "lag_rounds": rng.randint(1, 6)} if fault["kind"] == "stale_metadata" and rng.random() < 0.5 else fault
        for fault in case["faults"]
    ]
    elections = [command["round"] for command in case["commands"] if command["kind"] == "preferred_leader_election"]
    if elections and rng.random() < 0.4:
        for broker in rng.sample(BROKERS, rng.choice((1, 2))):
            from_round = max(1, rng.choice(elections) + rng.randint(-2, 1))
            interval = {"from_round": from_round, "to_round": from_round + rng.choice((4, 8, 12))}
            faults.append({"kind": "stale_metadata", "broker": broker, **interval, "lag_rounds": rng.randint(1, 6)})
    return {**case, "faults": faults}


def _with_cut_rack(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, one in five with two brokers in a rack that is cut off, or with the third cut off from them."""
    if rng.random() < 0.8:
        return case
    alone = rng.choice(BROKERS)
    racks = {broker: "b" if broker == alone else "a" for broker in BROKERS}
    from_round = rng.randint(3, ROUNDS // 2)
    interval = {"from_round": from_round, "to_round": from_round + rng.choice((2, 4, 8, 12))}
    cut = {"kind": "rack_isolation", "rack": rng.choice("aab"), **interval, "clients": rng.random() < 0.3}
    return {**case, "racks": racks, "faults": [*case["faults"], cut]}


def _with_elr(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case with ELR on: brokers stop one after the other, and one of them may lose what it has."""
    stops = []
    round_ = rng.randint(3, ROUNDS // 2 - 3)
    for broker in rng.sample(BROKERS, rng.randint(0, len(BROKERS))):
        kind = rng.choice(("broker_crash", "controlled_shutdown", "broker_pause", "isolation"))
        stops.append({"kind": kind, "broker": broker, "from_round": round_, "to_round": round_ + rng.choice((2, 4, 8))})
        round_ += rng.choice((0, 1, 2, 4))
    if rng.random() < 0.7:
        from_round = rng.randint(3, ROUNDS // 2 + 3)
        stops.append(
            {
                "kind": rng.choice(("power_loss", "disk_loss")),
                "broker": rng.choice(BROKERS),
                "from_round": from_round,
                "to_round": from_round + rng.choice((1, 2, 4, 6)),
            }
        )
    strategy = rng.choice(("none", "none", "balanced", "aggressive"))
    return {
        **case,
        "features": {"eligible.leader.replicas.version": 1},
        "topic_config": {"min.insync.replicas": 2, "unclean.recovery.strategy": strategy},
        "faults": case["faults"] + stops,
    }


def _workload(rng: random.Random, trouble: int, acks: str) -> list[dict[str, Any]]:
    """A steady flow, which may end when trouble comes, and bursts: after a pause an epoch may leave no record."""
    rows = [(0, rng.choice((ROUNDS, trouble, trouble + 1, trouble + 2)))]
    rows += [(start, start + 1) for start in (trouble + rng.randint(-2, 8) for _ in range(rng.randint(0, 3)))]
    return [
        {
            "from_round": from_round,
            "to_round": to_round,
            "records_per_round": rng.randint(1, 3),
            "record_bytes": RECORD_BYTES,
            "acks": acks,
        }
        for from_round, to_round in rows
    ]


def _fault(rng: random.Random, trouble: int) -> dict[str, Any]:
    from_round = max(1, trouble + rng.randint(-5, 3))
    interval = {"from_round": from_round, "to_round": from_round + rng.choice((2, 4, 8, 12))}
    if rng.random() < 0.05:
        return {"kind": "controller_loss", **interval}
    fault: dict[str, Any] = {"kind": rng.choice(FAULTS), "broker": rng.choice(BROKERS), **interval}
    if fault["kind"] in ("link_cut", "slow_link"):
        fault["peer"] = rng.choice([broker for broker in BROKERS if broker != fault["broker"]])
        fault["direction"] = rng.choice(("both", "in", "out"))
    if fault["kind"] == "slow_link":
        fault["bytes_per_second"] = RECORD_BYTES * 2 * rng.randint(0, 2)
    if fault["kind"] == "isolation":
        fault["clients"] = rng.random() < 0.3
    return fault


def _slow_fetchers(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "round": 0,
            "kind": "alter_config",
            "broker": broker,
            "config": {"replica.fetch.max.bytes": RECORD_BYTES * rng.randint(1, 2)},
        }
        for broker in BROKERS
        if rng.random() < 0.5
    ]


def _elections(rng: random.Random, trouble: int) -> list[dict[str, Any]]:
    """Elections while the leader lives, in every other schedule in fast succession, most after a new order of replicas."""
    commands: list[dict[str, Any]] = []
    fast = rng.random() < 0.5
    round_ = trouble - 1
    for _ in range(rng.choice((1, 2, 3, 4, 5, 6)) if fast else rng.choice((0, 1, 1, 2, 2, 3))):
        if rng.random() < (0.8 if fast else 0.5):
            commands.append({"round": round_, "kind": "reassign", "replicas": rng.sample(BROKERS, len(BROKERS))})
        commands.append({"round": round_ + 1, "kind": "preferred_leader_election"})
        round_ += rng.choice((1, 1, 2, 3) if fast else (1, 2, 3, 6))
    return commands


def broken(subject: Subject, seeds: Iterable[int]) -> dict[str, list[int]]:
    """For each invariant the seeds of the schedules in which the subject breaks it."""
    found: dict[str, list[int]] = {name: [] for name in INVARIANTS}
    for seed in seeds:
        case = {**schedule(seed), **subject}
        for name in unexcused(case, simulate(case, watch=True, trace=False)):
            found[name].append(seed)
    return found


def unexcused(case: dict[str, Any], result: Result) -> set[str]:
    """The invariants that a run breaks, without those that an unclean election excuses."""
    unclean = [event.round for event in result.events if event.kind == "unclean_election"]
    excused_from = min(unclean, default=ROUNDS)
    if case["topic_config"].get("unclean.recovery.strategy") == BALANCED:
        excused_from = ROUNDS
    return {
        violation.invariant
        for violation in result.violations
        if violation.round < excused_from or violation.invariant not in EXCUSED_BY_UNCLEAN_ELECTIONS
    }


def main() -> None:
    """Print for each subject how many schedules break anything, of which acks, and how many break which invariant."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else SCHEDULES)
    print(f"{len(seeds)} schedules; those that break something: all, with acks=all, with acks=1")
    for name in sys.argv[2:] or SUBJECTS:
        found = broken(SUBJECTS[name], seeds)
        bad = {seed for of_one in found.values() for seed in of_one}
        counts = ", ".join(f"{invariant} {len(of_one)}" for invariant, of_one in found.items() if of_one)
        for_all = sum(1 for seed in bad if seed % 2 == 0)
        print(f"{name:46}{len(bad):5}{for_all:5}{len(bad) - for_all:5}  {counts}", flush=True)


if __name__ == "__main__":
    main()
