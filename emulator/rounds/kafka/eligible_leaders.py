"""Eligible leader replicas (KIP-966): who stays eligible when the ISR shrinks, and whom an unclean recovery finds.

Rules: docs/kafka_rounds.md, "Eligible leader replicas"; PartitionChangeBuilder.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import AGGRESSIVE, BALANCED, NO_STRATEGY, NOBODY, NOT_RUNNING, UNCLEAN_RESTART, UNKNOWN
from emulator.rounds.kafka.epochs import latest_epoch
from emulator.rounds.kafka.input_records import Rules, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.records import Rows
from emulator.rounds.slots import MAX_SLOTS, has, size, slot_at


@compiled
def change_isr(part: Partition, settings: Settings, has_elr: int, isr: int, replicas: int) -> None:
    """The ISR becomes another: who left it is eligible as long as it is smaller than min.insync.replicas.

    `replicas`: mask of those that the partition has then.
    """
    if has_elr:
        if size(isr) >= min(settings.min_insync_replicas, size(replicas)):
            part.elr = 0
            part.last_known_elr = 0
        else:
            elr = (part.elr | part.isr) & ~isr & replicas
            if settings.recovery != NO_STRATEGY:
                part.last_known_elr = (part.last_known_elr | part.elr | part.isr) & ~isr & ~elr & replicas
            part.elr = elr
    part.isr = isr


@compiled
def fence_one_by_one(part: Partition, settings: Settings, blocked: int) -> None:
    """Fenced members leave in replica order, the leader last, each a change of its own; the ISR may get empty."""
    for place in range(MAX_SLOTS):
        slot = slot_at(part.order, place)
        if slot < 0:
            break
        if slot != part.leader and has(part.isr & blocked, slot):
            change_isr(part, settings, 1, part.isr & ~(1 << slot), part.assigned)
    if has(part.isr & blocked, part.leader):
        change_isr(part, settings, 1, part.isr & ~(1 << part.leader), part.assigned)


@compiled
def register_unclean(part: Partition, replicas: Rows[Replica], settings: Settings, rules: Rules) -> None:
    """Who registers again after an unclean stop may have lost records: it leaves the ELR."""
    if not rules.remove_unclean_from_elr:
        return
    for slot in range(part.slots):
        if replicas[slot].status & UNCLEAN_RESTART and has(part.elr, slot):
            part.elr &= ~(1 << slot)
            if settings.recovery != NO_STRATEGY:
                part.last_known_elr |= 1 << slot


@compiled
def recovered_leader(part: Partition, replicas: Rows[Replica], settings: Settings, unfenced: int) -> int:
    """Whom the recovery strategy finds by what was answered in the round before: last epoch, then LEO, then replica order."""
    present = 0
    for slot in range(part.slots):
        if replicas[slot].recovery_leo != UNKNOWN:
            present |= 1 << slot
    present &= part.assigned & unfenced
    if settings.recovery == BALANCED:
        present &= part.last_known_elr
        if part.isr or part.elr or present != part.last_known_elr:
            return NOBODY
    best = NOBODY
    for place in range(MAX_SLOTS):
        slot = slot_at(part.order, place)
        if slot < 0:
            break
        if has(present, slot) and (best == NOBODY or is_ahead(replicas[slot], replicas[best])):
            best = slot
    return best


@compiled
def is_ahead(replica: Replica, other: Replica) -> bool:
    """Whether a replica's answer is the larger one."""
    if replica.recovery_epoch != other.recovery_epoch:
        return replica.recovery_epoch > other.recovery_epoch
    return replica.recovery_leo > other.recovery_leo


@compiled
def ask_for_recovery(lists: Lists, part: Partition, replicas: Rows[Replica], settings: Settings) -> None:
    """A controller without a leader asks replicas for the end of their logs: all (aggressive), or those in LastKnownELR."""
    asks = part.leader == NOBODY and not part.controller_down
    asked = 0
    if asks and settings.recovery == AGGRESSIVE:
        asked = part.assigned
    elif asks and settings.recovery == BALANCED and part.isr == 0 and part.elr == 0:
        asked = part.last_known_elr & part.assigned
    for slot in range(part.slots):
        replica = replicas[slot]
        if has(asked & part.unfenced, slot) and not replica.status & NOT_RUNNING:
            replica.recovery_epoch = latest_epoch(lists.epochs, replica)
            replica.recovery_leo = replica.leo
        else:
            replica.recovery_leo = UNKNOWN
