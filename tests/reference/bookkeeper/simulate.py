"""Simulates one BookKeeper ledger round by round, in the order of docs/bookkeeper_rounds.md.

    simulate(case) -> Result

A case is plain data, like those of Kafka (kafka.py):

    {"rounds", "round_ms", "brokers": [bookie ids], "replicas": the first ensemble (absent: the policy chooses), "workload":
     [rows with from_round, to_round, records_per_round, max_in_flight], "faults": [rows], "commands": [rows], "config" and
     "topic_config": {keys of settings.py}, and optional "session_timeout_rounds", "racks": {id: rack},
     "placement": "lowest_free_id" (default) or "rack_aware", "rules": Rules (rules.py), "initial": {"fragments":
     {first entry: ensemble}, "entries": {bookie: {entry: LAC in its header}}, "lac": of the writer}}

Commands: close_ledger, recover_ledger (`retry` = false: one attempt only), open_no_recovery, check_ledger, and
decommission_bookie with `broker`.

Each module says what it holds: quorums (arithmetic), status (faults), bookie, metadata, placement, window (adds in
flight), writer, recovery, repair, invariants, rules (mutants), ledger (all of them together).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import invariants
from .bookie import OK
from .ledger import Case, Ledger, Opening
from .metadata import CLOSED
from .quorums import FOUND, UNKNOWN
from .recovery import FENCE, READ, Recovery
from .repair import audit, commit_replacements, copy
from .status import add_is_dropped, add_is_held, covers, writer_is_gone
from .window import Message
from .writer import CRASHED


@dataclass
class Result:
    """What happened: `ledger` is the state at the end, rows are dicts with the columns of the contract's tables."""

    ledger: Ledger
    rounds: list[dict[str, Any]]
    violations: list[invariants.Violation]

    @property
    def adds(self) -> list[tuple[int, str]]:
        """The result of each add, in the order in which the application learned of them."""
        return self.ledger.writer.results


def simulate(case: Case, watch: bool = False, trace: bool = True) -> Result:
    """Simulate rounds 0 to `rounds` - 1 of one ledger; `watch` for violations, `trace` every round's end."""
    ledger = Ledger(case)
    observer = invariants.Watch(ledger)
    violations: list[invariants.Violation] = []
    rounds: list[dict[str, Any]] = []
    for now in range(case["rounds"]):
        ledger.now = now
        play_round(ledger)
        if watch:
            violations += observer.look()
        if trace:
            rounds.append(snapshot(ledger))
    return Result(ledger, rounds, violations)


def play_round(ledger: Ledger) -> None:
    """One round; the steps are those of docs/bookkeeper_rounds.md."""
    take_inputs(ledger)
    use_store(ledger)
    send(ledger)
    answers, lacs = handle(ledger)
    take_answers(ledger, answers, lacs)
    audit(ledger)
    copy(ledger)
    flush(ledger)


def take_inputs(ledger: Ledger) -> None:
    """Step 1: what bookies lost, who is back, what the application and administrators want, what there is to write."""
    settings, now = ledger.settings, ledger.now
    for bookie in ledger.bookies.values():
        status = ledger.status(bookie.broker)
        if status.clean_stop:
            bookie.flush()
        lost: list[int] = []
        was_fenced = bookie.fenced
        damaged = (status.crashed and not settings.journal) or (status.power_lost and not settings.journal_synced)
        if damaged:
            lost = bookie.lose_unflushed()
        if status.disk_lost:
            lost = sorted({*lost, *bookie.lose_everything()})
        if lost:
            ledger.event("entries_lost", bookie.broker, lost[0], lost[-1] + 1)
        if damaged or status.disk_lost:
            ledger.damaged.add(bookie.broker)
        if lost or (was_fenced and not bookie.fenced):
            ledger.lost_to_faults = True
    ledger.network = [message for message in ledger.network if not ledger.is_dead(message.bookie)]
    if writer_is_gone(ledger.faults, now) and ledger.writer.state != CRASHED:
        ledger.writer.crash()
    for command in ledger.case.get("commands", []):
        if command["round"] == now:
            _obey(ledger, command)
    if any(ledger.status(one).restarted for one in ledger.bookies) and settings.integrity_check:
        _check_returned(ledger)
    for row in ledger.case.get("workload", []):
        if covers(row, now):
            ledger.writer.queued += row["records_per_round"]
    in_force = [row.get("max_in_flight", 1) for row in ledger.case.get("workload", []) if covers(row, now)]
    ledger.writer.window_size = max(in_force, default=ledger.writer.window_size)


