"""Step 3 of raft and kraft: the leader that is asked for other members changes them, at once by a joint one or one by one."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append
from emulator.rounds.quorums.constants import CONFIGURATION, LEADER, NO_ENTRY, NO_FAULT, NO_LIMIT, NOBODY, REASSIGNMENT_COMPLETED
from emulator.rounds.quorums.inputs import Inputs, Rules, Settings
from emulator.rounds.quorums.kraft.resign import end_epoch
from emulator.rounds.quorums.latency import note_appended
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.log import append_entries
from emulator.rounds.quorums.members import last_configuration
from emulator.rounds.quorums.protocols import WITH_FETCHES
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell


@compiled
def change_members(lists: Lists, inputs: Inputs, group: Group, settings: Settings, rules: Rules) -> None:
    """Every leader ends a joint configuration that is committed; the one that clients reach begins what it is asked for.

    Source: Raft 6; thesis 4.1, 4.3.
    """
    if not group.changes:
        return
    asked, wanted = leader_of_clients(lists, group), inputs.wanted[group.wanted].members
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.role != LEADER or not runs(lists, slot):
            continue
        at = last_configuration(lists, group, slot)
        before, members, is_committed = group.initial, group.initial, True
        if at != NOBODY:
            own = lists.configurations[at]
            before, members, is_committed = own.before, own.members, own.entry < leader.commit
        joining = 0
        if before != members:
            if is_committed:
                append_configuration(lists, group, slot, members, members)
        elif slot == asked and members != wanted and may_begin(lists, group, settings, rules, slot, is_committed):
            then = next_members(slot, members, wanted) if settings.one_at_a_time else wanted
            joining = then & ~members
            if has_caught_up(lists, group, settings, slot, joining):
                append_configuration(lists, group, slot, then if settings.one_at_a_time else members, then)
                joining = 0
        leader.joining = joining


@compiled
def may_begin(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, is_committed: bool) -> bool:
    """Whether a leader may begin a change: the last one is committed and, one at a time, an entry of its own term is.

    Source: thesis 4.1; Ongaro on raft-dev, 10 July 2015, for the term.
    """
    leader = lists.servers[slot]
    if leader.hands_over or (not is_committed and rules.wait_for_change):
        return False
    first_record = lists.leaderships[group.leaderships.start + leader.leadership].first_record
    return not settings.one_at_a_time or leader.commit >= first_record or not rules.own_term_first


@compiled
def next_members(slot: int, members: int, wanted: int) -> int:
    """One server more or less: who is missing first; of those that go the leader itself last."""
    missing, leaving = wanted & ~members, members & ~wanted
    if missing:
        return members | lowest(missing)
    others = leaving & ~(1 << slot)
    return members & ~lowest(others if others else leaving)


@compiled
def lowest(mask: int) -> int:
    """The lowest bit of a mask."""
    return mask & -mask


@compiled
def has_caught_up(lists: Lists, group: Group, settings: Settings, slot: int, joining: int) -> bool:
    """Whether all new servers got what the log had when a catch-up began, and within an election timeout; else another begins.

    Source: thesis 4.2.1, without a limit of how often.
    """
    leader, all_did = lists.servers[slot], True
    for other in range(group.copies):
        if not joining >> other & 1:
            continue
        peer = lists.peers[slot * group.copies + other]
        begins = not leader.joining >> other & 1
        if group.protocol in WITH_FETCHES:
            if begins:
                peer.catch_up_to = NO_LIMIT
                peer.caught_up = 0
            all_did = all_did and peer.caught_up == 1
            continue
        if not begins and peer.match_to >= peer.catch_up_to:
            begins = group.now - peer.catch_up_from > settings.timeout_rounds
            all_did = all_did and not begins
        else:
            all_did = False
        if begins:
            peer.catch_up_to = leader.end
            peer.catch_up_from = group.now
    return all_did


@compiled
def append_configuration(lists: Lists, group: Group, slot: int, before: int, members: int) -> None:
    """The entry with a configuration; the leader goes by it at once."""
    leader = lists.servers[slot]
    new = lists.configurations[append(group.configurations)]
    new.leadership = leader.leadership
    new.entry = leader.end
    new.before = before
    new.members = members
    new.is_committed = 0
    note_appended(lists, group, leader.leadership, leader.end, 0)
    tell(lists, group, CONFIGURATION, slot, leader.term, leader.end, NO_ENTRY, NO_FAULT)
    append_entries(lists, leader, leader.leadership, leader.term, 1)


@compiled
def end_changes(lists: Lists, group: Group, settings: Settings) -> None:
    """A configuration that a leader has committed is told; a leader that is not in it any more steps down, and in kraft says so.

    Source: Raft 6; RemoveVoterHandler.highWatermarkUpdated.
    """
    if group.configurations.count == 0:
        return
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.role != LEADER or not runs(lists, slot):
            continue
        at = last_configuration(lists, group, slot)
        if at == NOBODY:
            continue
        own = lists.configurations[at]
        if own.entry >= leader.commit or own.before != own.members:
            continue
        if not own.is_committed:
            own.is_committed = 1
            tell(lists, group, REASSIGNMENT_COMPLETED, slot, leader.term, own.entry, NO_ENTRY, NO_FAULT)
        if not own.members >> slot & 1:
            follow(lists, group, slot)
            if group.protocol in WITH_FETCHES:
                end_epoch(lists, group, settings, slot)
            leader.leader = NOBODY
