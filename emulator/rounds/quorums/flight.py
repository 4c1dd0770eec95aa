"""Requests that take rounds: how many, which are under way, which arrive, which are lost."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first
from emulator.rounds.quorums.constants import FOLLOWER, GEOMETRIC, LEADER, NOBODY
from emulator.rounds.quorums.draw import draw
from emulator.rounds.quorums.inputs import Inputs, Settings
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.records import Group, Lists, Message

MOST_DRAWS = 128
"""Of one request with a geometric distribution."""


@compiled
def round_of_arrival(lists: Lists, inputs: Inputs, group: Group, settings: Settings, slot: int, other: int) -> int:
    """The round in which a request that a server sends now is taken and answered; none overtakes an earlier one of its link."""
    arrives = group.now + trip_rounds(lists, inputs, group, settings, slot, other)
    for at in every(group.messages):
        message = lists.messages[at]
        if message.sender == slot and message.receiver == other and not is_lost(lists, message):
            arrives = max(arrives, message.arrives)
    return arrives


@compiled
def trip_rounds(lists: Lists, inputs: Inputs, group: Group, settings: Settings, slot: int, other: int) -> int:
    """The link's delay, what is drawn on top of it, and the receiver's disk."""
    delay = lists.peers[slot * group.copies + other].delay
    drawn = delay * settings.delay_percent // 100
    if drawn == 0:
        return delay + settings.fsync_rounds
    key, link = inputs.scenarios[group.scenario].draw_key, 256 + 16 * slot + other
    if settings.delay_shape != GEOMETRIC:
        drawn = draw(key, group.number, link, MOST_DRAWS * group.now, drawn)
    else:
        mean, drawn = drawn, 0
        while drawn < MOST_DRAWS and draw(key, group.number, link, MOST_DRAWS * group.now + drawn, mean) > 0:
            drawn += 1
    return delay + drawn + settings.fsync_rounds


@compiled
def takes_rounds(
    lists: Lists, inputs: Inputs, group: Group, settings: Settings, slot: int, other: int, previous: int, to_entry: int
) -> bool:
    """Whether a request that a leader sends now is under way for a while; the next one goes on behind it then."""
    arrives = round_of_arrival(lists, inputs, group, settings, slot, other)
    if arrives <= group.now:
        return False
    put_under_way(lists, group, slot, other, arrives, previous, to_entry)
    lists.peers[slot * group.copies + other].next_entry = to_entry
    return True


@compiled
def write_to_disk(lists: Lists, group: Group, settings: Settings, slot: int) -> None:
    """Where a flush takes rounds, a leader's own disk is sent its log as by a request to itself."""
    if settings.fsync_rounds:
        end = lists.servers[slot].end
        put_under_way(lists, group, slot, slot, group.now + settings.fsync_rounds, end, end)


@compiled
def put_under_way(lists: Lists, group: Group, slot: int, other: int, arrives: int, previous: int, to_entry: int) -> None:
    """A leader's request with entries [previous, to_entry) of its log, which it doesn't change while it leads; or a fetch."""
    leader = lists.servers[slot]
    message = lists.messages[append(group.messages)]
    message.sender = slot
    message.receiver = other
    message.leadership = leader.leadership if leader.role == LEADER else NOBODY
    message.epoch = leader.term
    message.given_up = 0
    message.sent_round = group.now
    message.arrives = arrives
    message.previous = previous
    message.to_entry = to_entry
    message.commit = leader.commit


@compiled
def is_lost(lists: Lists, message: Message) -> bool:
    """Whether a request has nobody any more who waits for its answer: its sender leads no more, or anew, or fetches elsewhere."""
    sender = lists.servers[message.sender]
    if message.leadership == NOBODY:
        follows = sender.role == FOLLOWER and sender.leader == message.receiver and sender.term == message.epoch
        return not follows or message.given_up == 1
    return sender.role != LEADER or sender.leadership != message.leadership or message.given_up == 1


@compiled
def is_there(lists: Lists, group: Group, message: Message) -> bool:
    """Whether a request gets to another server by now; if it is a leader's to its own disk, what was written is noted."""
    slot, other = message.sender, message.receiver
    if message.arrives > group.now or is_lost(lists, message) or not runs(lists, slot):
        return False
    if slot == other:
        lists.peers[slot * group.copies + slot].match_to = message.to_entry
        return False
    return gets_through(lists, slot, other)


@compiled
def give_up(lists: Lists, group: Group, slot: int, other: int) -> None:
    """What else is under way from a leader to a server that refused is thrown away.

    Source: etcd, whose leader probes after a refusal and ignores answers to what it sent before.
    """
    for at in every(group.messages):
        if lists.messages[at].sender == slot and lists.messages[at].receiver == other:
            lists.messages[at].given_up = 1


@compiled
def give_up_fetches(lists: Lists, group: Group, slot: int) -> None:
    """A server's process ends, and waits for no answer to a fetch any more."""
    for at in every(group.messages):
        if lists.messages[at].sender == slot and lists.messages[at].leadership == NOBODY:
            lists.messages[at].given_up = 1


@compiled
def forget_arrived(lists: Lists, group: Group) -> None:
    """Keep the requests that arrive later, in their order."""
    kept = 0
    for at in every(group.messages):
        message = lists.messages[at]
        if message.arrives > group.now and not is_lost(lists, message):
            move(lists.messages, at, group.messages.start + kept)
            kept += 1
    keep_first(group.messages, kept)
