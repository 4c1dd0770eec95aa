"""A server's log becomes another one's: NEWLEADER of zab."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NOBODY, STATE_MACHINE_SAFETY, TRUNCATE
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import cause_of_election
from emulator.rounds.quorums.log import copy_entries, cut, first_other_entry
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell, witness


@compiled
def take_history(lists: Lists, group: Group, rules: Rules, slot: int, other: int, to_entry: int) -> None:
    """What of a log is not in another one's is cut (TRUNC), the rest of that is copied up to an end (DIFF, SNAP).

    Source: Zab, f.2.1: h becomes the initial history.
    """
    server, source = lists.servers[slot], lists.servers[other]
    common = first_other_entry(lists, server, source, min(server.end, source.end))
    take_behind(lists, group, rules, slot, other, common, to_entry)


@compiled
def take_behind(lists: Lists, group: Group, rules: Rules, slot: int, other: int, common: int, to_entry: int) -> None:
    """The same of two logs of which it is known up to where they are to stay the same."""
    server, source = lists.servers[slot], lists.servers[other]
    if common < server.end and rules.cut_history:
        if common < server.commit:
            witness(lists, group, STATE_MACHINE_SAFETY, slot, NOBODY, common)
        cause = (
            lists.leaderships[group.leaderships.start + source.leadership].cause
            if source.role == LEADER
            else (cause_of_election(lists, group, slot))
        )
        tell(lists, group, TRUNCATE, slot, server.term, server.end, common, cause)
        group.truncated += server.end - common
        cut(lists, server, common)
    before = server.end
    copy_entries(lists, server, source, to_entry)
    group.sent_entries += server.end - before
