"""Step 5: what A servers have is committed, if the leader's own term says so."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.latency import note_acknowledged
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.log import end_of_run, term_before
from emulator.rounds.quorums.members import count_of, everybody, voters_of
from emulator.rounds.quorums.records import Group, Lists


@compiled
def advance_commit(lists: Lists, group: Group, settings: Settings, rules: Rules, acks: int) -> None:
    """Every leader commits the largest end that `acks` servers match, its own among them.

    Source: Raft 5.3, 5.4.2 for the term.
    """
    for slot in range(group.copies):
        if lists.servers[slot].role == LEADER and runs(lists, slot):
            commit_to(lists, group, rules, slot, matched_by(lists, group, settings, slot, everybody(group), acks))


@compiled
def commit_to(lists: Lists, group: Group, rules: Rules, slot: int, end: int) -> None:
    """A leader has an end matched: it commits up to there, if the entry before it is of its own term."""
    leader = lists.servers[slot]
    if end > leader.commit and (term_before(lists, leader, end) == leader.term or not rules.own_term_commits):
        leader.commit = end
        note_committed(lists, group, slot)


@compiled
def matched_by(lists: Lists, group: Group, settings: Settings, slot: int, voters: int, acks: int) -> int:
    """The largest end that so many of some servers match with a leader; 0 if there is none."""
    found = 0
    for candidate in range(group.copies):
        if not voters >> candidate & 1:
            continue
        end = matched_to(lists, group, settings, slot, candidate)
        count = 0
        for other in range(group.copies):
            if voters >> other & 1 and matched_to(lists, group, settings, slot, other) >= end:
                count += 1
        if count >= acks and end > found:
            found = end
    return found


@compiled
def agreed_end(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int) -> int:
    """The largest end that the majorities which a leader needs match."""
    before, members = voters_of(lists, group, rules, slot)
    end = matched_by(lists, group, settings, slot, members, count_of(members) // 2 + 1)
    if before != members:
        end = min(end, matched_by(lists, group, settings, slot, before, count_of(before) // 2 + 1))
    return end


@compiled
def matched_to(lists: Lists, group: Group, settings: Settings, slot: int, other: int) -> int:
    """How far another server's log is known to agree with a leader's; its own is its end, or what of it is on disk.

    Source: thesis 10.2.1: a leader's own disk may be the last to have an entry.
    """
    if other == slot and not settings.fsync_rounds:
        return lists.servers[slot].end
    return lists.peers[slot * group.copies + other].match_to


@compiled
def note_committed(lists: Lists, group: Group, slot: int) -> None:
    """What is committed now, of each leadership; records of its own are acknowledged."""
    leader = lists.servers[slot]
    for at in every(leader.runs):
        run = lists.runs[at]
        end = min(end_of_run(lists, leader, at), leader.commit)
        leadership = lists.leaderships[group.leaderships.start + run.leadership]
        leadership.committed_to = max(leadership.committed_to, end)
        if run.leadership == leader.leadership and end > leadership.acked_to:
            from_entry = max(leadership.first_record, leadership.acked_to)
            group.acked += note_acknowledged(lists, group, run.leadership, from_entry, end)
            leadership.acked_to = end
