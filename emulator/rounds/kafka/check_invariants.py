"""At the end of every round every replica is held against the invariants; what newly breaks is written down with a witness.

What each says, and who says so: the table `invariants` of a run. Numbers: invariants.py. What excuses a replica, by which rule of
Kafka, is in docs/invariants.md (Excuses), by the letters that stand beside it here.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.advance_high_watermark import is_enough
from emulator.rounds.kafka.compare_logs import compare_logs, first_offset_of_logs, judge_impaired
from emulator.rounds.kafka.constants import DEAF, NO_EPOCH, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.epochs import latest_epoch
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.invariants import (
    COMMITTED_ON_MIN_ISR,
    ELECTION_SAFETY,
    EPOCHS_INCREASE,
    EVERY_ROUND,
    ISR_WITHIN_REPLICAS,
    LEADER_CANDIDATE_COMPLETENESS,
    LEADER_IN_ISR,
    LOG_MATCHING,
    OF_TIERS,
    OFFSETS_IN_ORDER,
    REPLICATION_QUORUM_SUPERSET,
    STRONG_ISR,
    SUSPECTED,
    VALID_ISR_AND_ELR,
    WEAK_ISR,
)
from emulator.rounds.kafka.lost_everywhere import follow_losses
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.witness import new_violation, witness_epochs
from emulator.rounds.records import Rows
from emulator.rounds.slots import has, size

INVARIANTS_OF_ROUNDS = len(EVERY_ROUND) + len(OF_TIERS)


@compiled_into_callers
def check_invariants(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, ready: bool
) -> None:
    """Look at every replica, at the end of a round. `ready`: of T; else nobody leads (M)."""
    superseded = part.superseded
    for slot in range(part.slots):
        replica = replicas[slot]
        if replica.compares:
            compare_logs(lists, part, replicas, slot)
        judge_impaired(part, replicas, slot)
        misled_by = misled(lists, part, replicas, slot, superseded) if superseded else NOBODY
        broken = broken_of_replica(part, replicas, slot, ready, misled_by) | replica.tier_broken
        if slot == 0:
            broken |= broken_of_partition(inputs, part)
            if part.missing.count:
                broken |= follow_losses(lists, part, replicas)
        if slot == part.client_leader and ready:
            broken |= broken_of_leader(part, replicas, settings, superseded)
        if broken != replica.broken:
            write_down_new(lists, inputs, part, replicas, slot, broken & ~replica.broken, misled_by)
            replica.broken = broken


@compiled
def write_down_new(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, broken: int, misled_by: int
) -> None:
    """Write down what a replica breaks that it did not break in the round before."""
    for invariant in range(INVARIANTS_OF_ROUNDS):
        misleader = misled_by if invariant == STRONG_ISR else NOBODY
        if has(broken, invariant):
            write_down(lists, inputs, part, replicas, slot, invariant, misleader, False)
        elif has(broken, invariant + SUSPECTED):
            write_down(lists, inputs, part, replicas, slot, invariant, misleader, True)


@compiled
def misled(lists: Lists, part: Partition, replicas: Rows[Replica], slot: int, superseded: int) -> int:
    """A leader that nobody told of the next one, below whose high watermark the own log is another; NOBODY if there is none.

    Of leaders before the last election that may lose what they committed nobody has to have anything (C, D).
    """
    replica = replicas[slot]
    for other in range(part.slots):
        if other == slot or not has(superseded, other) or not replicas[other].status & DEAF:
            continue
        zombie = replicas[other]
        if zombie.superseded_epoch < max(part.unclean_epoch, part.lossy_epoch):
            continue
        if replica.leo < zombie.hw:
            return other
        begin, end = max(replica.log_start, zombie.log_start), min(replica.leo, zombie.hw)
        if first_offset_of_logs(lists, replica, zombie, begin, end, False) != UNKNOWN:
            return other
    return NOBODY


@compiled_into_callers
def agreed_to(replica: Replica) -> int:
    """Up to there a replica's log is T's."""
    return replica.leo if replica.unlike_from == UNKNOWN else min(replica.leo, replica.unlike_from)


@compiled_into_callers
def broken_of_replica(part: Partition, replicas: Rows[Replica], slot: int, ready: bool, misled_by: int) -> int:
    """The mask of invariants that this replica's log breaks."""
    replica = replicas[slot]
    broken = 0
    follows = part.client_leader != NOBODY and slot != part.client_leader
    agreed = agreed_to(replica)
    if follows and agreed < true_high_watermark(part, replicas) and not replica.impaired:  # (A)
        lacks = agreed < part.leader_hw
        if ready and lacks and has(part.isr, slot) and not part.isr_is_forced:  # (C)
            broken |= 1 << STRONG_ISR
        if ready and lacks and has(part.known_isr & part.assigned, slot):
            broken |= 1 << WEAK_ISR
        if has(part.isr | part.elr, slot) and not part.isr_is_forced:  # (C)
            broken |= 1 << LEADER_CANDIDATE_COMPLETENESS
    if misled_by != NOBODY and has(part.isr, slot) and not replica.impaired:
        broken |= 1 << STRONG_ISR
    if follows and UNKNOWN < replica.alike_again < min(replica.hw, part.leader_hw):
        broken |= 1 << LOG_MATCHING
    if not 0 <= replica.log_start <= replica.hw <= replica.leo:
        broken |= 1 << OFFSETS_IN_ORDER
    if replica.epochs_fall:
        broken |= 1 << EPOCHS_INCREASE
    return broken


