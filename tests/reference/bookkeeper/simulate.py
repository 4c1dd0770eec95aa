"""Simulates one BookKeeper ledger round by round, in the order of docs/bookkeeper_rounds.md.

    simulate(case) -> Result

A case is plain data, like those of Kafka (kafka.py):

    {"rounds", "round_ms", "brokers": [bookie ids], "replicas": the first ensemble (absent: the policy chooses), "workload":
     [rows with from_round, to_round, records_per_round, max_in_flight], "faults": [rows], "commands": [rows], "config" and
     "topic_config": {keys of settings.py}, and optional "session_timeout_rounds", "racks": {id: rack},
     "placement": "lowest_free_id" (default), "rack_aware" or one of BookKeeper's own with "seed" (drawn_placement.py),
     "rules": Rules (rules.py), "initial": {"fragments": {first entry: ensemble}, "entries": {bookie: {entry: LAC in its
     header}}, "lac": of the writer; of a
     scenario's ledger that is given also "state" and "bytes", of its entries together}}

Commands: close_ledger, recover_ledger (`retry` = false: one attempt only), open_no_recovery, read_ledger, check_ledger, and
decommission_bookie and add_bookie with `broker`.

Each module says what it holds: quorums (arithmetic), status (faults), inputs (step 1), bookie, metadata, placement, window (adds
in flight), writer, recovery, auditor, repair, invariants, rules (mutants), ledger (all of them together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import invariants
from .bookie import OK
from .causes import fault_on_the_way
from .inputs import keep_back, take_inputs
from .ledger import Case, Ledger, Opening
from .losses import tell_behind_end, tell_lost_when_acknowledged
from .metadata import CLOSED, IN_RECOVERY
from .operations import begin_operations, end_operations, note_operations, note_what_waits
from .questions import READ_EXCEPTION, TIMEOUT, ask_ensemble, reach, take_lacs, tell_lac
from .readers import serve_readers
from .recovery import FENCE, READ
from .recovery_reads import ask_for_lac, read
from .repair import audit, commit_replacements, copy
from .round_state import state_of_round
from .slow import LateAdd
from .slow_rates import limit_of
from .window import Message


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
    """Simulate rounds 0 to `rounds` - 1 of one ledger; `watch` for violations, `trace`: every round's end, else the last."""
    ledger = Ledger(case)
    observer = invariants.Watch(ledger)
    violations: list[invariants.Violation] = []
    rounds: list[dict[str, Any]] = []
    for now in range(case["rounds"]):
        ledger.now = now
        play_round(ledger)
        if watch:
            violations += observer.look()
        if trace or now == case["rounds"] - 1:
            rounds.append(snapshot(ledger))
    return Result(ledger, rounds, violations)


def play_round(ledger: Ledger) -> None:
    """One round; the steps are those of docs/bookkeeper_rounds.md."""
    begin_round(ledger)
    end_round(ledger)


def begin_round(ledger: Ledger) -> None:
    """Steps 1 to 3."""
    begin_operations(ledger)
    take_inputs(ledger)
    note_operations(ledger)
    use_store(ledger)
    note_what_waits(ledger)
    send(ledger)


def end_round(ledger: Ledger, shares: Mapping[int, int] | None = None) -> None:
    """Steps 4 to 8. `shares`: by bookie what it may take of this ledger's adds, where all share its budget."""
    take_answers(ledger, handle(ledger, shares or {}))
    serve_readers(ledger)
    audit(ledger)
    copy(ledger)
    flush(ledger)
    end_operations(ledger)


