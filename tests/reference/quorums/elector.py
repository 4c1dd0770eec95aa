"""The elector of `quorum` and of a primary with backups: whether it is there, and whom it hears."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.server import LEADER


def gives_up_leader(group: Group) -> bool:
    """Whether it is there and has not heard whom it elected last for too long."""
    term, number, _ = group.elections[-1]
    leader = group.servers[number]
    return gives_up(group, leader.is_heard and leader.role == LEADER and leader.term == term)


def gives_up(group: Group, is_heard: bool, timeout: int | None = None) -> bool:
    """The same of whoever it chose, heard in this round or not; after another timeout than an election's where one is given."""
    is_up = not any(f.kind == "controller_loss" and group.in_force(f) for f in group.case.faults)
    if is_up and not group.elector_was_up:
        group.elector_heard = group.round
    group.elector_was_up = is_up
    if not is_up:
        return False
    if is_heard:
        group.elector_heard = group.round
        return False
    return group.round - group.elector_heard >= (group.case.timeout_rounds if timeout is None else timeout)
