"""Step 2 of hdfs-journal: failover controllers outside the group say who is to write."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, NOBODY, UNHEARD
from emulator.rounds.quorums.elector import gives_up
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.lead import stop_leading
from emulator.rounds.quorums.primary_backup.fail_over import next_heard
from emulator.rounds.quorums.records import Group, Lists


@compiled
def name_writer(lists: Lists, group: Group, settings: Settings) -> None:
    """Who holds their lock writes, or takes over; else the next server in the order that is heard gets it.

    Source: ZKFailoverController, from memory; the order is our own. Nobody fences the old writer but the journal nodes.
    """
    holder = lists.servers[group.primary]
    if not gives_up(group, settings, holder.role != FOLLOWER and holder.status & UNHEARD == 0):
        return
    slot = next_heard(lists, group, group.primary)
    if slot != NOBODY:
        stop_leading(lists, group, slot)
        lists.servers[slot].role = CANDIDATE
        lists.servers[slot].stage = 0
        group.primary = slot
        group.elector_heard = group.now
