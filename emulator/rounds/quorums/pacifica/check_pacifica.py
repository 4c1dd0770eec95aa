"""The invariants of the PacificA paper that are of every moment; that of reconfigurations is looked at where a primary begins."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import COMMIT_INVARIANT, LEADER, NO_ENTRY, NOBODY, PRIMARY_INVARIANT
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.log import first_other_term
from emulator.rounds.quorums.records import Group, Lists, Server
from emulator.rounds.quorums.tell import witness


@compiled
def check_pacifica(lists: Lists, group: Group) -> None:
    """PrimaryInvariant and CommitInvariant at a round's end; each is told when it begins not to hold."""
    other_primary, behind, entry = NOBODY, NOBODY, NO_ENTRY
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != LEADER or not runs(lists, slot):
            continue
        if slot != group.primary:
            other_primary = slot
        else:
            for other in range(group.copies):
                if server.members >> other & 1 and other != slot:
                    lacks = first_unlike(lists, group, server, lists.servers[other])
                    if lacks != NO_ENTRY and behind == NOBODY:
                        behind, entry = other, lacks
    note(lists, group, PRIMARY_INVARIANT, other_primary, group.primary, NO_ENTRY)
    note(lists, group, COMMIT_INVARIANT, behind, group.primary, entry)


@compiled
def first_unlike(lists: Lists, group: Group, primary: Server, replica: Server) -> int:
    """The first entry that the primary has committed and a replica has not prepared, or the replica has and it has not.

    NO_ENTRY: there is none. A primary that has not reconciled yet, which means to commit what it began with, promises nothing.
    """
    own = lists.leaderships[group.leaderships.start + primary.leadership]
    if primary.commit <= own.first_entry and primary.leadership > 0:
        return NO_ENTRY
    common = min(primary.commit, replica.end)
    entry = first_other_term(lists, primary, replica, 0, common)
    if entry < primary.commit:
        return entry
    return NO_ENTRY if replica.commit <= primary.commit else primary.commit


@compiled
def note(lists: Lists, group: Group, invariant: int, slot: int, other: int, entry: int) -> None:
    """Tell of an invariant that does not hold, if it did."""
    bit = 1 << invariant
    if slot == NOBODY:
        group.broken &= ~bit
    elif not group.broken & bit:
        witness(lists, group, invariant, slot, other, entry)
        group.broken |= bit
