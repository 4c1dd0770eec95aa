"""Small random schedules of a tiered partition: which invariants do the mutants break, and does the round break none?

python -m reference.tiered.schedules [SCHEDULES [NAME ...]]     (from the tests folder; names as in SUBJECTS)

SCHEDULES is how many, or FROM-TO (exclusive). Three brokers, short segments, all tasks every few rounds, some with delayed
upload (KIP-1241) or leaders by local log (KIP-1303) or a rack that is cut off, at most eleven faults. Clean schedules, the
even ones, have acks=all, no lost disks and no unclean elections. In the others what these excuse is left aside: committed
records that are gone. After two unclean elections a lineage that was given up may lead again; what its rival copied may then
hide its own, as in Kafka (NothingRemoteIsHidden). What else is excused is for invariants.py to tell.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..invariants import INVARIANTS as PLAIN_INVARIANTS
from .chosen_cases import CAUGHT_BY_CASES
from .invariants import ALWAYS
from .rules import MUTANTS, REAL, TierRules
from .simulate import simulate

SCHEDULES = 600
ROUNDS = 50
ROUND_MS = 500
RECORD_BYTES = 100
BROKERS = (1, 2, 3)
RACKS = 2
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


def schedule(seed: int, by_local_log: bool = True) -> dict[str, Any]:
    """One schedule, as `simulate` takes it; every other with a policy of later KIPs, those of KIP-1303 if `by_local_log`."""
    rng = random.Random(f"tiered/policies/{seed}")
    case = _with_delay(rng, _plain_schedule(seed))
    case = _with_leaders_by_local_log(rng, case) if rng.random() < 0.3 and by_local_log else case
    return _with_cut_rack(random.Random(f"tiered/racks/{seed}"), case)


def _with_cut_rack(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, one in five in two racks as a scenario file numbers them, of which one is cut off; 1 and 3 are in one."""
    if rng.random() < 0.8:
        return case
    racks = {broker: str((broker - 1) % RACKS) for broker in BROKERS}
    cut = {"kind": "rack_isolation", "rack": rng.choice("001"), "clients": rng.random() < 0.3, **_interval(rng)}
    return {**case, "racks": racks, "rack_count": RACKS, "faults": [*case["faults"], cut]}


def _with_delay(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, one in three with delayed upload (KIP-1241)."""
    topic_config, commands = dict(case["topic_config"]), list(case["commands"])
    if rng.random() < 0.35:
        topic_config["remote.copy.lag.ms"] = rng.choice((-1, -1, rng.randint(1, 12) * ROUND_MS))
        topic_config["remote.copy.lag.bytes"] = rng.choice((-1, -1, rng.randint(1, 12) * RECORD_BYTES))
        if rng.random() < 0.3:
            config = {"remote.copy.lag.ms": rng.choice((0, -1, 4 * ROUND_MS))}
            commands.append({"round": rng.randint(8, 36), "kind": "alter_config", "config": config})
    return {**case, "topic_config": topic_config, "commands": commands}


def uneven(seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case in rounds that divide no period."""
    return {**case, "round_ms": random.Random(f"uneven/{seed}").choice((170, 300, 400, 700, 1300))}


def _with_leaders_by_local_log(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case with KIP-1303; most often a new replica by KIP-1023 soon has a chance to lead."""
    segment_bytes = case["topic_config"]["segment.bytes"]
    keys = {
        "leader.election.eligible.local.log.ms": rng.choice((-1, rng.randint(2, 12) * ROUND_MS)),
        "leader.election.eligible.local.log.bytes": rng.choice((-1, rng.randint(1, 4) * segment_bytes)),
        "local.retention.bytes": rng.randint(2, 4) * segment_bytes,
    }
    config = {**case["config"], "follower.fetch.last.tiered.offset.enable": rng.random() < 0.8}
    faults, commands, leader = list(case["faults"]), list(case["commands"]), case["replicas"][0]
    if len(case["replicas"]) == 2:
        round_ = rng.randint(8, 20)
        added = [broker for broker in BROKERS if broker not in case["replicas"]]
        commands.append({"round": round_, "kind": "reassign", "replicas": [*added, *rng.sample(case["replicas"], 2)]})
        crash = round_ + rng.randint(3, 8)
        faults.append({"kind": "broker_crash", "broker": leader, "from_round": crash, "to_round": crash + rng.randint(4, 9)})
        commands.append({"round": crash + rng.randint(4, 12), "kind": "preferred_leader_election"})
    return {**case, "config": config, "topic_config": {**case["topic_config"], **keys}, "faults": faults, "commands": commands}


def _plain_schedule(seed: int) -> dict[str, Any]:
    """One schedule without policies of later KIPs."""
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
        result = simulate(case, watch=True, trace=False)
        names = {violation.invariant for violation in result.violations if violation.kind == "violation"}
        if is_unclean(seed):
            names -= EXCUSED_BY_UNCLEAN_ELECTIONS
        if result.outcomes["unclean_elections"] > 1:
            names.discard("NothingRemoteIsHidden")
        for name in names & {*PLAIN_INVARIANTS, *ALWAYS}:
            found[name].append(seed)
    return {name: of_one for name, of_one in found.items() if of_one}


def main() -> None:
    """Print for each subject how many schedules break anything, clean and unclean ones, and how many break which invariant.

    Of each invariant the first seeds are told, and what a mutant breaks in the case that was made for it.
    """
    first, _, end = (sys.argv[1] if len(sys.argv) > 1 else str(SCHEDULES)).rpartition("-")
    seeds = range(int(first or 0), int(end))
    print(f"schedules {seeds.start} to {seeds.stop - 1}; those that break something: all, clean ones, unclean ones")
    for name in sys.argv[2:] or SUBJECTS:
        found = broken(SUBJECTS[name], seeds)
        bad = {seed for of_one in found.values() for seed in of_one}
        told = [f"{invariant} {len(of_one)} ({', '.join(map(str, of_one[:3]))})" for invariant, of_one in found.items()]
        if name in CAUGHT_BY_CASES:
            told.append(f"its own case: {CAUGHT_BY_CASES[name][0]}" if _caught_in_its_case(name) else "not in its own case")
        unclean = sum(map(is_unclean, bad))
        print(f"{name:36}{len(bad):6}{len(bad) - unclean:6}{unclean:6}  {'; '.join(told)}", flush=True)


def _caught_in_its_case(mutant: str) -> bool:
    invariant, case = CAUGHT_BY_CASES[mutant]
    result = simulate({**case, "tier_rules": MUTANTS[mutant]}, watch=True, trace=False)
    return invariant in {violation.invariant for violation in result.violations}


if __name__ == "__main__":
    main()
