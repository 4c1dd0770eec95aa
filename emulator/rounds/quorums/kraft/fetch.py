"""Step 4 of kraft: leaders tell of their epoch, followers fetch by (offset, epoch of the record before), or cut what diverges."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import FOLLOWER, LEADER, NEVER, NOBODY, STATE_MACHINE_SAFETY, TRUNCATE
from emulator.rounds.quorums.flight import forget_arrived, is_lost, is_there, put_under_way, round_of_arrival, write_to_disk
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.lead import follow, take_term
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.log import copy_entries, cut, end_up_to_term, term_before
from emulator.rounds.quorums.members import audience_of
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell, witness


@compiled
def begin_quorum_epochs(lists: Lists, group: Group, rules: Rules) -> None:
    """BeginQuorumEpoch of every leader to those that don't follow it in its epoch.

    Source: KIP-595, BeginQuorumEpoch.
    """
    for slot in range(group.copies):
        for other in range(group.copies):
            leader, server = lists.servers[slot], lists.servers[other]
            if leader.role != LEADER or not runs(lists, slot) or other == slot or not gets_through(lists, slot, other):
                continue
            if not audience_of(lists, group, slot) >> other & 1:
                continue
            if server.leader == slot and server.term == leader.term:
                continue
            if server.term > leader.term and rules.refuse_older_term:
                if gets_through(lists, other, slot):
                    take_term(lists, group, slot, server.term)
                continue
            if leader.term > server.term:
                take_term(lists, group, other, leader.term)
            follow(lists, group, other)
            follow_leader(lists, group, other, slot)


@compiled
def follow_leader(lists: Lists, group: Group, slot: int, leader: int) -> None:
    """A server knows who leads in its epoch, and has fetched nothing from it yet."""
    server = lists.servers[slot]
    server.leader = leader
    server.heard_round = group.now
    server.heard_leader = NEVER


@compiled
def fetch(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """What arrives of fetches under way; then that of every follower that knows its leader and has none, in their order.

    Source: KIP-595, Fetch; KafkaRaftClient.
    """
    if group.messages.count > 0:
        take_fetches_under_way(lists, group, settings, rules)
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role == LEADER and runs(lists, slot):
            write_to_disk(lists, group, settings, slot)
        follows = server.role == FOLLOWER and server.leader not in (NOBODY, slot) and runs(lists, slot)
        if follows and not has_sent(lists, group, slot) and gets_through(lists, slot, server.leader):
            arrives = round_of_arrival(lists, inputs, group, settings, slot, server.leader)
            if arrives > group.now:
                put_under_way(lists, group, slot, server.leader, arrives, server.end, server.end)
            else:
                fetch_from(lists, group, settings, rules, slot, server.leader)


@compiled
def take_fetches_under_way(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Fetches that arrive in this round or should have, in the order in which they were sent."""
    for at in every(group.messages):
        message = lists.messages[at]
        if is_there(lists, group, message):
            fetch_from(lists, group, settings, rules, message.sender, message.receiver)
    forget_arrived(lists, group)


@compiled
def has_sent(lists: Lists, group: Group, slot: int) -> bool:
    """Whether a fetch of a follower is under way, whose answer it waits for."""
    for at in every(group.messages):
        message = lists.messages[at]
        if message.sender == slot and message.receiver != slot and not is_lost(lists, message):
            return True
    return False


@compiled
def fetch_from(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, source: int) -> None:
    """One fetch and its answer."""
    server, leader = lists.servers[slot], lists.servers[source]
    answers = gets_through(lists, source, slot)
    if leader.role != LEADER or leader.term > server.term:  # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH
        if answers and leader.term > server.term:
            take_term(lists, group, slot, leader.term)
            if leader.leader not in (NOBODY, slot):
                follow_leader(lists, group, slot, leader.leader)
        return
    if leader.term < server.term and rules.refuse_older_term:  # UNKNOWN_LEADER_EPOCH
        return
    last_epoch = term_before(lists, server, server.end)
    its_end = end_up_to_term(lists, leader, leader.end, last_epoch)
    its_epoch = term_before(lists, leader, its_end)
    if rules.check_previous and (its_epoch != last_epoch or its_end < server.end):
        if answers:
            server.heard_round = group.now
            server.heard_leader = group.now
            truncate_to(lists, group, slot, source, its_epoch, its_end)
        return
    peer = lists.peers[source * group.copies + slot]
    peer.match_to = server.end
    peer.answered_round = group.now
    if server.end >= min(peer.catch_up_to, leader.end):
        peer.caught_up = 1
    peer.catch_up_to = leader.end
    if answers:
        server.heard_round = group.now
        server.heard_leader = group.now
        before = server.end
        copy_entries(lists, server, leader, min(leader.end, before + settings.max_entries))
        group.sent_entries += server.end - before
        server.commit = max(server.commit, min(leader.commit, server.end))


@compiled
def truncate_to(lists: Lists, group: Group, slot: int, source: int, its_epoch: int, its_end: int) -> None:
    """A diverging epoch: the log ends where that epoch does in both, or where an older one does.

    Source: ReplicatedLog.truncateToEndOffset.
    """
    server = lists.servers[slot]
    end = end_up_to_term(lists, server, server.end, its_epoch)
    if term_before(lists, server, end) == its_epoch:
        end = min(end, its_end)
    if end < server.end:
        if end < server.commit:
            witness(lists, group, STATE_MACHINE_SAFETY, slot, NOBODY, end)
        cause = lists.leaderships[group.leaderships.start + lists.servers[source].leadership].cause
        tell(lists, group, TRUNCATE, slot, server.term, server.end, end, cause)
        group.truncated += server.end - end
        cut(lists, server, end)
