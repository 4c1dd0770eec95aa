"""Steps 1 and 3 of viewstamped: a process that ends has lost everything; it comes back with what others tell it."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import keep_first
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, LEADER, LOG_DAMAGED, NOBODY, RECOVERING
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history
from emulator.rounds.quorums.tell import tell_of_disk


@compiled
def forget_state(lists: Lists, group: Group) -> None:
    """Nothing is on a disk. More than f without a state at once, and nothing is promised any more.

    Source: VR revisited, 4.3.
    """
    without = 0
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role == RECOVERING:
            without += 1
            if server.end > 0:
                tell_of_disk(lists, group, LOG_DAMAGED, slot, 0, server.end, server.cause)
                keep_first(server.runs, 0)
            server.end = 0
            server.flushed_to = 0
            server.term = 0
            server.log_term = 0
    if without > (group.copies - 1) // 2:
        group.damaged = 1


@compiled
def recover(lists: Lists, group: Group, rules: Rules) -> None:
    """RECOVERY to all, and the answers of those whose status is normal: a quorum, with the primary of the latest view among them.

    Source: VR revisited, 4.3.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != RECOVERING or not runs(lists, slot):
            continue
        if not rules.recover_first:
            server.role = FOLLOWER
            server.heard_round = group.now
            continue
        answers, latest, primary = 0, 0, NOBODY
        for other in range(group.copies):
            its = lists.servers[other]
            is_there = other != slot and gets_through(lists, slot, other) and gets_through(lists, other, slot)
            if is_there and its.role != RECOVERING and its.role != CANDIDATE:
                answers += 1
                latest = max(latest, its.term)
                if its.role == LEADER and (primary == NOBODY or its.term > lists.servers[primary].term):
                    primary = other
        if primary == NOBODY:
            continue
        from_latest = answers >= group.copies // 2 + 1 and lists.servers[primary].term == latest
        if from_latest or not rules.quorum_of_answers:
            source = lists.servers[primary]
            server.role = FOLLOWER
            server.term = source.term
            take_history(lists, group, rules, slot, primary, source.end)
            server.log_term = source.term
            server.commit = source.commit
            server.heard_round = group.now
