"""Who the members of a group are, as a server's log has it, and what a majority of them is.

A *configuration* is an entry of a log. A server goes by the last one in its log, committed or not. A *joint* one has two sets of
members, and needs a majority of both.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import MAX_SERVERS, NOBODY
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.log import end_of_run, run_of
from emulator.rounds.quorums.protocols import WITH_FETCHES
from emulator.rounds.quorums.records import Configuration, Group, Lists


@compiled
def last_configuration(lists: Lists, group: Group, slot: int) -> int:
    """Where the last configuration in a server's log is among the group's; NOBODY: that of the start holds.

    Source: Raft 6: a server uses the latest configuration in its log, whether it is committed or not.
    """
    found = NOBODY
    for at in every(group.configurations):
        own = lists.configurations[at]
        if (found == NOBODY or own.entry > lists.configurations[found].entry) and has_configuration(lists, slot, own):
            found = at
    return found


@compiled
def has_configuration(lists: Lists, slot: int, configuration: Configuration) -> bool:
    """Whether a server's log has the entry with a configuration."""
    server = lists.servers[slot]
    run = run_of(lists, server, configuration.leadership)
    return run != NOBODY and lists.runs[run].first_entry <= configuration.entry < end_of_run(lists, server, run)


@compiled
def voters_of(lists: Lists, group: Group, rules: Rules, slot: int) -> tuple[int, int]:
    """Masks of the members whose majorities a server needs: of a joint configuration old and new ones, else twice the same.

    Source: Raft 6, joint consensus.
    """
    at = last_configuration(lists, group, slot)
    if at == NOBODY:
        return group.initial, group.initial
    own = lists.configurations[at]
    return (own.before if rules.both_majorities else own.members), own.members


@compiled
def audience_of(lists: Lists, group: Group, slot: int) -> int:
    """Mask of those whom a leader sends entries, and a candidate asks: the members, and new servers that are not yet."""
    at = last_configuration(lists, group, slot)
    members = group.initial
    if at != NOBODY:
        members = lists.configurations[at].before | lists.configurations[at].members
    return members | lists.servers[slot].joining


@compiled_into_callers
def everybody(group: Group) -> int:
    """Mask of all servers."""
    return (1 << group.copies) - 1


@compiled
def count_of(mask: int) -> int:
    """How many are in a mask."""
    count = 0
    for slot in range(MAX_SERVERS):
        count += mask >> slot & 1
    return count


@compiled
def is_majority(mask: int, voters: int) -> bool:
    """Whether more than half of some servers are in a mask."""
    return 2 * count_of(mask & voters) > count_of(voters)


@compiled
def agree(lists: Lists, group: Group, rules: Rules, slot: int, mask: int) -> bool:
    """Whether those in a mask are the majorities that a server needs."""
    before, members = voters_of(lists, group, rules, slot)
    return is_majority(mask, before) and is_majority(mask, members)


@compiled
def may_stand(lists: Lists, group: Group, slot: int) -> bool:
    """Whether a server is a member by its log, or was one and does not know that what took it out is committed.

    Source: thesis 4.2.2: it may be needed until then.
    """
    at = last_configuration(lists, group, slot)
    if at == NOBODY:
        return group.initial >> slot & 1 == 1
    last, was = lists.configurations[at], group.initial
    if (last.before | last.members) >> slot & 1:
        return True
    if group.protocol in WITH_FETCHES:  # KIP-853: who is no voter by its log is an observer
        return False
    for other in every(group.configurations):
        own = lists.configurations[other]
        if has_configuration(lists, slot, own):
            was |= own.before | own.members
    return was >> slot & 1 == 1 and last.entry >= lists.servers[slot].commit


@compiled
def configurations_among(lists: Lists, group: Group, leadership: int, from_entry: int, to_entry: int) -> int:
    """How many entries [from_entry, to_entry) of a leadership are configurations, and no records."""
    count = 0
    for at in every(group.configurations):
        own = lists.configurations[at]
        if own.leadership == leadership and from_entry <= own.entry < to_entry:
            count += 1
    return count
