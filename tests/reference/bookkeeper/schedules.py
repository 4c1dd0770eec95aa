"""Small random schedules of one ledger: which invariants do the mutants break, and does BookKeeper break none?

python -m reference.bookkeeper.schedules [SCHEDULES [NAME ...]]     (from the tests folder; names as in SUBJECTS)

A schedule has a writer, one to three recoveries, up to six faults, and quiet rounds at the end in which recoveries get
done. No bookie loses what it stored (`lossy` ones are for limbo): that is no fault of the protocol. Schedules of repair have
spare bookies, longer outages, decommissioning and checks of the ledger on top; in some of them bookies lose what they stored.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from ..schedule_command import print_broken
from .rules import MUTANTS, REAL, Rules
from .simulate import simulate

SCHEDULES = 2000
TROUBLE_ROUNDS = 24
QUIET_ROUNDS = 60
SHAPES = ((3, 3, 2), (3, 2, 2), (2, 2, 2), (3, 3, 3), (3, 2, 1), (3, 3, 1), (4, 3, 2), (5, 3, 2), (4, 2, 2), (2, 2, 1))
FAULTS = (
    "broker_crash", "broker_crash", "broker_pause", "broker_pause", "isolation", "drop_adds", "drop_adds", "delay_adds",
    "delay_adds", "metadata_store_outage", "client_crash",
)  # fmt: skip

SUBJECTS: dict[str, Rules] = {"bookkeeper": REAL, **MUTANTS}


def schedule(seed: int) -> dict[str, Any]:
    """One schedule, as `simulate` takes it."""
    rng = random.Random(f"bookkeeper/{seed}")
    ensemble, write, ack = rng.choice(SHAPES)
    brokers = list(range(1, ensemble + rng.randint(0, 3) + 1))
    trouble = rng.randint(2, 8)
    replicas = rng.sample(brokers, ensemble)
    commands = _commands(rng, trouble)
    faults = [_fault(rng, brokers, trouble) for _ in range(rng.randint(0, 6))]
    special = rng.random()
    if special < 0.15:
        faults = faults[:2] + _late_add(rng, replicas, commands[0]["round"])
    elif special < 0.3:
        faults = faults[:2] + _empty_fragment(rng, brokers, replicas, commands[0]["round"])
    return {
        "rounds": TROUBLE_ROUNDS + QUIET_ROUNDS,
        "round_ms": 500,
        "session_timeout_rounds": rng.randint(2, 5),
        "brokers": brokers,
        "replicas": replicas,
        "config": {
            "addEntryTimeoutSec": rng.choice((1, 1, 2, 5)),
            "readEntryTimeoutSec": rng.choice((1, 2, 5)),
            "delayEnsembleChange": rng.random() < 0.2,
            "explicitLacInterval": rng.choice((0, 0, 500, 1500)),
            "autoRecoveryDaemonEnabled": rng.random() < 0.2,
            "openLedgerRereplicationGracePeriod": rng.choice((0, 1000, 5000)),
            "rereplicationEntryBatchSize": rng.randint(1, 3),
        },
        "topic_config": {"ensembleSize": ensemble, "writeQuorumSize": write, "ackQuorumSize": ack},
        "workload": _workload(rng, trouble),
        "faults": faults,
        "commands": commands,
    }


def paced_schedule(seed: int) -> dict[str, Any]:
    """A schedule in which bookies behind slow links, or with slow disks, take adds late, or too late."""
    rng = random.Random(f"bookkeeper/paced/{seed}")
    case = schedule(seed)
    workload = [{**row, "record_bytes": rng.choice((400, 1000, 3000))} for row in case["workload"]]
    faults = list(case["faults"][: rng.randint(0, 4)])
    for _ in range(rng.randint(1, 4)):
        from_round = rng.randint(0, TROUBLE_ROUNDS)
        own = {"broker": rng.choice(case["brokers"]), "bytes_per_second": rng.choice((1, 100, 150, 300, 500, 1100, 2500))}
        times = {"from_round": from_round, "to_round": from_round + rng.choice((3, 8, 20, 40))}
        kind = rng.choice(("slow_disk", "slow_link"))
        if kind == "slow_link" and rng.random() < 0.3:
            own["direction"] = rng.choice(("in", "out"))
        faults.append({"kind": kind, **own, **times})
    config = {**case["config"], "journalSyncData": rng.random() < 0.9}
    return {**case, "workload": workload, "faults": faults, "config": config}


def lossy_schedule(seed: int, integrity_check: bool) -> dict[str, Any]:
    """A schedule without journals in which one bookie, once, loses what it hasn't flushed; Qa is 2 or more."""
    rng = random.Random(f"bookkeeper/lossy/{seed}")
    case = schedule(seed)
    shape = case["topic_config"]
    faults = [fault for fault in case["faults"] if fault["kind"] != "broker_crash"]
    from_round = max(0, case["commands"][0]["round"] + rng.randint(-2, 3))
    lost = rng.choice(case["replicas"])
    faults.append({"kind": "broker_crash", "broker": lost, "from_round": from_round, "to_round": from_round + rng.randint(1, 4)})
    config = {**case["config"], "journalWriteData": False, "dataIntegrityCheckingEnabled": integrity_check}
    config["flushInterval"] = rng.choice((1500, 5000, 60_000))
    # nobody else copies entries: an entry on Qa bookies has to survive the loss of one of them
    shape = {**shape, "ackQuorumSize": max(2, shape["ackQuorumSize"])}
    return {**case, "faults": faults, "config": config, "topic_config": shape}


