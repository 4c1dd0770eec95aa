"""Step 2 of PacificA: leases of primaries that run out, and secondaries whose grace period has."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import LEADER, NEVER, NOBODY
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import follow, lead
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.pacifica.configuration import propose, reaches_manager
from emulator.rounds.quorums.records import Group, Lists


@compiled
def check_leases(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """A primary removes whom it holds no lease of any more, or is a primary no longer.

    Source: PacificA 2.3: a lease runs from the sending of the last beacon that was acknowledged.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != LEADER or not runs(lists, slot):
            continue
        expired = 0
        for other in range(group.copies):
            if other != slot and group.now - lists.peers[slot * group.copies + other].answered_round >= settings.lease_rounds:
                expired |= 1 << other
        server.joining &= ~expired
        if server.members & expired:
            if reaches_manager(lists, group, slot):
                propose(lists, group, rules, slot, server.members & ~expired)
            elif rules.leases_expire:
                follow(lists, group, slot)


@compiled
def take_over(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """A secondary that has heard nothing for the grace period proposes itself; so does a primary that is none any more.

    Source: PacificA 2.3.
    """
    for slot in range(group.copies):
        server = lists.servers[slot]
        is_member = server.members >> slot & 1 == 1
        if server.role == LEADER or not is_member or not reaches_manager(lists, group, slot):
            continue
        members = server.members
        if server.voted_for != slot:
            if group.now - server.heard_round < settings.timeout_rounds:
                continue
            if server.voted_for != NOBODY:
                members &= ~(1 << server.voted_for)
        if propose(lists, group, rules, slot, members):
            lead(lists, group, slot)
            server.joining = 0
            for other in range(group.copies):
                if not members >> other & 1:
                    lists.peers[slot * group.copies + other].answered_round = NEVER
