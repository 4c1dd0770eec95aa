"""A server's log: runs of entries, each of one leadership."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import append, every, keep_first
from emulator.rounds.quorums.constants import NOBODY
from emulator.rounds.quorums.records import Lists, Server


@compiled_into_callers
def end_of_run(lists: Lists, server: Server, at: int) -> int:
    """The end of a run of a server's log."""
    if at + 1 < server.runs.start + server.runs.count:
        return lists.runs[at + 1].first_entry
    return server.end


@compiled
def run_with(lists: Lists, server: Server, entry: int) -> int:
    """Where the run with an entry is; the log must have it."""
    at = server.runs.start + server.runs.count - 1
    while lists.runs[at].first_entry > entry:
        at -= 1
    return at


@compiled
def term_before(lists: Lists, server: Server, end: int) -> int:
    """The term of the last entry below an end that the log has; 0 for none."""
    if end <= 0:
        return 0
    return lists.runs[run_with(lists, server, end - 1)].term


@compiled
def is_as_complete(lists: Lists, one: Server, other: Server) -> bool:
    """Whether one log is at least as complete as another: the last term decides, then the length.

    Source: Raft 5.4.1.
    """
    own, its = term_before(lists, one, one.end), term_before(lists, other, other.end)
    return own > its or (own == its and one.end >= other.end)


@compiled
def end_up_to_term(lists: Lists, server: Server, limit: int, term: int) -> int:
    """The largest end, not above a limit or the log's own, whose last entry's term is not above `term`; 0: there is none."""
    at = server.runs.start + server.runs.count - 1
    while at >= server.runs.start:
        run = lists.runs[at]
        if run.first_entry < limit and run.term <= term:
            return min(limit, end_of_run(lists, server, at))
        at -= 1
    return 0


@compiled
def first_other_term(lists: Lists, one: Server, other: Server, from_entry: int, to_entry: int) -> int:
    """The first entry of a range, which both logs have, that is of different terms in them; `to_entry` if none is."""
    if from_entry >= to_entry:
        return to_entry
    at, of_other = run_with(lists, one, from_entry), run_with(lists, other, from_entry)
    entry = from_entry
    while entry < to_entry:
        if lists.runs[at].term != lists.runs[of_other].term:
            return entry
        end, end_of_other = end_of_run(lists, one, at), end_of_run(lists, other, of_other)
        entry = min(end, end_of_other)
        at += end == entry
        of_other += end_of_other == entry
    return to_entry


@compiled
def first_other_entry(lists: Lists, one: Server, other: Server, to_entry: int) -> int:
    """The first entry below an end, which both logs have, that is not the same one in them; `to_entry` if all are."""
    at, of_other = one.runs.start, other.runs.start
    entry = 0
    while entry < to_entry:
        if lists.runs[at].leadership != lists.runs[of_other].leadership:
            return entry
        end, end_of_other = end_of_run(lists, one, at), end_of_run(lists, other, of_other)
        entry = min(end, end_of_other)
        at += end == entry
        of_other += end_of_other == entry
    return to_entry


@compiled
def last_shared_term(lists: Lists, one: Server, other: Server) -> int:
    """The end behind the last entry whose number and term both logs have; 0: there is none."""
    entry = min(one.end, other.end) - 1
    if entry < 0:
        return 0
    at, of_other = run_with(lists, one, entry), run_with(lists, other, entry)
    while lists.runs[at].term != lists.runs[of_other].term:
        first, first_of_other = lists.runs[at].first_entry, lists.runs[of_other].first_entry
        entry = max(first, first_of_other) - 1
        if entry < 0:
            return 0
        at -= first > entry
        of_other -= first_of_other > entry
    return entry + 1


@compiled
def append_entries(lists: Lists, server: Server, leadership: int, term: int, count: int) -> None:
    """New entries of a leadership at a log's end."""
    if count <= 0:
        return
    last = server.runs.start + server.runs.count - 1
    if server.runs.count == 0 or lists.runs[last].leadership != leadership:
        run = lists.runs[append(server.runs)]
        run.first_entry = server.end
        run.leadership = leadership
        run.term = term
    server.end += count


@compiled
def copy_entries(lists: Lists, server: Server, leader: Server, to_entry: int) -> None:
    """Append the leader's entries from a log's end on, up to an end."""
    if server.end >= to_entry:
        return
    for at in range(run_with(lists, leader, server.end), leader.runs.start + leader.runs.count):
        run = lists.runs[at]
        count = min(to_entry, end_of_run(lists, leader, at)) - server.end
        if count <= 0:
            return
        append_entries(lists, server, run.leadership, run.term, count)


@compiled
def cut(lists: Lists, server: Server, end: int) -> None:
    """Cut a log: its new end."""
    if end >= server.end:
        return
    kept = 0
    for at in every(server.runs):
        if lists.runs[at].first_entry < end:
            kept += 1
    keep_first(server.runs, kept)
    server.end = end
    server.flushed_to = min(server.flushed_to, end)
    server.commit = min(server.commit, end)


@compiled
def run_of(lists: Lists, server: Server, leadership: int) -> int:
    """Where the run of a leadership is in a log; NOBODY: it has none of its entries."""
    for at in every(server.runs):
        if lists.runs[at].leadership == leadership:
            return at
    return NOBODY
