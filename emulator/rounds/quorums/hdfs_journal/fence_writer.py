"""Step 3 of hdfs-journal, before the first call: the failover controller of a new writer has the old one stop."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import FOLLOWER, NO_POWER, NOBODY, PAUSED
from emulator.rounds.quorums.hdfs_journal.fencing import stop_writing
from emulator.rounds.quorums.links import are_apart
from emulator.rounds.quorums.records import Group, Lists


@compiled
def has_fenced(lists: Lists, group: Group, slot: int) -> bool:
    """Whether a new writer has done with fencing, maybe in this round; whom it reaches stops.

    Source: FailoverController.tryGracefulFence; ZKFailoverController.doFence, with a method that does nothing (our own).
    """
    server = lists.servers[slot]
    if server.to_fence == NOBODY:
        return True
    other = server.to_fence
    old = lists.servers[other]
    gives_sign = can_be_reached(lists, slot, other) and (old.status & PAUSED == 0 or old.role == FOLLOWER)
    if other != slot and not gives_sign and group.now - server.lock_round < server.fence_rounds:
        return False
    if other != slot and gives_sign:
        stop_writing(lists, group, other)
    server.to_fence = NOBODY
    return True


@compiled
def can_be_reached(lists: Lists, slot: int, other: int) -> bool:
    """Whether a server's machine takes a connection from another one's: not without power, nor over a link that is cut."""
    one, old = lists.servers[slot], lists.servers[other]
    is_cut = one.cut_to >> other & 1 or old.cut_to >> slot & 1
    return not are_apart(one, old) and old.status & NO_POWER == 0 and not is_cut