def use_store(ledger: Ledger) -> None:
    """Step 2: what clients want of the metadata store, one after the other: writer, recoveries, replication workers."""
    if not ledger.store_up:
        ledger.writer.miss_store(ledger.registered)
        note_operations(ledger)
        return
    metadata = ledger.metadata
    state, ensembles = metadata.state, {one.first_entry: tuple(one.ensemble) for one in metadata.fragments}
    lac = ledger.writer.lac
    sent_again = ledger.writer.use_store(ledger.registered, ledger.now, ledger.newest_cause)
    ledger.operations.adds_resent += len(sent_again)
    _put_on_the_way(ledger, sent_again)
    note_operations(ledger)
    note_acknowledged(ledger, range(lac + 1, ledger.writer.lac + 1))
    for recovery in ledger.recoveries:
        was_open = metadata.state == "OPEN"
        recovery.use_store(ledger.now)
        note_operations(ledger)
        if was_open and metadata.state == IN_RECOVERY:
            ledger.event("recovery_started", cause=recovery.cause)
    for fragment in metadata.fragments:
        if ensembles.get(fragment.first_entry) != tuple(fragment.ensemble):
            ledger.operations.ensemble_changes += 1
            ledger.event("ensemble_change", None, fragment.first_entry, cause=fragment.cause)
    if metadata.state != state and metadata.state == CLOSED:
        ledger.event("ledger_closed", None, None, metadata.last_entry, cause=metadata.close_cause)
        tell_behind_end(ledger)
    commit_replacements(ledger)


def send(ledger: Ledger) -> None:
    """Step 3: clients send; what the writer sends may be dropped on the way."""
    now, writer = ledger.now, ledger.writer
    _put_on_the_way(ledger, writer.send(now))
    note_operations(ledger)
    for recovery in ledger.recoveries:
        _put_on_the_way(ledger, recovery.send(now, ledger.registered))
    period_ms = ledger.settings.explicit_lac_ms
    if period_ms is not None and ledger.settings.is_due(now, period_ms) and writer.writes and writer.tells_lac():
        writer.lac_told = writer.lac
        for index in ledger.quorums.write_set(writer.lac):
            broker = writer.window.ensemble[index]
            if ledger.is_heard(broker):
                ledger.bookies[broker].explicit_lac = max(ledger.bookies[broker].explicit_lac, writer.lac)


def _put_on_the_way(ledger: Ledger, messages: list[Message]) -> None:
    for message in messages:
        dropped_by = None
        if not message.recovery:
            dropped_by = fault_on_the_way(ledger.faults, "drop_adds", message.bookie, message.entry, message.sent_round)
        if ledger.is_dead(message.bookie):
            keep_back(ledger, message, ledger.cause_of(message.bookie))
        elif dropped_by is not None:
            keep_back(ledger, message, dropped_by)
        else:
            ledger.network.append(message)


def handle(ledger: Ledger, shares: Mapping[int, int]) -> dict[str, list[tuple[Message, str]]]:
    """Step 4: bookies take adds, the writer's first, then are fenced by those who ask for the LAC. The answers, by client."""
    answers = _late_answers(ledger)
    waiting = []
    for broker in ledger.bookies:
        if ledger.is_heard(broker):
            ledger.slowness.begin(broker, limit_in(ledger, broker), shares.get(broker))
    for message in in_order(ledger):
        if message.sent_round > ledger.now:
            waiting.append(message)
            continue
        is_held, held_by = held_up(ledger, message)
        if not is_held and ledger.slowness.keeps_back(message.bookie, message.entry):
            is_held, held_by = True, ledger.slowness.faults[message.bookie]
        if is_held:
            keep_back(ledger, message, held_by)
            waiting.append(message)
            continue
        answer = ledger.bookies[message.bookie].add(message.entry, message.lac, message.recovery)
        if message.recovery:
            ledger.asked[message.bookie].append(f"radd {message.entry}")
        ledger.coverage["late_add"] += answer == OK and message.sent_round < ledger.now
        ledger.coverage["refused_by_fence"] += answer != OK
        lag, slow = ledger.lag_of(message.bookie)
        if lag:
            keep_back(ledger, message, slow)
            ledger.late_adds.append(LateAdd(ledger.now + lag, message, answer))
        else:
            answers.setdefault(message.client, []).append((message, answer))
    ledger.network = waiting
    for recovery in ledger.recoveries:
        if recovery.phase == FENCE:
            ask_for_lac(ledger, recovery)
    return answers


def in_order(ledger: Ledger) -> list[Message]:
    """Adds on their way, in the order in which bookies take them."""
    return sorted(ledger.network, key=lambda one: (one.recovery, one.sent_round, one.entry, one.index))


