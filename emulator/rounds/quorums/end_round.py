"""Step 6: flush, checks, counts; and what tables tell at a run's end."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.leaps import is_due
from emulator.rounds.lists import every, last
from emulator.rounds.quorums.check_invariants import check_invariants
from emulator.rounds.quorums.constants import LEADER, LEADER_LOST, NEVER_FLUSHED, NOBODY, RECOVERING
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.links import leader_of_clients, runs
from emulator.rounds.quorums.log import end_of_run, run_of
from emulator.rounds.quorums.members import configurations_among, everybody, last_configuration
from emulator.rounds.quorums.protocols import WITH_VOTES
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell_of_server


@compiled
def end_round(lists: Lists, group: Group, settings: Settings) -> None:
    """Step 6, what every protocol's round ends with."""
    if settings.flush_ms != NEVER_FLUSHED and is_due(group.now, settings.round_ms, settings.flush_ms):
        for slot in range(group.copies):
            server = lists.servers[slot]
            if runs(lists, slot):
                if settings.fsync_rounds and server.role == LEADER:
                    server.flushed_to = max(server.flushed_to, lists.peers[slot * group.copies + slot].match_to)
                else:
                    server.flushed_to = server.end
    check_invariants(lists, group)
    count_outcomes(lists, group)
    group.messages.changes = 0  # what is under way moves on, and is compared by itself
    group.now += 1


@compiled
def count_outcomes(lists: Lists, group: Group) -> None:
    """What a round adds to the group's outcomes."""
    slot, unacked = leader_of_clients(lists, group), 0
    if slot == NOBODY:
        group.leaderless_rounds += 1
        if group.served != NOBODY:
            was = lists.servers[group.served]
            tell_of_server(lists, group, LEADER_LOST, group.served, was.term, was.cause)
    else:
        server = lists.servers[slot]
        leadership = lists.leaderships[group.leaderships.start + server.leadership]
        first = max(leadership.acked_to, leadership.first_record)
        unacked = server.end - first - configurations_among(lists, group, server.leadership, first, server.end)
    group.served = slot
    group.unacked = unacked
    group.unacked_rounds += unacked
    if group.members != (1 << group.copies) - 1:
        group.under_replicated_rounds += 1
    if group.acked == group.acked_before and (unacked > 0 or group.sent_records > 0):
        group.unwritable_rounds += 1


@compiled
def finish(lists: Lists, group: Group) -> None:
    """Acknowledged and committed records that the log of the leader elected last lacks at the run's end."""
    server = lists.servers[lists.leaderships[last(group.leaderships)].slot]
    if server.role == RECOVERING:  # without a disk it has nothing; others may
        for slot in range(group.copies):
            other = lists.servers[slot]
            if other.log_term > server.log_term or (other.log_term == server.log_term and other.end > server.end):
                server = lists.servers[slot]
    group.acked_lost = 0
    group.committed_lost = 0
    for at in every(group.leaderships):
        leadership = lists.leaderships[at]
        had_from, had_to = 0, 0
        run = run_of(lists, server, at - group.leaderships.start)
        if run != NOBODY:
            had_from, had_to = lists.runs[run].first_entry, end_of_run(lists, server, run)
        group.acked_lost += missing(lists, group, at, leadership.acked_to, had_from, had_to)
        group.committed_lost += missing(lists, group, at, leadership.committed_to, had_from, had_to)
    group.voters = everybody(group)
    if group.protocol in WITH_VOTES:
        at = last_configuration(lists, group, lists.leaderships[last(group.leaderships)].slot)
        group.voters = group.initial if at == NOBODY else lists.configurations[at].members


@compiled
def missing(lists: Lists, group: Group, at: int, end: int, had_from: int, had_to: int) -> int:
    """How many records of the leadership at a place of the list, below an end, are outside [had_from, had_to)."""
    number, first = at - group.leaderships.start, lists.leaderships[at].first_record
    if end <= first:
        return 0
    from_entry, to_entry = max(first, had_from), min(end, had_to)
    count = end - first - configurations_among(lists, group, number, first, end)
    if from_entry < to_entry:
        count -= to_entry - from_entry - configurations_among(lists, group, number, from_entry, to_entry)
    return count
