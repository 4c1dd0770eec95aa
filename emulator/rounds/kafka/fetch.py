"""Step 4, fetch: followers ask, leaders answer and take note; no log changes yet."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import start_of_batch
from emulator.rounds.kafka.constants import (
    ABOVE_LEO,
    BELOW_LOG_START,
    DATA,
    DIVERGING,
    EPOCH_END,
    GONE,
    ISOLATED,
    MOVED,
    NO_ANSWER,
    NO_END,
    NO_EPOCH,
    NOBODY,
    NOT_RUNNING,
    NOT_SENT,
    OUT_OF_ORDER,
    UNANSWERED,
    UNKNOWN,
    WITH_RACK,
)
from emulator.rounds.kafka.epochs import end_of_epoch, latest_epoch, start_of_next_epoch
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def message_passes(sender: Replica, receiver: Replica, receiver_slot: int) -> bool:
    """Whether a message gets from one broker to the other."""
    return not are_apart(sender, receiver) and not has(sender.cuts, receiver_slot)


@compiled_into_callers
def are_apart(one: Replica, other: Replica) -> bool:
    """Whether an isolation is between two brokers: of either, unless they are rack-mates."""
    if not (one.status | other.status) & ISOLATED:
        return False
    return not one.status & other.status & WITH_RACK or one.rack != other.rack


@compiled_into_callers
def fetch(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """Step 4; `part.noted` is the mask of followers whose fetch T noted."""
    part.noted = 0
    for slot in range(part.slots):
        follower = replicas[slot]
        follower.answer = NO_ANSWER
        follower.fetch_state = NOT_SENT
        if not sends(part, replicas, slot):
            continue
        follower.fetch_state = UNANSWERED
        leader = replicas[follower.believed_leader]
        if leader.status & NOT_RUNNING or leader.leading_epoch == NO_EPOCH:
            continue
        if rules.fetch_in_leader_epoch and rules.epochs_in_fetch and leader.leading_epoch != follower.believed_epoch:
            continue  # FENCED_LEADER_EPOCH, or UNKNOWN_LEADER_EPOCH
        follower.answer_leader = follower.believed_leader
        follower.fetch_epoch = follower.believed_epoch
        is_t = follower.believed_leader == part.client_leader and leader.leading_epoch == part.client_epoch
        follower.answer_is_t = 1 if is_t else 0
        if rules.epochs_in_fetch:
            said = answer(lists, follower, leader, is_t and follower.in_line != 0 and rules.check_every_fetch == 0)
            if said == DATA and follower.leo < leader.local_start:
                # OFFSET_MOVED_TO_TIERED_STORAGE; with remote storage turned off OFFSET_OUT_OF_RANGE
                said = MOVED if inputs.settings[part.settings].tiered else GONE
        elif follower.truncating:
            said = EPOCH_END
        else:
            said = answer_without_epochs(lists, inputs, follower, leader)
        follower.answer = said
        if is_t and (follower.answer == DATA or follower.answer == OUT_OF_ORDER):
            part.noted |= 1 << slot
            note(part, follower, leader)


@compiled_into_callers
def sends(part: Partition, replicas: Rows[Replica], slot: int) -> bool:
    """Whether a follower's request gets to somebody."""
    follower = replicas[slot]
    if slot == part.leader or follower.builds or follower.status & NOT_RUNNING or not has(part.assigned, slot):
        return False
    believed = follower.believed_leader
    return believed != NOBODY and slot != believed and message_passes(follower, replicas[believed], believed)


@compiled_into_callers
def answer(lists: Lists, follower: Replica, leader: Replica, is_in_line: bool) -> int:
    """What a leader says to a fetch in its epoch; a log that diverges is told where the epoch ends (KIP-595).

    `is_in_line`: divergence is not looked for.
    """
    if follower.leo < leader.log_start:
        return BELOW_LOG_START
    if is_in_line:
        return DATA
    last_epoch = latest_epoch(lists.epochs, follower)
    if last_epoch == NO_EPOCH:
        return ABOVE_LEO if follower.leo > leader.leo else DATA
    epoch, end = end_of_epoch(lists.epochs, leader, leader.epochs.count, leader.leo, last_epoch)
    if epoch == NO_EPOCH:
        return ABOVE_LEO if follower.leo > leader.leo else NO_END
    if epoch == last_epoch and follower.leo <= end:
        return DATA
    follower.answer_epoch = epoch
    follower.answer_end = end
    return DIVERGING


@compiled
def answer_without_epochs(lists: Lists, inputs: Inputs, follower: Replica, leader: Replica) -> int:
    """Before KIP-320 a leader knows of offsets only; batches that begin below the follower's log end it can't append."""
    if follower.leo < leader.log_start:
        return BELOW_LOG_START
    if follower.leo > leader.leo:
        return ABOVE_LEO
    if follower.leo > leader.log_start and start_of_batch(lists.runs, inputs, leader, follower.leo) < follower.leo:
        return OUT_OF_ORDER
    return DATA


@compiled
def answer_questions(lists: Lists, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """Where leaders' logs of the round's start end for the last epochs of followers that ask (KIP-101, KIP-279).

    Sets `answer_epoch` and `answer_end`, UNKNOWN if that is undefined. Whether the answer is given is seen in step 4.
    """
    for slot in range(part.slots):
        follower = replicas[slot]
        follower.answer_end = UNKNOWN
        if not follower.truncating or follower.believed_leader == NOBODY:
            continue
        leader = replicas[follower.believed_leader]
        asked = latest_epoch(lists.epochs, follower)
        if asked == NO_EPOCH:
            continue
        entries = leader.epochs.count
        if rules.answers_epoch:
            follower.answer_epoch, follower.answer_end = end_of_epoch(lists.epochs, leader, entries, leader.leo, asked)
        else:
            follower.answer_epoch = asked
            follower.answer_end = start_of_next_epoch(lists.epochs, leader, entries, leader.leo, asked)


@compiled_into_callers
def note(part: Partition, follower: Replica, leader: Replica) -> None:
    """T notes how far a follower is, and when it was caught up last (Replica.updateFetchStateOrThrow)."""
    follower.remote_leo = follower.leo
    follower.in_line = 1
    if follower.leo >= leader.leo:
        follower.caught_up = part.now
    elif follower.noted_leader_leo != UNKNOWN and follower.leo >= follower.noted_leader_leo:
        follower.caught_up = max(follower.caught_up, follower.noted_round)
    follower.noted_round = part.now
    follower.noted_leader_leo = leader.leo
