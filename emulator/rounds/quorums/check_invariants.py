"""The invariants of figure 3 of the Raft paper, where what they speak of changes."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import (
    ELECTION_SAFETY,
    LEADER_COMPLETENESS,
    LOG_MATCHING,
    NO_ENTRY,
    NOBODY,
    STATE_MACHINE_SAFETY,
)
from emulator.rounds.quorums.log import end_of_run, first_other_entry, last_shared_term, run_of
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import witness


@compiled
def check_election(lists: Lists, group: Group, slot: int) -> None:
    """A server is about to lead in its term: nobody else did, and it has all that was committed before."""
    server = lists.servers[slot]
    other = leader_of_term(lists, group, server.term)
    if other != NOBODY:
        witness(lists, group, ELECTION_SAFETY, slot, other, NO_ENTRY)
    missing = NO_ENTRY
    for at in every(group.leaderships):
        lacks = first_lacking(lists, group, slot, at)
        if lacks != NO_ENTRY and (missing == NO_ENTRY or lacks < missing):
            missing = lacks
    if missing != NO_ENTRY:
        witness(lists, group, LEADER_COMPLETENESS, slot, NOBODY, missing)


@compiled
def leader_of_term(lists: Lists, group: Group, term: int) -> int:
    """Who led in a term already, NOBODY."""
    for at in every(group.leaderships):
        if lists.leaderships[at].term == term:
            return lists.leaderships[at].slot
    return NOBODY


@compiled
def first_lacking(lists: Lists, group: Group, slot: int, at: int) -> int:
    """The first committed entry of the leadership at a place of the list that a server's log lacks; NO_ENTRY."""
    leadership, server = lists.leaderships[at], lists.servers[slot]
    if leadership.committed_to <= leadership.first_entry:
        return NO_ENTRY
    run = run_of(lists, server, at - group.leaderships.start)
    if run == NOBODY or lists.runs[run].first_entry > leadership.first_entry:
        return leadership.first_entry
    end = end_of_run(lists, server, run)
    return end if end < leadership.committed_to else NO_ENTRY


@compiled
def check_invariants(lists: Lists, group: Group) -> None:
    """LogMatching where a log has other runs than before, StateMachineSafety where something is newly known as committed."""
    changes = 0
    for slot in range(group.copies):
        changes += lists.servers[slot].runs.changes
    if changes != group.log_changes:
        check_log_matching(lists, group)
        group.log_changes = changes
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.commit != server.checked_commit:
            if server.commit > server.checked_commit:
                check_committed(lists, group, slot)
            server.checked_commit = server.commit


@compiled
def check_log_matching(lists: Lists, group: Group) -> None:
    """Of any two logs: below an entry that both have with one term, they are the same."""
    broken = False
    for slot in range(group.copies):
        for other in range(slot + 1, group.copies):
            one, another = lists.servers[slot], lists.servers[other]
            shared = last_shared_term(lists, one, another)
            entry = first_other_entry(lists, one, another, shared)
            if entry < shared:
                if not group.broken & 1 << LOG_MATCHING and not broken:
                    witness(lists, group, LOG_MATCHING, slot, other, entry)
                broken = True
    group.broken = group.broken | 1 << LOG_MATCHING if broken else group.broken & ~(1 << LOG_MATCHING)


@compiled
def check_committed(lists: Lists, group: Group, slot: int) -> None:
    """What a server knows as committed was committed by a leader, and nothing else with its number was."""
    server = lists.servers[slot]
    for at in every(server.runs):
        run = lists.runs[at]
        end = min(end_of_run(lists, server, at), server.commit)
        if end <= run.first_entry or end <= server.checked_commit:
            continue
        first = max(run.first_entry, server.checked_commit)
        entry = first_contradicted(lists, group, run.leadership, first, end)
        if entry != NO_ENTRY:
            witness(lists, group, STATE_MACHINE_SAFETY, slot, NOBODY, entry)
            return


@compiled
def first_contradicted(lists: Lists, group: Group, number: int, first: int, end: int) -> int:
    """The first of a leadership's entries [first, end) that no leader committed, or beside which another one was; NO_ENTRY."""
    committed_to = lists.leaderships[group.leaderships.start + number].committed_to
    found = max(first, committed_to) if committed_to < end else end
    for at in every(group.leaderships):
        other = lists.leaderships[at]
        begin = max(first, other.first_entry)
        if at - group.leaderships.start != number and begin < min(end, other.committed_to):
            found = min(found, begin)
    return found if found < end else NO_ENTRY
