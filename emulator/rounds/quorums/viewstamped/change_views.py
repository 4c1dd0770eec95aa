"""Step 2 of viewstamped: backups that hear no primary change the view, and the most recent of a quorum's logs begins it."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CAMPAIGN, CANDIDATE, LEADER, RECOVERING
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import begin_leadership, follow
from emulator.rounds.quorums.links import gets_through, runs
from emulator.rounds.quorums.members import count_of
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_history import take_history
from emulator.rounds.quorums.tell import tell_of_server


@compiled
def change_views(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """STARTVIEWCHANGE, DOVIEWCHANGE and the new primary.

    Source: VR revisited, 4.2.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        is_backup = server.role != LEADER and server.role != RECOVERING and runs(lists, slot)
        if is_backup and group.now - server.heard_round >= settings.timeout_rounds:
            begin_view_change(lists, group, slot, server.term + 1)
    anybody = False
    for slot in range(group.copies):
        server = lists.servers[slot]
        server.votes = 0
        server.changes = 0
        server.asked_term = server.term if server.role == CANDIDATE and runs(lists, slot) else 0
        anybody = anybody or server.asked_term > 0
    if anybody:
        start_view_changes(lists, group)
        do_view_changes(lists, group)
        for slot in range(group.copies):
            start_view(lists, group, rules, slot)


@compiled
def primary_of(group: Group, view: int) -> int:
    """Who leads a view: the servers in turn."""
    return (view - 1) % group.copies


@compiled
def begin_view_change(lists: Lists, group: Group, slot: int, view: int) -> None:
    """A server goes on to a newer view, whose status is view-change."""
    server = lists.servers[slot]
    leave_view(lists, group, slot)
    server.role = CANDIDATE
    server.term = view
    server.heard_round = group.now
    server.votes = 0
    server.changes = 0


@compiled
def leave_view(lists: Lists, group: Group, slot: int) -> None:
    """A primary steps down; one that was to be it, and was not, has stood in vain."""
    server = lists.servers[slot]
    if server.role == CANDIDATE and primary_of(group, server.term) == slot:
        tell_of_server(lists, group, CAMPAIGN, slot, server.term, server.cause)
        group.campaigns += 1
    follow(lists, group, slot)


@compiled
def start_view_changes(lists: Lists, group: Group) -> None:
    """STARTVIEWCHANGE of all that are in a view change as the round begins; who is behind joins it."""
    for slot in range(group.copies):
        view = lists.servers[slot].asked_term
        for other in range(group.copies):
            server = lists.servers[other]
            if view and other != slot and server.role != RECOVERING and gets_through(lists, slot, other):
                if server.term < view:
                    begin_view_change(lists, group, other, view)
                if server.term == view and server.role == CANDIDATE:
                    server.votes |= 1 << slot


@compiled
def do_view_changes(lists: Lists, group: Group) -> None:
    """DOVIEWCHANGE of those that a quorum less themselves told of their view, to its primary."""
    for slot in range(group.copies):
        server = lists.servers[slot]
        primary = primary_of(group, server.term) if server.term > 0 else slot
        new = lists.servers[primary]
        if server.role != CANDIDATE or primary == slot or new.role == RECOVERING:
            continue
        if count_of(server.votes) >= group.copies // 2 and gets_through(lists, slot, primary):
            if new.term < server.term:
                begin_view_change(lists, group, primary, server.term)
            if new.term == server.term and new.role == CANDIDATE:
                new.changes |= 1 << slot


@compiled
def start_view(lists: Lists, group: Group, rules: Rules, slot: int) -> None:
    """A quorum's DOVIEWCHANGE, its own among them: the log of the last normal view, the longest of those, is the new one."""
    server = lists.servers[slot]
    if server.role != CANDIDATE or not runs(lists, slot) or primary_of(group, server.term) != slot:
        return
    if count_of(server.changes) < group.copies // 2 and rules.quorum_of_changes:
        return
    best, commit = slot, server.commit
    for other in range(group.copies):
        if server.changes >> other & 1:
            commit = max(commit, lists.servers[other].commit)
            if rules.compare_logs and is_newer(lists, rules, other, best):
                best = other
    if best != slot:
        take_history(lists, group, rules, slot, best, lists.servers[best].end)
    server.log_term = server.term
    server.commit = max(server.commit, min(commit, server.end))
    begin_leadership(lists, group, slot, 0)
    for other in range(group.copies):
        lists.peers[slot * group.copies + other].match_to = 0


@compiled
def is_newer(lists: Lists, rules: Rules, one: int, other: int) -> bool:
    """Whether a log is of a later normal view than another one, or longer in the same."""
    server, than = lists.servers[one], lists.servers[other]
    if server.log_term != than.log_term and rules.current_epoch_first:
        return server.log_term > than.log_term
    return server.end > than.end
