"""Raft's members, as docs/quorum_rounds.md has them: configurations in logs, changes of them, who has to agree."""

from __future__ import annotations

from collections.abc import Collection

from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import is_awaited
from tests.reference.quorums.server import LEADER, Configuration, Entry, Server


def initial(group: Group) -> Configuration:
    """The members at the start."""
    first = group.case.first_members
    everybody = frozenset(range(group.case.copies if first is None else first))
    return Configuration(everybody, everybody)


def configurations(group: Group, server: Server) -> list[tuple[int, Configuration]]:
    """Those in a server's log, with their entries' numbers; first of all that of the start."""
    own = [(number, entry.configuration) for number, entry in enumerate(server.log) if entry.configuration is not None]
    return [(-1, initial(group)), *own]


def in_force(group: Group, server: Server) -> Configuration:
    """What a server goes by: the last one in its log."""
    return configurations(group, server)[-1][1]


def audience(group: Group, server: Server) -> frozenset[int]:
    """Whom a leader sends to, and a candidate asks."""
    now = in_force(group, server)
    return now.before | now.members | server.joining


def agree(group: Group, server: Server, who: Collection[int]) -> bool:
    """Whether these are the majorities that a server needs."""
    now = in_force(group, server)
    needed = (now.members,) if group.lacks("both_majorities") else (now.before, now.members)
    return all(len(voters & set(who)) > len(voters) / 2 for voters in needed)


def may_stand(group: Group, server: Server) -> bool:
    """Whether a server may ask for votes."""
    known = configurations(group, server)
    number, last = known[-1]
    if server.id in last.before | last.members:
        return True
    if group.case.protocol == "kraft":
        return False
    was_in = any(server.id in one.before | one.members for _, one in known)
    return was_in and number >= server.commit


def wanted(group: Group) -> frozenset[int]:
    """Who is asked for now."""
    asked = [members for round_, members in group.case.changes if round_ <= group.round]
    return frozenset(asked[-1]) if asked else initial(group).members


def change_members(group: Group) -> None:
    """Leaders end what is joint, and begin what they are asked for."""
    if not group.case.changes:
        return
    asked = group.leader_of_clients()
    for leader in group.servers:
        if leader.role == LEADER and leader.runs:
            new, leader.joining = begin_or_end(group, leader, leader is asked), frozenset(leader.to_join)
            if new is not None:
                group.tell("configuration", leader, leader.term, len(leader.log), None, None)
                leader.log.append(Entry(leader.term, leader.election, False, new))
                leader.joining = frozenset()


def begin_or_end(group: Group, leader: Server, is_asked: bool) -> Configuration | None:
    """The configuration that a leader appends now; in `to_join` who is brought up to date first."""
    leader.to_join = set()
    number, now = configurations(group, leader)[-1]
    is_committed = number < leader.commit or number < 0
    if now.before != now.members:
        return Configuration(now.members, now.members) if is_committed else None
    target = wanted(group)
    is_busy = leader.handing_over_since is not None
    if not is_asked or is_busy or target == now.members or not (is_committed or group.lacks("wait_for_change")):
        return None
    one_by_one = group.case.one_at_a_time
    if one_by_one:
        own = [n for n, entry in enumerate(leader.log) if entry.election == leader.election][:1]
        begun_by_entry = leader.election > 0
        if begun_by_entry and leader.commit <= own[0] and not group.lacks("own_term_first"):
            return None
        target = one_step(leader, now.members, target)
    leader.to_join = set(target - now.members)
    if not caught_up(group, leader):
        return None
    return Configuration(target if one_by_one else now.members, target)


def one_step(leader: Server, members: frozenset[int], target: frozenset[int]) -> frozenset[int]:
    """The next set of members on the way to a target, with one server more or less."""
    if target - members:
        return members | {min(target - members)}
    leaving = sorted(members - target, key=lambda server: (server == leader.id, server))
    return members - {leaving[0]}


def caught_up(group: Group, leader: Server) -> bool:
    """Whether who is to join has got what there was when its catch-up began, in the time of an election."""
    if group.case.protocol == "kraft":
        for number in leader.to_join - leader.joining:
            leader.followers[number].end_then, leader.followers[number].has_caught_up = None, False
        return all(leader.followers[number].has_caught_up for number in leader.to_join)
    done = []
    for number in sorted(leader.to_join):
        known = leader.followers[number]
        is_new = number not in leader.joining
        is_there = not is_new and known.match >= known.catch_up_to
        in_time = group.round - known.catch_up_from <= group.case.timeout_rounds
        if is_new or (is_there and not in_time):
            known.catch_up_to, known.catch_up_from = len(leader.log), group.round
        done.append(is_there and in_time)
    return all(done)


def commit_entries(group: Group) -> None:
    """Step 5: the largest end that a majority has, of a joint configuration one of each."""
    for leader in group.servers:
        if leader.role != LEADER or not leader.runs:
            continue
        group.commit_to(leader, agreed_end(group, leader))
    end_changes(group)


def agreed_end(group: Group, leader: Server) -> int:
    """The largest end of which the majorities that a leader needs are known to have all."""
    own = leader.synced if group.case.fsync_rounds else len(leader.log)
    ends = {number: known.match for number, known in leader.followers.items()} | {leader.id: own}
    agreed = [end for end in set(ends.values()) if agree(group, leader, [n for n, has in ends.items() if has >= end])]
    return max(agreed, default=0)


def end_changes(group: Group) -> None:
    """What leaders have committed of configurations."""
    for leader in group.servers:
        if leader.role == LEADER and leader.runs:
            end_change(group, leader)
    group.under_way = [request for request in group.under_way if is_awaited(group, request)]


def end_change(group: Group, leader: Server) -> None:
    """A configuration is committed."""
    number, now = configurations(group, leader)[-1]
    if number < 0 or number >= leader.commit or now.before != now.members:
        return
    entry = (number, leader.log[number])
    if entry not in group.ended:
        group.ended.add(entry)
        group.tell("reassignment_completed", leader, leader.term, number, None, None)
    if leader.id not in now.members:
        group.follow(leader)
        leader.leader = None
