"""Step 1: faults begin and end; what is lost with a process, with power, with a disk."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import keep_first
from emulator.rounds.quorums.constants import (
    DISK_LOST,
    DOWN,
    FOLLOWER,
    FOREVER,
    LOG_DAMAGED,
    NEVER,
    NOBODY,
    POWER_LOST,
    RECOVERING,
)
from emulator.rounds.quorums.flight import give_up_fetches
from emulator.rounds.quorums.hdfs_journal.fall_out import lose_connections
from emulator.rounds.quorums.inputs import Inputs, Rules
from emulator.rounds.quorums.log import cut
from emulator.rounds.quorums.protocols import ON_DISK, WITH_FETCHES, WITH_PROMISES, WITH_SEGMENTS
from emulator.rounds.quorums.records import Group, Lists, Server
from emulator.rounds.quorums.tell import tell_of_disk


@compiled
def begin_round(lists: Lists, inputs: Inputs, group: Group, rules: Rules) -> bool:
    """What every protocol's round begins with; whether an input of the group changes in it."""
    group.acked_before = group.acked
    if group.now < group.next_change:
        return False
    take_inputs(lists, inputs, group, rules)
    return True


@compiled
def take_inputs(lists: Lists, inputs: Inputs, group: Group, rules: Rules) -> None:
    """Step 1; only in rounds in which an input of the group changes."""
    for slot in range(group.copies):
        server = lists.servers[slot]
        before = server.status
        while inputs.server_spans[server.span + 1].from_round <= group.now:
            server.span += 1
        span = inputs.server_spans[server.span]
        happens = span.status if span.from_round == group.now else span.status & ~(POWER_LOST | DISK_LOST)
        server.status = happens
        server.cause = span.cause
        server.island = span.island
        if happens & DOWN and not before & DOWN:
            forget_memory(server, group.protocol)
            give_up_fetches(lists, group, slot)
            if group.protocol in WITH_SEGMENTS:
                lose_connections(lists, group, slot)
        elif before & DOWN and not happens & DOWN:
            return_with(server, rules, group.now, group.protocol)
        if happens & (POWER_LOST | DISK_LOST) and group.protocol in ON_DISK:
            damage(lists, group, slot)
    follow_links(lists, inputs, group)
    follow_delays(lists, inputs, group)
    while inputs.elector_spans[group.elector_span + 1].from_round <= group.now:
        group.elector_span += 1
    is_up = inputs.elector_spans[group.elector_span].up
    if is_up and not group.elector_up:
        group.elector_heard = group.now
    group.elector_up = is_up
    while inputs.workload[group.workload + 1].from_round <= group.now:
        group.workload += 1
    while inputs.wanted[group.wanted + 1].from_round <= group.now:
        group.wanted += 1
    note_next_change(lists, inputs, group)


@compiled
def forget_memory(server: Server, protocol: int) -> None:
    """A process ends: it leads no more and knows nothing of what is committed.

    Source: Raft, figure 2: volatile state.
    """
    server.role = FOLLOWER if protocol in ON_DISK else RECOVERING
    server.joining = 0
    server.hands_over = 0
    if protocol not in WITH_FETCHES:  # its quorum-state file has it
        server.leader = NOBODY
    server.commit = 0
    server.heard_leader = NEVER


@compiled
def return_with(server: Server, rules: Rules, now: int, protocol: int) -> None:
    """A process begins, with what is on its disk; its timer starts."""
    server.heard_round = now
    if not rules.keep_vote:
        server.voted_for = NOBODY
        server.leader = NOBODY
        if protocol in WITH_PROMISES:
            server.term = server.log_term


@compiled
def damage(lists: Lists, group: Group, slot: int) -> None:
    """What was not flushed goes with the power; the log, the term and the vote go with the disk."""
    server = lists.servers[slot]
    was = server.end
    if server.status & DISK_LOST:
        lost_more = server.term > 0
        keep_first(server.runs, 0)
        server.end = 0
        server.flushed_to = 0
        server.term = 0
        server.voted_for = NOBODY
        server.members = 0
        server.log_term = 0
        server.segment = 0
        server.finalized = 0
        server.accepted = 0
        server.leader = NOBODY
    else:
        lost_more = False
        cut(lists, server, server.flushed_to)
    if server.end < was:
        tell_of_disk(lists, group, LOG_DAMAGED, slot, server.end, was, server.cause)
    if server.end < was or lost_more:
        group.damaged = 1


@compiled
def follow_links(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Which links between servers are cut from this round on."""
    scenario = inputs.scenarios[group.scenario]
    for slot in range(group.copies):
        lists.servers[slot].cut_to = 0
    for at in range(scenario.first_cut, scenario.first_cut + scenario.cuts):
        link = inputs.cuts[at]
        if link.from_round <= group.now < link.to_round:
            sender, receiver = slot_of(lists, group, link.from_place), slot_of(lists, group, link.to_place)
            if sender != NOBODY and receiver != NOBODY:
                lists.servers[sender].cut_to |= 1 << receiver


@compiled
def follow_delays(lists: Lists, inputs: Inputs, group: Group) -> None:
    """How long a request of each server to each other one takes from this round on: what slow links say, else the setting."""
    scenario, settings = inputs.scenarios[group.scenario], inputs.settings[group.settings]
    for pair in range(group.copies * group.copies):
        lists.peers[pair].delay = -1
    for at in range(scenario.first_slow, scenario.first_slow + scenario.slow):
        link = inputs.slow_links[at]
        if link.from_round <= group.now < link.to_round:
            sender, receiver = slot_of(lists, group, link.from_place), slot_of(lists, group, link.to_place)
            if sender != NOBODY and receiver != NOBODY:
                peer = lists.peers[sender * group.copies + receiver]
                peer.delay = max(peer.delay, link.rounds)
    for pair in range(group.copies * group.copies):
        if lists.peers[pair].delay < 0:
            lists.peers[pair].delay = settings.delay_rounds


@compiled
def slot_of(lists: Lists, group: Group, place: int) -> int:
    """The slot of a broker; NOBODY: it has no server of the group."""
    for slot in range(group.copies):
        if lists.servers[slot].place == place:
            return slot
    return NOBODY


@compiled
def note_next_change(lists: Lists, inputs: Inputs, group: Group) -> None:
    """The next round in which something comes from outside; a mark of one round only ends with it."""
    scenario = inputs.scenarios[group.scenario]
    change = min(inputs.workload[group.workload + 1].from_round, inputs.wanted[group.wanted + 1].from_round)
    change = min(change, inputs.elector_spans[group.elector_span + 1].from_round)
    for slot in range(group.copies):
        server = lists.servers[slot]
        change = min(change, inputs.server_spans[server.span + 1].from_round)
    for at in range(scenario.first_cut, scenario.first_cut + scenario.cuts):
        link = inputs.cuts[at]
        change = min(change, next_edge(group.now, link.from_round, link.to_round))
    for at in range(scenario.first_slow, scenario.first_slow + scenario.slow):
        slow = inputs.slow_links[at]
        change = min(change, next_edge(group.now, slow.from_round, slow.to_round))
    group.next_change = change


@compiled
def next_edge(now: int, from_round: int, to_round: int) -> int:
    """The next round in which a span begins or ends; FOREVER."""
    return from_round if from_round > now else to_round if to_round > now else FOREVER