def repair_schedule(seed: int) -> dict[str, Any]:
    """A schedule in which bookies are away for longer, lose what they have, are decommissioned and filled again."""
    rng = random.Random(f"bookkeeper/repair/{seed}")
    case = schedule(seed)
    brokers = [*case["brokers"], *(len(case["brokers"]) + 1 + more for more in range(rng.randint(0, 2)))]
    config = {
        **case["config"],
        "autoRecoveryDaemonEnabled": rng.random() < 0.9,
        "lostBookieRecoveryDelay": rng.choice((0, 0, 1, 3)),
        "openLedgerRereplicationGracePeriod": rng.choice((0, 1000, 5000)),
        "rereplicationEntryBatchSize": rng.choice((1, 1, 2, 3, 5)),
        "flushInterval": rng.choice((1500, 5000, 60_000)),
    }
    outages = ["broker_crash", "broker_crash", "broker_pause", "isolation", "controlled_shutdown"]
    if rng.random() < 0.5:
        config["dataIntegrityCheckingEnabled"] = rng.random() < 0.7
        config["journalWriteData"] = rng.random() < 0.5
        config["journalSyncData"] = rng.random() < 0.5
        outages += ["disk_loss", "disk_loss", "power_loss", "broker_crash"]
    faults = list(case["faults"][:3])
    for _ in range(rng.randint(1, 4)):
        from_round = rng.randint(0, TROUBLE_ROUNDS + 10)
        to_round = from_round + rng.choice((1, 2, 4, 8, 20, 60))
        faults.append(
            {"kind": rng.choice(outages), "broker": rng.choice(brokers), "from_round": from_round, "to_round": to_round}
        )
    commands = [one for one in case["commands"] if rng.random() < 0.7]
    for _ in range(rng.randint(0, 2)):
        commands.append({"kind": "check_ledger", "round": rng.randint(4, TROUBLE_ROUNDS + 20)})
    for _ in range(rng.choice((0, 0, 1, 2))):
        round_ = rng.randint(2, TROUBLE_ROUNDS + 10)
        commands.append({"kind": "decommission_bookie", "round": round_, "broker": rng.choice(brokers)})
    return {**case, "brokers": brokers, "config": config, "faults": faults, "commands": commands}


def loss_schedule(seed: int) -> dict[str, Any]:
    """A schedule in which bookies of the first ensemble lose their disks, or what they haven't flushed, one after the other."""
    rng = random.Random(f"bookkeeper/losses/{seed}")
    case = repair_schedule(seed)
    config = {
        **case["config"],
        "journalWriteData": rng.random() < 0.3,
        "dataIntegrityCheckingEnabled": rng.random() < 0.3,
        "autoRecoveryDaemonEnabled": rng.random() < 0.3,
        "flushInterval": rng.choice((500, 1500, 60_000)),
    }
    faults = [one for one in case["faults"][:4] if one["kind"] not in ("client_crash", "metadata_store_outage")]
    begin = rng.randint(2, TROUBLE_ROUNDS)
    for broker in rng.sample(case["replicas"], rng.randint(1, len(case["replicas"]))):
        kind = rng.choice(("disk_loss", "disk_loss", "power_loss", "broker_crash"))
        from_round = max(0, begin + rng.randint(-2, 2))
        faults.append(
            {"kind": kind, "broker": broker, "from_round": from_round, "to_round": from_round + rng.choice((1, 2, 5, 70))}
        )
    return {**case, "config": config, "faults": faults}


