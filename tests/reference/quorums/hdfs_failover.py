"""Step 2 of HDFS's quorum journal: the controllers' lock, and fencing."""

from __future__ import annotations

from tests.reference.quorums.elector import gives_up
from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_nodes import stop
from tests.reference.quorums.server import CANDIDATE, LEADER, Server


def fail_over(group: Group) -> None:
    """The lock goes to another one, when its holder has been gone for too long."""
    holder = group.servers[group.primary]
    is_at_work = holder.role in (LEADER, CANDIDATE)
    sees_end = holder.is_heard and holder.has_ended
    if not gives_up(group, holder.is_heard and is_at_work, max(1, group.case.health_rounds) if sees_end else None):
        return
    around = group.servers[holder.id + 1 :] + group.servers[: holder.id + 1]
    new = next((server for server in around if server.is_heard), None)
    if new is not None:
        get_lock(group, new, holder)


def get_lock(group: Group, new: Server, holder: Server) -> None:
    """A server takes over from the holder before; that it wrote before is no end of what it begins now."""
    stop(group, new)
    new.role, new.stage, new.has_ended = CANDIDATE, 0, False
    new.fences = holder.id if holder.has_fenced else holder.fences
    new.has_fenced, new.locked_in = False, group.round
    new.was_reached = can_be_reached(group, new, group.servers[new.fences])
    group.primary, group.elector_heard = new.id, group.round


def can_be_reached(group: Group, new: Server, old: Server) -> bool:
    """Whether there is a machine at the other end."""
    has_power = not old.is_down or old.is_closed
    return has_power and group.is_open(new, old) and group.is_open(old, new)


def has_fenced(group: Group, new: Server) -> bool:
    """Whether a new writer has done with fencing, now or before."""
    new.has_fenced = new.has_fenced or fence(group, new, group.servers[new.fences])
    return new.has_fenced


def fence(group: Group, new: Server, old: Server) -> bool:
    """Whether the old writer is none any more, or was waited for long enough."""
    if old is new:
        return True
    is_at_work = old.role in (LEADER, CANDIDATE)
    if can_be_reached(group, new, old) and not (old.is_paused and is_at_work):
        if is_at_work:
            stop(group, old)
        return True
    limit = group.case.fence_rounds if new.was_reached else 2 * group.case.connect_rounds
    return group.round - new.locked_in >= limit


def stop_without_lock(group: Group) -> None:
    """Behind step 7: controllers that are there again end who lost the lock."""
    for server in group.servers:
        if group.elector_was_up and server.id != group.primary and server.is_heard and server.role in (LEADER, CANDIDATE):
            stop(group, server)
