"""Who reaches whom in a round."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.quorums.constants import DOWN, ISOLATED, LEADER, NO_ISLAND, NO_POWER, NOBODY, NOT_RUNNING, UNSERVED
from emulator.rounds.quorums.records import Group, Lists, Server


@compiled_into_callers
def gets_through(lists: Lists, sender: int, receiver: int) -> bool:
    """Whether a message from one server to another arrives."""
    one, other = lists.servers[sender], lists.servers[receiver]
    if (one.status | other.status) & NOT_RUNNING or are_apart(one, other):
        return False
    return one.cut_to >> receiver & 1 == 0


@compiled_into_callers
def are_apart(one: Server, other: Server) -> bool:
    """Whether an isolation is between two servers: of either, unless it is that of both's rack and no other."""
    if (one.status | other.status) & ISOLATED == 0:
        return False
    return one.island == NO_ISLAND or one.island != other.island


@compiled_into_callers
def runs(lists: Lists, slot: int) -> bool:
    """Whether a server's process does something."""
    return lists.servers[slot].status & NOT_RUNNING == 0


@compiled
def sees_closed(lists: Lists, slot: int, other: int) -> bool:
    """Whether a server is told by another one's machine, which closes its connections, that the process is gone."""
    gone = lists.servers[other]
    is_closed = gone.status & (DOWN | NO_POWER) == DOWN
    return is_closed and not are_apart(gone, lists.servers[slot]) and gone.cut_to >> slot & 1 == 0


@compiled
def answered_by(lists: Lists, group: Group, slot: int, rounds: int) -> int:
    """Mask of who answered a leader within so many rounds, itself among them."""
    answered = 1 << slot
    for other in range(group.copies):
        if group.now - lists.peers[slot * group.copies + other].answered_round < rounds:
            answered |= 1 << other
    return answered


@compiled
def leader_of_clients(lists: Lists, group: Group) -> int:
    """The leader of the newest term that runs and that clients reach; NOBODY."""
    found = NOBODY
    for slot in range(group.copies):
        server = lists.servers[slot]
        is_newest = found == NOBODY or server.term > lists.servers[found].term
        if server.role == LEADER and server.status & UNSERVED == 0 and is_newest:
            found = slot
    return found
