"""Step 3: clients send records to the leader that they know."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import NOBODY
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.latency import note_appended
from emulator.rounds.quorums.links import leader_of_clients
from emulator.rounds.quorums.log import append_entries
from emulator.rounds.quorums.records import Group, Lists


@compiled
def append_records(lists: Lists, inputs: Inputs, group: Group) -> None:
    """The round's records, at the end of the log of the leader that clients reach; no more than its disk takes.

    None while it hands over.
    """
    group.sent_records = inputs.workload[group.workload].records
    slot = leader_of_clients(lists, group)
    if slot != NOBODY and group.sent_records > 0 and not lists.servers[slot].hands_over:
        server = lists.servers[slot]
        taken = min(group.sent_records, inputs.settings[group.settings].records_limit)
        group.refused += group.sent_records - taken
        note_appended(lists, group, server.leadership, server.end, taken)
        leadership = lists.leaderships[group.leaderships.start + server.leadership]
        append_entries(lists, server, server.leadership, leadership.term, taken)
        group.appended += taken
