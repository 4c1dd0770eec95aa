"""What a partition starts with, from the rows of the initial tables, written down from docs/kafka_rounds.md, Start."""

from __future__ import annotations

from typing import Any

from emulator.rounds.kafka import constants as kc
from emulator.scenario import ELR_FEATURE
from emulator.scenario.protocols import KAFKA_PROTOCOLS
from tests.inputs.one_by_one import OneScenario

Entries = list[tuple[int, int]]


def start_by_rows(inputs: OneScenario, at: int) -> dict[str, Any]:
    """Fields of the partition and its replicas, and their lists."""
    scenario, one = inputs.scenario, inputs.partitions[at]
    key = (one.topic, one.partition)
    brokers = one.brokers
    replicas = brokers[: one.assigned.bit_length()]
    logs = {r["broker"]: r for r in scenario.initial_replicas.to_pylist() if (r["topic"], r["partition"]) == key}
    known = [r for r in scenario.initial_partitions.to_pylist() if (r["topic"], r["partition"]) == key]
    told = known[0] if known else dict.fromkeys(("leader", "leader_epoch", "isr", "elr"))
    leader = brokers[0] if told["leader"] is None else told["leader"]
    epoch = told["leader_epoch"]
    if epoch is None:
        epoch = max((e["epoch"] for log in logs.values() for e in log["epochs"] or ()), default=0)
    isr = replicas if told["isr"] is None else told["isr"]
    elr = (told["elr"] or ()) if scenario.features[ELR_FEATURE] > 0 else ()
    size = max((log["record_bytes"] for log in logs.values() if log["record_bytes"]), default=1000)
    rows = [_log(logs.get(broker)) for broker in brokers]
    caches = [_cache(*row, broker == leader, epoch) for row, broker in zip(rows, brokers, strict=True)]
    runs = [_runs(*row) for row in rows]
    slot = brokers.index(leader) if leader >= 0 else -1
    unconditional = one.first_acks != "all"
    partition = {
        "leader": slot,
        "epoch": epoch,
        "isr": sum(1 << brokers.index(b) for b in isr),
        "elr": sum(1 << brokers.index(b) for b in elr),
        "client_leader": slot,
        "client_epoch": epoch if slot >= 0 else kc.NO_EPOCH,
        "known_isr": sum(1 << brokers.index(b) for b in isr),
        "lead_round": -1,
        "lead_cause": -1,
        "epoch_start": 0,
        "leader_hw": 0,
        "lead_broker": leader,
        "first_leader": leader,
        "lead_epoch": epoch if slot >= 0 else kc.NO_EPOCH,
        **dict.fromkeys(("lead_unclean", "lead_runs", "lead_log_start", "lead_hw", "lead_acked_before"), 0),
        **dict.fromkeys(("owes_from", "owes_in_run"), 0),
        **dict.fromkeys(("next_change", "now", "target", "adding", "pending_joins", "last_known_elr", "committed_before"), 0),
        "refusing_slot": kc.NOBODY,
        "sent_pattern": kc.UNKNOWN,
    }
    lead_entries: list[tuple[int, int, int]] = []
    if slot >= 0:
        log_start, leo, hw, _, _ = rows[slot]
        partition |= {
            "epoch_start": caches[slot][-1][1],
            "lead_runs": 1,
            "owes_from": caches[slot][-1][1],
            "owes_in_run": max(caches[slot][-1][1], leo),
            "lead_log_start": log_start,
            "lead_hw": hw,
            "leader_hw": hw,
            "lead_acked_before": leo if unconditional else hw,
        }
        ends = [start for start, _ in runs[slot][1:]] + [leo]
        lead_entries = [(e, max(start, log_start), end) for (start, e), end in zip(runs[slot], ends, strict=False)]
    asks = "asks" in KAFKA_PROTOCOLS[scenario.protocol]
    return {
        "partition": partition,
        "replicas": [_replica(i, len(replicas), slot, epoch, asks, size, rows[i]) for i in range(len(brokers))],
        "epochs": caches,
        "runs": runs,
        "lead_entries": lead_entries,
        "sent": [(*entry, kc.UNKNOWN) for entry in lead_entries] if one.first_acks == "0" else [],
        "news": [(-1, slot, epoch)] if inputs.has_late_news else [],
        "record_bytes": size,
    }


def _log(given: dict[str, Any] | None) -> tuple[int, int, int, int, Entries]:
    """(log start, LEO, HW, flushed, epochs)."""
    if given is None:
        return 0, 0, 0, 0, []
    start, leo = given["log_start_offset"], given["leo"]
    flushed = leo if given["flushed_offset"] is None else given["flushed_offset"]
    epochs = [(e["epoch"], e["start_offset"]) for e in given["epochs"] or ()]
    return start, leo, given["hw"], flushed, epochs or ([(0, start)] if leo > start else [])


def _cache(log_start: int, leo: int, hw: int, flushed: int, epochs: Entries, leads: bool, epoch: int) -> Entries:
    below = [entry for entry in epochs if entry[1] <= log_start]
    cache = ([(below[-1][0], log_start)] if below else []) + epochs[len(below) :]
    if leads and (cache[-1][0] if cache else -1) < epoch:
        cache = [entry for entry in cache if entry[1] < leo] + [(epoch, leo)]
    return cache


def _runs(log_start: int, leo: int, hw: int, flushed: int, epochs: Entries) -> Entries:
    """(start, epoch) of those that have a record of the log."""
    ends = [start for _, start in epochs[1:]] + [leo]
    return [(start, epoch) for (epoch, start), end in zip(epochs, ends, strict=False) if start < leo and end > log_start]


def _replica(
    slot: int, replicas: int, leader: int, epoch: int, asks: bool, size: int, log: tuple[int, int, int, int, Entries]
) -> dict[str, int]:
    log_start, leo, hw, flushed, _ = log
    is_replica, leads = slot < replicas, slot == leader
    return {
        "believed_leader": leader if is_replica else kc.NOBODY,
        "believed_epoch": epoch if is_replica else kc.NO_EPOCH,
        "leading_epoch": epoch if leads else kc.NO_EPOCH,
        "truncating": int(is_replica and not leads and asks),
        "log_start": log_start,
        "leo": leo,
        "hw": hw,
        "log_bytes": leo * size,
        "checkpoint": hw,
        "flushed": flushed,
        "active_base": log_start,
        "active_bytes": (leo - log_start) * size,
        "remote_leo": 0 if is_replica and not leads and leo == 0 else kc.UNKNOWN,
        "caught_up": 0 if is_replica else kc.NEVER,
        "noted_round": -1 if is_replica else kc.NEVER,
        "noted_leader_leo": 0 if is_replica else kc.UNKNOWN,
        "recovery_leo": kc.UNKNOWN,
        "late_leader": kc.NOBODY,
        "unlike_from": kc.UNKNOWN,
        "alike_again": kc.UNKNOWN,
        "damaged_round": kc.FOREVER,
        "compares": 1,
        "in_line": 0,
    }