@compiled_into_callers
def true_high_watermark(part: Partition, replicas: Rows[Replica]) -> int:
    """A new leader's high watermark may be below what was committed before it; of that counts what the leader has (E)."""
    if part.leader_hw < part.committed_before <= min(max(part.epoch_start, 0), replicas[part.client_leader].leo):
        return part.committed_before
    return part.leader_hw


@compiled_into_callers
def broken_of_partition(inputs: Inputs, part: Partition) -> int:
    """The mask of invariants that the controller's view breaks."""
    broken = 0
    if part.isr & ~part.assigned:
        broken |= 1 << ISR_WITHIN_REPLICAS
    if part.leader != NOBODY and not has(part.isr, part.leader):
        broken |= 1 << LEADER_IN_ISR
    if part.elr:
        least = min(inputs.settings[part.settings].min_insync_replicas, size(part.assigned))
        if part.isr & part.elr or part.elr & ~part.assigned or size(part.isr) >= least:
            broken |= 1 << VALID_ISR_AND_ELR
    return broken


@compiled_into_callers
def broken_of_leader(part: Partition, replicas: Rows[Replica], settings: Settings, superseded: int) -> int:
    """The mask of invariants that a T that is ready breaks."""
    broken = 0
    if superseded:
        for slot in range(part.slots):
            if slot != part.client_leader and has(superseded, slot) and replicas[slot].leading_epoch == part.client_epoch:
                broken |= 1 << ELECTION_SAFETY
    # A shrink of this round counts once it is confirmed (K).
    too_few = part.leader_hw > part.hw_before and not is_enough(part, settings, part.size_shrunk)
    if too_few and (part.leader_hw > part.hw_limit or not is_enough(part, settings, part.size_joined)):
        broken |= 1 << COMMITTED_ON_MIN_ISR
    beyond = (part.isr | part.elr) & ~(part.known_isr | part.pending_joins)  # (L)
    if beyond and part.leader == part.client_leader and is_enough(part, settings, size(part.known_isr)):
        broken |= 1 << REPLICATION_QUORUM_SUPERSET
    return broken


@compiled
def write_down(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    slot: int,
    invariant: int,
    misleader: int,
    is_suspect: bool,
) -> None:
    """A witness: both logs with their epochs, and how far they agree. Against T, or a leader that nobody told (`misleader`).

    Suspect is StrongIsr where, without eligible leader replicas, some replica lost records to a fault, and this one's log is
    empty or goes on after the leader's epoch: no rule is known by which that comes of the fault (S1).
    """
    replica = replicas[slot]
    against = part.client_leader if misleader == NOBODY else misleader
    leader_epoch = part.client_epoch if misleader == NOBODY else replicas[misleader].superseded_epoch
    if invariant == STRONG_ISR and not inputs.scenarios[part.scenario].elr:
        damaged = False
        for other in range(part.slots):
            damaged = damaged or replicas[other].damaged_round <= part.now
        last_epoch = latest_epoch(lists.epochs, replica)
        if damaged and (last_epoch == NO_EPOCH or last_epoch > leader_epoch):
            is_suspect = True
    row = lists.violations[new_violation(lists, part, invariant, 1 if is_suspect else 0)]
    row.cause = replica.cause
    row.broker = replica.broker
    row.leader_epoch = leader_epoch
    row.leo = replica.leo
    row.hw = replica.hw
    row.agreed_to = agreed_to(replica)
    row.epochs = witness_epochs(lists.epochs, lists, replica)
    if against != NOBODY:
        leader = replicas[against]
        row.leader = leader.broker
        row.leader_leo = leader.leo
        row.leader_hw = part.leader_hw if misleader == NOBODY else leader.hw
        row.leader_epochs = witness_epochs(lists.epochs, lists, leader)


@compiled_into_callers
def mark_superseded(part: Partition, replicas: Rows[Replica]) -> None:
    """Note who thinks it leads and is not T in its epoch, before this round's news."""
    part.superseded = 0
    for slot in range(part.slots):
        replica = replicas[slot]
        if replica.leading_epoch == NO_EPOCH or replica.status & NOT_RUNNING:
            continue
        if slot != part.client_leader or replica.leading_epoch != part.client_epoch:
            part.superseded |= 1 << slot
            replica.superseded_epoch = replica.leading_epoch
