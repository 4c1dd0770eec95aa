"""Step 1 of docs/bookkeeper_rounds.md: what bookies lost, who is back, what is wanted, and what there is to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.reference.broker_status import covers

from .bookie import Bookie
from .causes import cause_of_crash
from .ledger import Ledger, Opening
from .losses import tell_last_copies
from .metadata import CLOSED
from .status import writer_is_gone
from .window import Message
from .writer import CRASHED


def take_inputs(ledger: Ledger) -> None:
    """What this round begins with, as the case has it."""
    now = ledger.now
    for bookie in ledger.bookies.values():
        _damage(ledger, bookie)
    for message in ledger.network:
        if ledger.is_dead(message.bookie):
            keep_back(ledger, message, ledger.cause_of(message.bookie))
    ledger.network = [message for message in ledger.network if not ledger.is_dead(message.bookie)]
    for late in ledger.late_adds:
        if ledger.is_dead(late.message.bookie):
            keep_back(ledger, late.message, ledger.cause_of(late.message.bookie))
    ledger.late_adds = [late for late in ledger.late_adds if not ledger.is_dead(late.message.bookie)]
    if writer_is_gone(ledger.faults, now) and ledger.writer.state != CRASHED:
        ledger.writer.crash()
    for command in ledger.case.get("commands", []):
        if command["round"] == now:
            _obey(ledger, command)
    if any(ledger.status(one).restarted for one in ledger.bookies) and ledger.settings.integrity_check:
        _check_returned(ledger)
    for row in ledger.case.get("workload", []):
        if covers(row, now):
            ledger.writer.queued += row["records_per_round"]
    in_force = [row.get("max_in_flight", 1) for row in ledger.case.get("workload", []) if covers(row, now)]
    ledger.writer.window_size = max(in_force, default=ledger.writer.window_size)


def _damage(ledger: Ledger, bookie: Bookie) -> None:
    """What this round's crash, power loss or disk loss takes."""
    settings, status = ledger.settings, ledger.status(bookie.broker)
    if status.clean_stop:
        bookie.flush()
    damaged = (status.crashed and not settings.journal) or (status.power_lost and not settings.journal_synced)
    if not damaged and not status.disk_lost:
        return
    was_fenced, cause = bookie.fenced, ledger.cause_of(bookie.broker)
    lost = bookie.lose_unflushed() if damaged else []
    if status.disk_lost:
        lost = sorted({*lost, *bookie.lose_everything()})
    if lost:
        ledger.event("entries_lost", bookie.broker, lost[0], lost[-1] + 1, cause=cause)
        tell_last_copies(ledger, bookie.broker, lost, cause)
    if lost or was_fenced:
        ledger.last_damage, ledger.lost_to_faults = cause, True
    ledger.damaged.add(bookie.broker)
    ledger.damage_causes[bookie.broker] = cause


def keep_back(ledger: Ledger, message: Message, cause: int | None) -> None:
    """Note what keeps a request from being answered."""
    windows = [ledger.writer.window, *(recovery.window for recovery in ledger.recoveries if recovery.window is not None)]
    for window in windows:
        if window.client == message.client and window.ensemble[message.index] == message.bookie:
            window.keep_back(message, cause)


def _check_returned(ledger: Ledger) -> None:
    """BP-46: who may have lost entries or fences is fenced, and repairs what it lacks; if the ledger is open it is in limbo."""
    for broker, bookie in ledger.bookies.items():
        status = ledger.status(broker)
        if not status.restarted or broker not in ledger.damaged:
            continue
        ledger.damaged.discard(broker)
        if not any(broker in fragment.ensemble for fragment in ledger.metadata.fragments):
            continue
        cause = ledger.damage_causes[broker]
        ledger.repair.filling[broker] = cause
        if ledger.rules.damaged_are_fenced and not bookie.fenced:
            ledger.event("fence", broker, cause=cause)
            bookie.fenced = True
        if ledger.metadata.state != CLOSED:
            if ledger.rules.limbo_is_unknown and not bookie.limbo:
                ledger.event("limbo_entered", broker, cause=cause)
                bookie.limbo = True
            ledger.start_recovery(f"bookie-{broker}", cause=cause)


def _obey(ledger: Ledger, command: Mapping[str, Any]) -> None:
    kind = command["kind"]
    if kind == "close_ledger":
        ledger.writer.ask_to_close()
    elif kind == "recover_ledger":
        cause = cause_of_crash(ledger.faults, ledger.now)
        ledger.start_recovery(f"recovery-{len(ledger.recoveries)}", command.get("retry", True), cause)
    elif kind == "open_no_recovery":
        ledger.openings.append(Opening(ledger.now))
    elif kind == "check_ledger":
        for one in {one for fragment in ledger.metadata.fragments for one in fragment.ensemble}:
            ledger.repair.filling.setdefault(one, None)
    elif kind == "decommission_bookie":
        ledger.decommissioned.add(command["broker"])
    elif kind in ("add_bookie", "read_ledger"):
        pass  # ledger.statuses_of, readers.py
    else:
        raise ValueError(f"unknown command {kind}")
