"""The elector outside a group, of quorum, primary-backup and hdfs-journal: whether it has given up who it elected last."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import last
from emulator.rounds.quorums.constants import LEADER, UNHEARD
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.records import Group, Lists


@compiled
def gives_up_leader(lists: Lists, group: Group, settings: Settings) -> bool:
    """Whether the elector is there and has not heard the leader that it elected last for the timeout."""
    leadership = lists.leaderships[last(group.leaderships)]
    leader = lists.servers[leadership.slot]
    leads = leader.role == LEADER and leader.term == leadership.term
    return gives_up(group, settings.timeout_rounds, leads and leader.status & UNHEARD == 0)


@compiled
def gives_up(group: Group, timeout_rounds: int, is_heard: bool) -> bool:
    """The same of whoever it chose, heard in this round or not."""
    if not group.elector_up:
        return False
    if is_heard:
        group.elector_heard = group.now
        return False
    return group.now - group.elector_heard >= timeout_rounds