def limit_in(ledger: Ledger, broker: int) -> tuple[int, int] | None:
    """What a slow link or disk lets through in this round, as of limit_of."""
    return limit_of(broker, ledger.faults, ledger.settings, ledger.now, ledger.case["round_ms"])


def held_up(ledger: Ledger, message: Message) -> tuple[bool, int | None]:
    """Whether an add doesn't get to its bookie in this round, and the fault for which it doesn't."""
    if not ledger.is_heard(message.bookie):
        return True, ledger.cause_of(message.bookie)
    if message.recovery:
        return False, None
    fault = fault_on_the_way(ledger.faults, "delay_adds", message.bookie, message.entry, ledger.now)
    return fault is not None, fault


def _late_answers(ledger: Ledger) -> dict[str, list[tuple[Message, str]]]:
    """Answers to adds that slow bookies gave earlier, and that come now."""
    answers: dict[str, list[tuple[Message, str]]] = {}
    for late in list(ledger.late_adds):
        if late.due > ledger.now:
            continue
        if ledger.is_heard(late.message.bookie):
            answers.setdefault(late.message.client, []).append((late.message, late.answer))
            ledger.late_adds.remove(late)
        else:
            keep_back(ledger, late.message, ledger.cause_of(late.message.bookie))
    return answers


def take_answers(ledger: Ledger, answers: Mapping[str, list[tuple[Message, str]]]) -> None:
    """Step 6: clients take what the look brought them (step 5)."""
    now = ledger.now
    newest = ledger.newest_cause
    acknowledged = ledger.writer.take_answers(answers.get("writer", []), ledger.is_dead, now, ledger.cause_of, newest)
    note_operations(ledger)
    note_acknowledged(ledger, acknowledged)
    for recovery in ledger.recoveries:
        phase = recovery.phase
        if recovery.window is not None:
            own = answers.get(recovery.window.client, [])
            _put_on_the_way(ledger, recovery.take_answers(own, ledger.is_dead, ledger.registered, now, ledger.cause_of))
        if phase == FENCE:
            recovery.take_lacs(*take_lacs(ledger, recovery.awaited), now)
        elif phase == READ:
            read(ledger, recovery)
        note_operations(ledger)
    for opening in ledger.openings:
        if opening.lac is None and opening.error is None:
            _open(ledger, opening)


def note_acknowledged(ledger: Ledger, entries: Sequence[int]) -> None:
    """The writer acknowledged these just now."""
    for entry in entries:
        ledger.acked_in_round[entry] = ledger.now
    tell_lost_when_acknowledged(ledger, entries)


def _open(ledger: Ledger, opening: Opening) -> None:
    """Who opens without recovery asks once, when the store is up, and waits for those who may answer, if it has to."""
    if opening.asked_round is None:
        if not ledger.store_up:
            return
        if ledger.metadata.last_entry is not None:
            opening.lac = ledger.metadata.last_entry
            return
        opening.asked_round = ledger.now
        opening.awaited = ask_ensemble(ledger, ledger.metadata.last.ensemble)
    for question in opening.awaited.values():
        reach(ledger, question, tell_lac)
    told, timed_out = take_lacs(ledger, opening.awaited)
    opening.told |= told
    if ledger.quorums.covered(opening.told):
        opening.lac = max(opening.told.values())
    elif not opening.awaited:
        opening.error = TIMEOUT if timed_out else READ_EXCEPTION


def flush(ledger: Ledger) -> None:
    """Step 8: in rounds in which it is due, running bookies flush."""
    if ledger.settings.is_due(ledger.now, ledger.settings.flush_ms):
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
        "beside": {one.broker: sorted(one.beside) for one in ledger.bookies.values() if one.beside},
        "bookies": {
            one.broker: {"last_entry": one.last_entry, "lac": one.lac, "fenced": one.fenced}
            for one in ledger.bookies.values()
            if one.knows_ledger
        },
        "reader_lac": ledger.reader_lac(),
        "adds": list(writer.results),
        "pending": [add.entry for add in writer.window.pending],
        **state_of_round(ledger),
    }
