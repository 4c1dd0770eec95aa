"""Step 2 of hdfs-journal: failover controllers outside the group say who is to write."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, NOBODY, UNHEARD
from emulator.rounds.quorums.elector import gives_up
from emulator.rounds.quorums.hdfs_journal.fence_writer import can_be_reached
from emulator.rounds.quorums.hdfs_journal.fencing import stop_writing
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.primary_backup.fail_over import next_heard
from emulator.rounds.quorums.records import Group, Lists


@compiled
def name_writer(lists: Lists, group: Group, settings: Settings) -> None:
    """Who holds their lock writes, or takes over; else the next server in the order that is heard gets it, and is to fence.

    Source: ZKFailoverController, with ActiveStandbyElector; the order is our own.
    """
    holder = lists.servers[group.primary]
    is_heard = holder.role != FOLLOWER and holder.status & UNHEARD == 0
    if not gives_up(group, lock_timeout(lists, group, settings), is_heard):
        return
    slot = next_heard(lists, group, group.primary)
    if slot != NOBODY:
        get_lock(lists, group, settings, slot)


@compiled
def lock_timeout(lists: Lists, group: Group, settings: Settings) -> int:
    """Rounds after which the holder loses the lock: its session, or a check of its health where its NameNode has ended.

    Source: HealthMonitor.doHealthChecks; ZKFailoverController.recheckElectability.
    """
    holder = lists.servers[group.primary]
    if holder.has_ended and holder.status & UNHEARD == 0:
        return settings.check_rounds
    return settings.timeout_rounds


@compiled
def get_lock(lists: Lists, group: Group, settings: Settings, slot: int) -> None:
    """A server takes over. It is to fence the holder before, or whom that one had not done with.

    Source: ActiveStandbyElector, fenceOldActive, whose breadcrumb is of the last one that had fenced.
    """
    before, server = lists.servers[group.primary], lists.servers[slot]
    to_fence = group.primary if before.to_fence == NOBODY else before.to_fence
    stop_writing(lists, group, slot)
    server.role = CANDIDATE
    server.stage = 0
    server.has_ended = 0
    server.lock_round = group.now
    server.to_fence = to_fence
    server.fence_rounds = settings.fence_rounds if can_be_reached(lists, slot, to_fence) else 2 * settings.connect_rounds
    group.primary = slot
    group.elector_heard = group.now


@compiled
def stop_without_lock(lists: Lists, group: Group) -> None:
    """Behind step 7: who writes or takes over without the lock, and is heard, stops.

    Source: ActiveStandbyElector, becomeStandby; that it does in that round is our own.
    """
    if not group.elector_up:
        return
    for slot in range(group.copies):
        server = lists.servers[slot]
        if slot != group.primary and server.role != FOLLOWER and server.status & UNHEARD == 0:
            stop_writing(lists, group, slot)
