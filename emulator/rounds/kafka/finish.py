"""The end of the run for a partition: what it acknowledged and lost in all, and invariants about what is left."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import BELOW_LOG_START, BUILDING, BUILT, GONE, MOVED_AWAY, NEVER, NOBODY
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.invariants import EVENTUALLY_IN_SYNC, EVENTUALLY_LED
from emulator.rounds.kafka.leaderships import end_leadership
from emulator.rounds.kafka.log import local_bytes
from emulator.rounds.kafka.record_ranges import count_lacking
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import end_refusals
from emulator.rounds.kafka.unacknowledged import count_sent_lost
from emulator.rounds.kafka.witness import new_violation
from emulator.rounds.records import Rows
from emulator.rounds.slots import has

SETTLING_ROUNDS = 10
"""Rounds that a partition may take beyond its timeouts until it has settled after the last fault."""


@compiled
def finish(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """After the last round; `part.now` is the number of rounds."""
    end_refusals(lists, part, replicas)
    end_leadership(lists, part)
    part.acked_total = part.acked_records - part.sent_unacknowledged
    last = part.client_leader if part.leader == NOBODY else part.leader
    if last != NOBODY:
        part.unacknowledged_lost = count_sent_lost(lists, inputs, part, replicas[last])
        part.acked_lost = count_lacking(lists.ranges, part.acked, lists.runs, lists.epochs, replicas[last])
        part.acked_lost -= part.unacknowledged_lost
        part.committed_lost = count_lacking(lists.ranges, part.committed, lists.runs, lists.epochs, replicas[last])
        part.end_leo = replicas[last].leo
        part.end_hw = replicas[last].hw
    for slot in range(part.slots):
        replicas[slot].local_bytes = local_bytes(lists, inputs, part, replicas[slot])
    if not part.deleted:  # (O)
        check_end(lists, inputs, part, replicas)


@compiled
def check_end(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """Some time after the last fault a partition has a leader, and who is heard and caught up is in the ISR (N)."""
    settings, scenario = inputs.settings[part.settings], inputs.scenarios[part.scenario]
    bound = scenario.session_timeout_rounds + 2 * settings.lag_rounds + SETTLING_ROUNDS
    if part.now - scenario.quiet_from < bound:
        return
    knows = part.client_leader != NOBODY and replicas[part.client_leader].leading_epoch == part.client_epoch
    if part.leader == NOBODY or not knows:
        write_down(lists, part, replicas, 0, EVENTUALLY_LED)
        return
    for slot in range(part.slots):
        replica = replicas[slot]
        if not has(part.assigned & ~part.isr, slot):
            continue
        is_heard = replica.noted_round >= scenario.quiet_from or is_sent_away(replica)
        if not is_heard or is_known_to_be_level(part, replicas, settings, slot):
            write_down(lists, part, replicas, slot, EVENTUALLY_IN_SYNC)


@compiled
def is_known_to_be_level(part: Partition, replicas: Rows[Replica], settings: Settings, slot: int) -> bool:
    """Whether what a follower has, and T noted, lets it join, and stay: at T's LEO, or caught up within the lag time."""
    replica = replicas[slot]
    if min(replica.leo, replica.remote_leo) < max(part.leader_hw, part.epoch_start):
        return False
    in_time = replica.caught_up != NEVER and part.now - 1 - replica.caught_up <= settings.lag_rounds
    return in_time or replica.remote_leo >= replicas[part.client_leader].leo


@compiled
def is_sent_away(replica: Replica) -> bool:
    """Whether a follower is told to go on in remote storage, or at the log start, or nowhere, and its leader notes no fetch (N).

    Where logs are shorter than that takes it may be told so again for ever.
    """
    return replica.fetch_state in (MOVED_AWAY, BUILDING, BUILT) or replica.answer in (BELOW_LOG_START, GONE)


@compiled
def write_down(lists: Lists, part: Partition, replicas: Rows[Replica], slot: int, invariant: int) -> None:
    """A witness of the end."""
    replica = replicas[slot]
    row = lists.violations[new_violation(lists, part, invariant, 0)]
    row.at_round = part.now - 1
    row.broker = replica.broker
    row.leader = replicas[part.leader].broker if part.leader != NOBODY else -1
    row.leader_epoch = part.epoch
    row.leader_hw = part.leader_hw
    row.leo = replica.leo
    row.heard_round = replica.noted_round