def uneven(seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """A schedule in rounds that divide no period: of explicit LACs, flushes, checks of retention."""
    rng = random.Random(f"bookkeeper/uneven/{seed}")
    round_ms = case["round_ms"] * rng.choice((3, 7, 11)) // 5
    config = {"explicitLacInterval": rng.choice((0, 500, 1250, 3100)), "flushInterval": rng.choice((800, 2500, 10_000))}
    return {**case, "round_ms": round_ms, "config": {**case["config"], **config}}


def topic_schedule(seed: int) -> dict[str, Any]:
    """A schedule for a topic that is a list of ledgers (topics.py): small ledgers, takeovers, crashes, retention.

    Half of them have bookies that are away for longer, lose what they have and are filled again.
    """
    rng = random.Random(f"bookkeeper/topics/{seed}")
    case = repair_schedule(seed) if rng.random() < 0.5 else schedule(seed)
    round_ms = rng.choice((500, 500, 20_000, 30_000, 60_000))
    minutes = 0 if round_ms == 500 else rng.choice((0, 1, 1, 2))
    config = {
        **case["config"],
        "managedLedgerMaxEntriesPerLedger": rng.choice((1, 2, 3, 4, 6, 50)),
        "managedLedgerMaxSizePerLedgerMbytes": rng.choice((1, 1, 2, 2048)),
        "managedLedgerMinLedgerRolloverTimeMinutes": minutes,
        "managedLedgerMaxLedgerRolloverTimeMinutes": minutes + rng.choice((1, 3, 240)),
        "defaultRetentionTimeInMinutes": rng.choice((-1, -1, 0, 1, 3)),
        "defaultRetentionSizeInMB": rng.choice((-1, -1, 0, 1, 2)),
        "retentionCheckIntervalInSeconds": rng.choice((1, 2, 60)),
    }
    if rng.random() < 0.5:
        config |= {
            "managedLedgerOffloadAutoTriggerSizeThresholdBytes": rng.choice((-1, 0, 0, 1_000_000, 3_000_000)),
            "managedLedgerOffloadThresholdInSeconds": rng.choice((-1, -1, 5, 60)),
            "managedLedgerOffloadDeletionLagMs": rng.choice((0, 5_000, 60_000)),
        }
    record_bytes = rng.choice((1000, 200_000, 400_000))
    workload = [{**row, "record_bytes": record_bytes} for row in case["workload"]]
    workload.append({**workload[0], "from_round": rng.randint(0, 10), "to_round": TROUBLE_ROUNDS + rng.randint(0, 30)})
    commands = [one for one in case["commands"] if one["kind"] in ("check_ledger", "decommission_bookie")]
    rounds = [one["round"] for one in case["commands"] if one not in commands]
    rounds += [rng.randint(0, TROUBLE_ROUNDS + 20) for _ in range(rng.randint(0, 2))]
    commands += [{"kind": "take_over", "round": max(0, round_)} for round_ in rounds]
    faults = list(case["faults"])
    for kind in ("remote_storage_outage", "slow_remote_storage") if rng.random() < 0.5 else ():
        begin = rng.randint(0, TROUBLE_ROUNDS + 20)
        rate = {"bytes_per_second": rng.choice((0, 1000, 40_000))} if kind == "slow_remote_storage" else {}
        faults.append({"kind": kind, "from_round": begin, "to_round": begin + rng.randint(1, 12), **rate})
    rate = rng.choice((None, 20_000, 300_000))
    given = {key: value for key, value in case.items() if key != "replicas"} | {"faults": faults, "copy_bytes_per_second": rate}
    return {**given, "round_ms": round_ms, "config": config, "workload": workload, "commands": commands}


def may_lose(case: Mapping[str, Any]) -> bool:
    """Tell whether a bookie may lose something that it stored, which is no fault of the protocol."""
    config = case.get("config", {})
    journal = config.get("journalWriteData", True)
    kinds = {fault["kind"] for fault in case.get("faults", [])}
    synced = journal and config.get("journalSyncData", True)
    lossy = {"disk_loss", *(() if journal else ("broker_crash", "rack_loss")), *(() if synced else ("power_loss",))}
    return bool(kinds & lossy)


def _workload(rng: random.Random, trouble: int) -> list[dict[str, Any]]:
    rows = [(0, rng.choice((trouble, trouble + 1, trouble + 4, TROUBLE_ROUNDS)))]
    rows += [(start, start + rng.randint(1, 3)) for start in (trouble + rng.randint(0, 10) for _ in range(rng.randint(0, 2)))]
    window = rng.choice((1, 1, 2, 3, 5))
    return [
        {"from_round": start, "to_round": end, "records_per_round": rng.randint(1, window), "max_in_flight": window}
        for start, end in rows
    ]


def _fault(rng: random.Random, brokers: list[int], trouble: int) -> dict[str, Any]:
    kind = rng.choice(FAULTS)
    from_round = max(0, trouble + rng.randint(-4, 6))
    to_round = min(TROUBLE_ROUNDS, from_round + rng.choice((1, 1, 2, 3, 5, 9)))
    fault: dict[str, Any] = {"kind": kind, "from_round": from_round, "to_round": max(to_round, from_round + 1)}
    if kind not in ("metadata_store_outage", "client_crash"):
        fault["broker"] = rng.choice(brokers)
    if kind in ("drop_adds", "delay_adds") and rng.random() < 0.5:
        fault["from_offset"] = rng.randint(0, 8)
        fault["to_offset"] = fault["from_offset"] + rng.randint(1, 3)
    if kind == "isolation":
        fault["clients"] = rng.random() < 0.7
    return fault


def _late_add(rng: random.Random, replicas: list[int], recovery: int) -> list[dict[str, Any]]:
    """An add comes to a bookie that a recovery couldn't fence at first, after the recovery asked it for the entry."""
    late, lost = rng.sample(replicas, 2)
    begin = max(0, recovery - rng.randint(1, 3))
    return [
        {"kind": "delay_adds", "broker": late, "from_round": begin, "to_round": recovery + rng.randint(2, 6)},
        {"kind": "drop_adds", "broker": lost, "from_round": begin, "to_round": recovery + rng.randint(0, 4)},
        {"kind": "broker_pause", "broker": late, "from_round": recovery, "to_round": recovery + 1},
    ]


def _empty_fragment(rng: random.Random, brokers: list[int], replicas: list[int], recovery: int) -> list[dict[str, Any]]:
    """A new fragment gets no entry before the ledger is recovered, and a bookie of it fails then."""
    begin = max(0, recovery - rng.randint(2, 3))
    faults = [
        {"kind": "drop_adds", "broker": one, "from_round": begin, "to_round": recovery + rng.randint(0, 3)} for one in brokers
    ]
    spares = [one for one in brokers if one not in replicas]
    failing = rng.choice([*spares[:1], rng.choice(replicas)])
    faults.append({"kind": "broker_crash", "broker": rng.choice(replicas), "from_round": begin, "to_round": recovery + 8})
    faults.append({"kind": "broker_crash", "broker": failing, "from_round": recovery, "to_round": recovery + rng.randint(1, 8)})
    return faults


def _commands(rng: random.Random, trouble: int) -> list[dict[str, Any]]:
    rounds = [trouble + rng.randint(-1, 6) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    commands = [{"kind": "recover_ledger", "round": round_} for round_ in rounds]
    if rng.random() < 0.2:
        commands.append({"kind": "close_ledger", "round": trouble + rng.randint(0, 8)})
    return commands


def broken(rules: Rules, seeds: Iterable[int]) -> dict[str, list[int]]:
    """For each invariant that the rules break the seeds of the schedules in which they do.

    Rules that differ only where something is lost get schedules with losses.
    """
    found: dict[str, list[int]] = {}
    lossy = not (rules.limbo_is_unknown and rules.damaged_are_fenced)
    for seed in seeds:
        case = lossy_schedule(seed, integrity_check=True) if lossy else schedule(seed)
        result = simulate({**case, "rules": rules}, watch=True, trace=False)
        for name in sorted({violation.invariant for violation in result.violations}):
            found.setdefault(name, []).append(seed)
    return found


if __name__ == "__main__":
    print_broken(SUBJECTS, broken, SCHEDULES)