def _check_returned(ledger: Ledger) -> None:
    """BP-46: who may have lost entries or fences is fenced, and repairs what it lacks; if the ledger is open it is in limbo."""
    for broker, bookie in ledger.bookies.items():
        status = ledger.status(broker)
        if not status.restarted or broker not in ledger.damaged:
            continue
        ledger.damaged.discard(broker)
        if not any(broker in fragment.ensemble for fragment in ledger.metadata.fragments):
            continue
        ledger.repair.filling.add(broker)
        if ledger.rules.damaged_are_fenced and not bookie.fenced:
            ledger.event("fence", broker)
            bookie.fenced = True
        if ledger.metadata.state != CLOSED:
            if ledger.rules.limbo_is_unknown and not bookie.limbo:
                ledger.event("limbo_entered", broker)
                bookie.limbo = True
            ledger.start_recovery(f"bookie-{broker}")


def _obey(ledger: Ledger, command: Mapping[str, Any]) -> None:
    kind = command["kind"]
    if kind == "close_ledger":
        ledger.writer.ask_to_close()
    elif kind == "recover_ledger":
        ledger.start_recovery(f"recovery-{len(ledger.recoveries)}", command.get("retry", True))
    elif kind == "open_no_recovery":
        ledger.openings.append(Opening(ledger.now))
    elif kind == "check_ledger":
        ledger.repair.filling |= {one for fragment in ledger.metadata.fragments for one in fragment.ensemble}
    elif kind == "decommission_bookie":
        ledger.decommissioned.add(command["broker"])
    else:
        raise ValueError(f"unknown command {kind}")


def use_store(ledger: Ledger) -> None:
    """Step 2: what clients want of the metadata store, one after the other: writer, recoveries, replication workers."""
    if not ledger.store_up:
        return
    metadata = ledger.metadata
    state, ensembles = metadata.state, {one.first_entry: tuple(one.ensemble) for one in metadata.fragments}
    _put_on_the_way(ledger, ledger.writer.use_store(ledger.registered, ledger.now))
    for recovery in ledger.recoveries:
        recovery.use_store(ledger.now)
    for fragment in metadata.fragments:
        if ensembles.get(fragment.first_entry) != tuple(fragment.ensemble):
            ledger.event("ensemble_change", None, fragment.first_entry)
    if metadata.state != state:
        kind = "ledger_closed" if metadata.state == CLOSED else "recovery_started"
        ledger.event(kind, None, None, metadata.last_entry)
        if metadata.state == CLOSED and state == "OPEN" and metadata.closed_by != "writer":
            ledger.event("recovery_started")
    commit_replacements(ledger)


def send(ledger: Ledger) -> None:
    """Step 3: clients send; what the writer sends may be dropped on the way."""
    now, writer = ledger.now, ledger.writer
    _put_on_the_way(ledger, writer.send(now))
    for recovery in ledger.recoveries:
        _put_on_the_way(ledger, recovery.send(now, ledger.registered))
    period = ledger.settings.explicit_lac_rounds
    if period is not None and now % period == 0 and writer.writes and writer.lac > writer.lac_told:
        writer.lac_told = writer.lac
        for broker in writer.window.ensemble:
            if ledger.is_heard(broker):
                ledger.bookies[broker].explicit_lac = max(ledger.bookies[broker].explicit_lac, writer.lac)


def _put_on_the_way(ledger: Ledger, messages: list[Message]) -> None:
    for message in messages:
        dropped = not message.recovery and add_is_dropped(ledger.faults, message.bookie, message.entry, message.sent_round)
        if not dropped and not ledger.is_dead(message.bookie):
            ledger.network.append(message)


