"""Step 3 of zab, phase 1: a prospective leader finds a new epoch, and the most recent history among its followers."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CANDIDATE, NEVER, NOBODY
from emulator.rounds.quorums.flight import give_up
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.log import is_as_complete
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history
from emulator.rounds.quorums.zab.leave_leaders import abandon, exchanges, is_looking


@compiled
def discover(lists: Lists, group: Group, rules: Rules) -> None:
    """Who looks for a leader joins one that it can talk to; of those left, one that a quorum names begins an epoch.

    Source: Zab, section IV-A, phase 1; l.3.3 for those that join later.
    """
    for slot in range(group.copies):
        if is_looking(lists, slot):
            join(lists, group, slot)
    for slot in range(group.copies):
        if is_looking(lists, slot) and named_by(lists, group, slot) == slot:
            count = 0
            for other in range(group.copies):
                if is_looking(lists, other) and named_by(lists, group, other) == slot:
                    count += 1
            if count >= group.copies // 2 + 1:
                begin_epoch(lists, group, rules, slot)
                return


@compiled
def join(lists: Lists, group: Group, slot: int) -> None:
    """CEPOCH to the leader of the newest epoch among those that a server can talk to, and its NEWEPOCH."""
    server, found = lists.servers[slot], NOBODY
    for other in range(group.copies):
        is_newest = found == NOBODY or lists.servers[other].term > lists.servers[found].term
        if other != slot and lists.servers[other].leader == other and is_newest and exchanges(lists, slot, other):
            found = other
    if found == NOBODY:
        return
    leader = lists.servers[found]
    if server.term > leader.term:  # it promised to take no part in so old an epoch
        abandon(lists, group, found)
        return
    server.term = leader.term
    follow_in_epoch(lists, group, slot, found)


@compiled
def follow_in_epoch(lists: Lists, group: Group, slot: int, leader: int) -> None:
    """A server follows a leader in the epoch that it has acknowledged; it has not its history yet."""
    server, peer = lists.servers[slot], lists.peers[leader * group.copies + slot]
    server.leader = leader
    server.heard_round = group.now
    peer.joined_round = group.now
    peer.answered_round = group.now
    peer.in_sync = 0
    give_up(lists, group, leader, slot)


@compiled
def named_by(lists: Lists, group: Group, slot: int) -> int:
    """The oracle: of the servers that look and that one can talk to, itself among them, the first from (round mod N) on."""
    for step in range(group.copies):
        other = (group.now + step) % group.copies
        if is_looking(lists, other) and exchanges(lists, slot, other):
            return other
    return NOBODY


@compiled
def begin_epoch(lists: Lists, group: Group, rules: Rules, slot: int) -> None:
    """NEWEPOCH to those that named a server, their ACK-E, and its own part of NEWLEADER: the best history becomes its own."""
    leader = lists.servers[slot]
    followers, epoch, best = 0, leader.term + 1, slot
    for other in range(group.copies):
        peer = lists.peers[slot * group.copies + other]
        peer.joined_round = NEVER
        peer.answered_round = NEVER
        peer.in_sync = 0
        peer.match_to = 0
        if other != slot and is_looking(lists, other) and named_by(lists, group, other) == slot:
            followers |= 1 << other
            epoch = max(epoch, lists.servers[other].term + 1)
            if rules.compare_logs and not is_as_recent(lists, rules, best, other):
                best = other
    for other in range(group.copies):
        if followers >> other & 1:
            lists.servers[other].term = epoch
            follow_in_epoch(lists, group, other, slot)
    leader.term = epoch
    leader.leader = slot
    leader.role = CANDIDATE
    if best != slot:
        take_history(lists, group, rules, slot, best, lists.servers[best].end)
    leader.log_term = epoch


@compiled
def is_as_recent(lists: Lists, rules: Rules, one: int, other: int) -> bool:
    """Whether a server's history is at least as recent as another's: the epoch last taken decides, then the last zxid.

    Source: Zab, l.1.2.
    """
    server, than = lists.servers[one], lists.servers[other]
    if server.log_term != than.log_term and rules.current_epoch_first:
        return server.log_term > than.log_term
    return is_as_complete(lists, server, than)
