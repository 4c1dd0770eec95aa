"""The elector outside a group, of quorum and primary-backup: whether it has given up who it elected last."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.lists import last
from emulator.rounds.quorums.constants import LEADER, UNHEARD
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.records import Group, Lists


@compiled
def gives_up_leader(lists: Lists, group: Group, settings: Settings) -> bool:
    """Whether the elector is there and has not heard the leader that it elected last for the timeout."""
    if not group.elector_up:
        return False
    leadership = lists.leaderships[last(group.leaderships)]
    leader = lists.servers[leadership.slot]
    if leader.role == LEADER and leader.term == leadership.term and leader.status & UNHEARD == 0:
        group.elector_heard = group.now
        return False
    return group.now - group.elector_heard >= settings.timeout_rounds
