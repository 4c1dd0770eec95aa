"""Small random schedules of a tiered partition: which invariants do the mutants break, and does the round break none?

python -m reference.tiered.schedules [SCHEDULES [NAME ...]]     (from the tests folder; names as in SUBJECTS)

Three brokers, short segments, all tasks every few rounds, at most six faults. Clean schedules have acks=all, no lost disks
and no unclean elections. In the others what these excuse is left aside: committed records that are gone. After two unclean
elections a lineage that was given up may lead again; a segment that its rival copied from the same offset on may then hide
one of its own, as in Kafka.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any

from ..invariants import INVARIANTS as PLAIN_INVARIANTS
from .invariants import ALWAYS
from .rules import MUTANTS, REAL, TierRules
from .simulate import simulate

SCHEDULES = 600
ROUNDS = 50
ROUND_MS = 500
RECORD_BYTES = 100
BROKERS = (1, 2, 3)
BROKER_FAULTS = (
    "broker_crash", "broker_crash", "controlled_shutdown", "broker_pause", "isolation", "link_cut", "link_cut",
    "stale_metadata",
)  # fmt: skip
TIER_FAULTS = (
    "remote_storage_outage", "remote_storage_outage", "slow_remote_storage", "remote_metadata_lag", "remote_metadata_lag",
    "open_transaction",
)  # fmt: skip
SUBJECTS: dict[str, TierRules] = {"tiered": REAL, **MUTANTS}
EXCUSED_BY_UNCLEAN_ELECTIONS = frozenset(
    {
        "WeakIsr", "StrongIsr", "LeaderCandidateCompleteness", "LeaderCompleteness", "NoCommittedRecordLost",
        "NoAckedRecordLost", "CommittedOnMinIsr",
    }
)  # fmt: skip


def is_unclean(seed: int) -> bool:
    """Tell whether the schedule has unclean elections and lost power."""
    return seed % 2 == 1


def schedule(seed: int) -> dict[str, Any]:
    """One schedule, as `simulate` takes it."""
    rng = random.Random(f"tiered/{seed}")
    unclean = is_unclean(seed)
    segment_records = rng.randint(2, 5)
    replicas = rng.sample(BROKERS, rng.choice((2, 3)))
    faults = [_broker_fault(rng, unclean) for _ in range(rng.randint(0, 4))]
    faults += [_tier_fault(rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    if unclean and rng.random() < 0.7:
        faults += _left_behind(rng, replicas)
    return {
        "rounds": ROUNDS,
        "round_ms": ROUND_MS,
        "session_timeout_rounds": rng.randint(2, 4),
        "brokers": list(BROKERS),
        "racks": {},
        "config": {
            "auto.leader.rebalance.enable": False,
            "replica.lag.time.max.ms": rng.choice((2, 4, 8)) * ROUND_MS,
            "replica.fetch.max.bytes": rng.choice((3, 8, 50)) * RECORD_BYTES,
            "replica.high.watermark.checkpoint.interval.ms": rng.choice((1, 4)) * ROUND_MS,
            "replica.fetch.backoff.ms": rng.choice((1, 2)) * ROUND_MS,
            "log.retention.check.interval.ms": rng.choice((1, 1, 3)) * ROUND_MS,
            "remote.log.manager.task.interval.ms": rng.choice((1, 1, 2, 4)) * ROUND_MS,
            "remote.log.manager.task.retry.backoff.max.ms": 8 * ROUND_MS,
            "remote.log.storage.system.enable": True,
            "follower.fetch.last.tiered.offset.enable": rng.random() < 0.2,
        },
        "topic_config": {
            "remote.storage.enable": True,
            "min.insync.replicas": rng.choice((1, 1, 2)),
            "unclean.leader.election.enable": unclean,
            "segment.bytes": segment_records * RECORD_BYTES,
            "local.retention.bytes": rng.randint(0, 3) * segment_records * RECORD_BYTES,
            "retention.ms": rng.choice((-1, -1, 15 * ROUND_MS)),
            "retention.bytes": rng.choice((-1, -1, rng.randint(3, 8) * segment_records * RECORD_BYTES)),
            "flush.messages": rng.choice((1, 3, 1000)),
        },
        "remote_storage": {
            "copy_bytes_per_second": rng.choice((None, None, RECORD_BYTES * 2, RECORD_BYTES * 6)),
            "metadata": rng.choice(("topic", "topic", "list")),
            "metadata_lag_rounds": rng.choice((0, 0, 1, 3)),
            "on_leadership_lost": rng.choice(("cancel", "finish")),
            "aux_state": rng.choice(("remote", "remote", "leader")),
        },
        "replicas": replicas,
        "workload": _workload(rng, unclean),
        "faults": faults,
        "commands": _commands(rng, replicas),
    }


def _workload(rng: random.Random, unclean: bool) -> list[dict[str, Any]]:
    acks = rng.choice(("1", "all")) if unclean else "all"
    rows = [(0, rng.randint(15, ROUNDS), rng.randint(1, 3))]
    rows += [(start, start + 1, rng.randint(1, 6)) for start in (rng.randint(5, 40) for _ in range(rng.randint(0, 2)))]
    return [
        {"from_round": start, "to_round": end, "records_per_round": count, "record_bytes": RECORD_BYTES, "acks": acks}
        for start, end, count in rows
    ]


def _interval(rng: random.Random) -> dict[str, int]:
    from_round = rng.randint(2, 32)
    return {"from_round": from_round, "to_round": from_round + rng.choice((1, 3, 6, 12))}


def _broker_fault(rng: random.Random, unclean: bool) -> dict[str, Any]:
    kinds = (*BROKER_FAULTS, "power_loss", "power_loss", "disk_loss") if unclean else BROKER_FAULTS
    fault: dict[str, Any] = {"kind": rng.choice(kinds), "broker": rng.choice(BROKERS), **_interval(rng)}
    if fault["kind"] == "link_cut":
        fault["peer"] = rng.choice([broker for broker in BROKERS if broker != fault["broker"]])
    return fault


def _left_behind(rng: random.Random, replicas: list[int]) -> list[dict[str, Any]]:
    """Followers are cut off from the first leader until they are out of the ISR; then it goes, and comes back later."""
    leader, from_round = replicas[0], rng.randint(3, 10)
    gone = from_round + rng.randint(6, 14)
    cuts = [
        {"kind": "link_cut", "broker": leader, "peer": broker, "from_round": from_round, "to_round": gone + 8}
        for broker in replicas[1:]
    ]
    kind = rng.choice(("broker_crash", "isolation", "isolation", "broker_pause"))
    return [*cuts, {"kind": kind, "broker": leader, "from_round": gone, "to_round": gone + rng.randint(6, 12)}]


def _tier_fault(rng: random.Random) -> dict[str, Any]:
    fault: dict[str, Any] = {"kind": rng.choice(TIER_FAULTS), **_interval(rng)}
    if fault["kind"] == "slow_remote_storage":
        fault["bytes_per_second"] = rng.choice((0, RECORD_BYTES))
    if fault["kind"] == "remote_metadata_lag":
        fault["lag_rounds"] = rng.choice((1, 4, None))
        fault["broker"] = rng.choice((None, *BROKERS))
    return fault


def _commands(rng: random.Random, replicas: list[int]) -> list[dict[str, Any]]:
    commands: list[dict[str, Any]] = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        round_, what = rng.randint(8, 36), rng.random()
        if what < 0.35:
            commands.append({"round": round_, "kind": "preferred_leader_election"})
        elif what < 0.7:
            target = rng.sample(BROKERS, rng.choice((2, 3)))
            commands.append({"round": round_, "kind": "reassign", "replicas": target})
        elif what < 0.85:
            commands.append({"round": round_, "kind": "delete_records", "offset": rng.choice((-1, 5, 12, 20))})
        elif what < 0.97:
            commands += _switch(rng, round_)
        else:
            commands.append({"round": round_, "kind": "delete_topic"})
    return commands


def _switch(rng: random.Random, round_: int) -> list[dict[str, Any]]:
    """Copying, or all of remote storage, is turned off, and perhaps on again."""
    off: dict[str, Any] = {"remote.log.copy.disable": True}
    on: dict[str, Any] = {"remote.log.copy.disable": False}
    if rng.random() < 0.4:
        off, on = {"remote.storage.enable": False, "remote.log.delete.on.disable": True}, {"remote.storage.enable": True}
    commands = [{"round": round_, "kind": "alter_config", "config": off}]
    if rng.random() < 0.5:
        commands.append({"round": round_ + rng.choice((1, 5)), "kind": "alter_config", "config": on})
    return commands


def broken(rules: TierRules, seeds: Iterable[int]) -> dict[str, list[int]]:
    """For each invariant the seeds of the schedules in which it is broken without an excuse."""
    found: dict[str, list[int]] = {name: [] for name in (*PLAIN_INVARIANTS, *ALWAYS)}
    for seed in seeds:
        case = {**schedule(seed), "tier_rules": rules}
        result = simulate(case, watch=True)
        names = {violation.invariant for violation in result.violations}
        if is_unclean(seed):
            names -= EXCUSED_BY_UNCLEAN_ELECTIONS
        if result.outcomes["unclean_elections"] > 1:
            names.discard("NoGapBetweenTiers")
        for name in names & {*PLAIN_INVARIANTS, *ALWAYS}:
            found[name].append(seed)
    return {name: of_one for name, of_one in found.items() if of_one}


def main() -> None:
    """Print for each subject how many schedules break which invariant."""
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else SCHEDULES)
    for name in sys.argv[2:] or SUBJECTS:
        found = broken(SUBJECTS[name], seeds)
        counts = ", ".join(f"{invariant} {len(of_one)} {of_one[:4]}" for invariant, of_one in found.items())
        print(f"{name:36}{counts}", flush=True)


if __name__ == "__main__":
    main()
