"""Step 4 of PacificA, last part: candidates that have caught up become secondaries."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.pacifica.configuration import propose, reaches_manager
from emulator.rounds.quorums.records import Group, Lists


@compiled
def add_candidates(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Who was sent everything is waited for; who has all that is committed is proposed as a secondary.

    Source: PacificA 2.4 for the candidate; that commits wait for it from then on is our own, as Kafka's maximal ISR.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != LEADER or not runs(lists, slot):
            continue
        ready = 0
        for other in range(group.copies):
            peer = lists.peers[slot * group.copies + other]
            is_there = group.now - peer.answered_round < settings.lease_rounds
            if other == slot or server.members >> other & 1 or not is_there:
                continue
            if peer.next_entry >= server.end:
                server.joining |= 1 << other
            if not rules.catch_up_first or (server.joining >> other & 1 and peer.match_to >= server.commit):
                ready |= 1 << other
        if ready and reaches_manager(lists, group, slot) and propose(lists, group, rules, slot, server.members | ready):
            server.joining &= ~ready