def handle(ledger: Ledger) -> tuple[dict[str, list[tuple[Message, str]]], dict[str, dict[int, tuple[str, int]]]]:
    """Step 4: bookies take adds, the writer's first, then are fenced by those who ask for the LAC.

    Returns the answers to adds by client, and those to fencing questions by recovery, as index -> (answer, LAC).
    """
    answers: dict[str, list[tuple[Message, str]]] = {}
    waiting = []
    for message in sorted(ledger.network, key=lambda one: (one.recovery, one.sent_round, one.entry, one.index)):
        held = not message.recovery and add_is_held(ledger.faults, message.bookie, message.entry, ledger.now)
        if held or message.sent_round > ledger.now or not ledger.is_heard(message.bookie):
            waiting.append(message)
            continue
        answer = ledger.bookies[message.bookie].add(message.entry, message.lac, message.recovery)
        if message.recovery:
            ledger.asked[message.bookie].append(f"radd {message.entry}")
        ledger.coverage["late_add"] += answer == OK and message.sent_round < ledger.now
        ledger.coverage["refused_by_fence"] += answer != OK
        answers.setdefault(message.client, []).append((message, answer))
    ledger.network = waiting
    lacs = {recovery.name: _ask_for_lac(ledger, recovery) for recovery in ledger.recoveries if recovery.phase == FENCE}
    return answers, lacs


def _ask_for_lac(ledger: Ledger, recovery: Recovery) -> dict[int, tuple[str, int]]:
    said = {}
    for index, broker in enumerate(recovery.fragments[-1].ensemble):
        if ledger.is_heard(broker) and index not in recovery.heard:
            bookie = ledger.bookies[broker]
            if not bookie.fenced:
                ledger.event("fence", broker)
            bookie.fenced = True
            ledger.asked[broker] += ["fence", "read -1 ok"]
            said[index] = (UNKNOWN if bookie.limbo else OK, bookie.lac)
    return said


def take_answers(
    ledger: Ledger, answers: Mapping[str, list[tuple[Message, str]]], lacs: Mapping[str, dict[int, tuple[str, int]]]
) -> None:
    """Step 6: clients take what the look brought them (step 5)."""
    now = ledger.now
    for entry in ledger.writer.take_answers(answers.get("writer", []), ledger.is_dead, now):
        ledger.acked_in_round[entry] = now
    for recovery in ledger.recoveries:
        phase = recovery.phase
        if recovery.window is not None:
            own = answers.get(recovery.window.client, [])
            _put_on_the_way(ledger, recovery.take_answers(own, ledger.is_dead, ledger.registered, now))
        if phase == FENCE:
            said = lacs[recovery.name]
            verdicts = {index: answer for index, (answer, _) in said.items()}
            recovery.take_lacs(verdicts, {index: lac for index, (_, lac) in said.items()}, ledger.is_dead, now)
        elif phase == READ:
            _read(ledger, recovery)
    for opening in ledger.openings:
        if opening.lac is None and opening.error is None and ledger.store_up:
            opening.lac = ledger.reader_lac()
            opening.error = "ReadException" if opening.lac is None else None


def _read(ledger: Ledger, recovery: Recovery) -> None:
    def say(broker: int) -> str | None:
        return ledger.bookies[broker].read(recovery.entry) if ledger.is_heard(broker) else None

    entry = recovery.entry
    for broker in recovery.take_reads(say):
        found = ledger.bookies[broker].read(entry) == FOUND
        ledger.asked[broker] += ["fence", f"read {entry} {'ok' if found else 'NoEntry'}"]
        if ledger.rules.recovery_reads_fence:
            if not ledger.bookies[broker].fenced:
                ledger.event("fence", broker)
                ledger.coverage["fenced_by_read"] += 1
            ledger.bookies[broker].fenced = True


def flush(ledger: Ledger) -> None:
    """Step 8: in rounds divisible by the period, running bookies flush."""
    if ledger.now % ledger.settings.flush_rounds == 0:
        for bookie in ledger.bookies.values():
            if ledger.status(bookie.broker).running:
                bookie.flush()


def snapshot(ledger: Ledger) -> dict[str, Any]:
    """The state at the end of a round, as the tables have it."""
    metadata, writer = ledger.metadata, ledger.writer
    entries = {entry for bookie in ledger.bookies.values() for entry in bookie.entries}
    return {
        "round": ledger.now,
        "state": metadata.state,
        "last_entry": metadata.last_entry,
        "writer_lac": writer.lac,
        "fragments": {fragment.first_entry: list(fragment.ensemble) for fragment in metadata.fragments},
        "entries": {
            entry: {one.broker: one.entries[entry] for one in ledger.bookies.values() if entry in one.entries}
            for entry in sorted(entries)
        },
        "bookies": {
            one.broker: {"last_entry": one.last_entry, "lac": one.lac, "fenced": one.fenced}
            for one in ledger.bookies.values()
            if one.knows_ledger
        },
        "reader_lac": ledger.reader_lac(),
        "adds": list(writer.results),
        "pending": [add.entry for add in writer.window.pending],
    }
