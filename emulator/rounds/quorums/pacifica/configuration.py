"""PacificA's configurations: what the configuration manager keeps, who may change it, who learns of it."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.quorums.constants import ISR_EXPAND, ISR_SHRINK, UNHEARD
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.lead import follow
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell_of_server


@compiled_into_callers
def reaches_manager(lists: Lists, group: Group, slot: int) -> bool:
    """Whether a server and the configuration manager hear each other."""
    return group.elector_up == 1 and lists.servers[slot].status & UNHEARD == 0


@compiled
def propose(lists: Lists, group: Group, rules: Rules, slot: int, members: int) -> bool:
    """A server proposes a configuration with itself as the primary; whether the manager takes it.

    It does if the server knows the version in force. One that doesn't is told the configuration in force. Source: PacificA 2.3.
    """
    server = lists.servers[slot]
    if group.version != server.term and rules.check_version:
        take_configuration(lists, group, slot)
        return False
    tell_changes(lists, group, slot, members)
    group.version += 1
    group.members = members
    group.primary = slot
    server.term = group.version
    server.members = members
    server.voted_for = slot
    return True


@compiled
def take_configuration(lists: Lists, group: Group, slot: int) -> None:
    """A server learns from the manager what is in force; it is no primary by that."""
    server = lists.servers[slot]
    follow(lists, group, slot)
    server.term = group.version
    server.members = group.members
    server.voted_for = group.primary
    server.heard_round = group.now


@compiled
def tell_changes(lists: Lists, group: Group, slot: int, members: int) -> None:
    """Who leaves the configuration, who joins it."""
    for other in range(group.copies):
        was, comes = group.members >> other & 1, members >> other & 1
        if was and not comes:
            tell_of_server(lists, group, ISR_SHRINK, other, group.version + 1, lists.servers[other].cause)
            group.isr_shrinks += 1
        if comes and not was:
            tell_of_server(lists, group, ISR_EXPAND, other, group.version + 1, lists.servers[slot].cause)
            group.isr_expands += 1
