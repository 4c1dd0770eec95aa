"""The next round in which a clock of a group may run out, if all goes on as it does: leaps end there."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.quorums.constants import CANDIDATE, FOREVER, LEADER, NOBODY, OUT_OF_SYNC, RECOVERING
from emulator.rounds.quorums.drift import Words
from emulator.rounds.quorums.hdfs_journal.name_writer import lock_timeout
from emulator.rounds.quorums.inputs import Inputs, Settings
from emulator.rounds.quorums.kraft.resign import resigns_after
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.members import may_stand
from emulator.rounds.quorums.protocols import VIEWSTAMPED, WITH_FETCHES, WITH_LEASES, WITH_SEGMENTS, WITH_VOTES, ZAB
from emulator.rounds.quorums.raft.stand import wait_of
from emulator.rounds.quorums.records import Group, Lists, Message, Peer, Server
from emulator.rounds.records import word_of

ELECTOR_HEARD = word_of(Group, "elector_heard")
HEARD, ANSWERED, ARRIVES = word_of(Server, "heard_round"), word_of(Peer, "answered_round"), word_of(Message, "arrives")
WAITED = word_of(Server, "waited_round")


@compiled
def next_due(lists: Lists, inputs: Inputs, group: Group, settings: Settings, drift: Words) -> int:
    """The next round, from `group.now` on, in which a timer, a lease or a grace period runs out or a request is there."""
    due = FOREVER
    for at in range(group.messages.count):
        if drift.messages[at, ARRIVES] != 1:
            due = min(due, at_or_never(group.now, lists.messages[group.messages.start + at].arrives))
    if group.protocol in WITH_VOTES:
        return min(due, next_stand(lists, inputs, group, settings, drift))
    if group.protocol in WITH_LEASES:
        return min(due, next_lease(lists, group, settings, drift))
    if group.protocol == ZAB:
        return min(due, next_leaving(lists, group, settings, drift))
    if group.protocol == VIEWSTAMPED:
        return min(due, next_view(lists, group, settings, drift))
    timeout_rounds = settings.timeout_rounds
    if group.protocol in WITH_SEGMENTS:
        due = min(due, next_of_journal(lists, group, settings, drift))
        timeout_rounds = lock_timeout(lists, group, settings)
    if group.elector_up and drift.group[ELECTOR_HEARD] == 0:
        due = min(due, at_or_never(group.now, group.elector_heard + timeout_rounds))
    return due


@compiled_into_callers
def at_or_never(now: int, due: int) -> int:
    """A round that is still to come; what was due before and did not happen waits for something else."""
    return due if due >= now else FOREVER


@compiled_into_callers
def next_unheard(lists: Lists, group: Group, slot: int, settings: Settings, drift: Words) -> int:
    """The round in which a server has heard nobody for the timeout; FOREVER: it goes on hearing, or that is long over."""
    if drift.servers[slot, HEARD] == 1:
        return FOREVER
    return at_or_never(group.now, lists.servers[slot].heard_round + settings.timeout_rounds)


@compiled
def next_silence(lists: Lists, group: Group, slot: int, rounds: int, drift: Words) -> int:
    """The round in which a server has not answered a leader for so many rounds; FOREVER: all go on answering."""
    due = FOREVER
    for other in range(group.copies):
        pair = slot * group.copies + other
        if other != slot and drift.peers[pair, ANSWERED] != 1:
            due = min(due, at_or_never(group.now, lists.peers[pair].answered_round + rounds))
    return due


@compiled
def next_stand(lists: Lists, inputs: Inputs, group: Group, settings: Settings, drift: Words) -> int:
    """Raft, KRaft: a server stands, or a leader that does not hear a majority may step down."""
    due = FOREVER
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role != LEADER:
            if drift.servers[slot, HEARD] != 1 and may_stand(lists, group, slot):
                due = min(due, server.heard_round + wait_of(lists, inputs, group, settings, slot))
        elif server.hands_over:
            return group.now
        elif group.protocol in WITH_FETCHES:
            due = min(due, next_silence(lists, group, slot, resigns_after(settings), drift))
        elif settings.check_quorum:
            due = min(due, next_silence(lists, group, slot, settings.timeout_rounds, drift))
    return due


@compiled
def next_lease(lists: Lists, group: Group, settings: Settings, drift: Words) -> int:
    """PacificA: a lease runs out, a grace period is over, or a candidate may join, which is any round with one."""
    due = FOREVER
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role != LEADER:
            due = min(due, next_unheard(lists, group, slot, settings, drift))
            continue
        due = min(due, next_silence(lists, group, slot, settings.lease_rounds, drift))
        for other in range(group.copies):
            pair = slot * group.copies + other
            expires = lists.peers[pair].answered_round + settings.lease_rounds
            if other != slot and not server.members >> other & 1 and expires >= group.now:
                return group.now
    return due


@compiled
def next_leaving(lists: Lists, group: Group, settings: Settings, drift: Words) -> int:
    """Zab: a follower or a leader has heard nothing for the timeout; any round in which a majority looks for a leader."""
    due, looking = FOREVER, 0
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.leader == NOBODY:
            looking += 1
        elif server.leader == slot:
            due = min(due, next_silence(lists, group, slot, settings.timeout_rounds, drift))
        else:
            due = min(due, next_unheard(lists, group, slot, settings, drift))
    return due if looking < group.copies // 2 + 1 else group.now


@compiled
def next_view(lists: Lists, group: Group, settings: Settings, drift: Words) -> int:
    """VR: a backup has heard nothing for the timeout."""
    due = FOREVER
    for slot in range(group.copies):
        server = lists.servers[slot]
        if server.role != LEADER and server.role != RECOVERING and runs(lists, slot):
            due = min(due, next_unheard(lists, group, slot, settings, drift))
    return due


@compiled
def next_of_journal(lists: Lists, group: Group, settings: Settings, drift: Words) -> int:
    """HDFS: a writer's segment is old enough, it has waited long enough, a node has not answered, a new writer is to fence."""
    due = FOREVER
    for slot in range(group.copies):
        server = lists.servers[slot]
        if not runs(lists, slot):
            continue
        if server.role == CANDIDATE:
            due = min(due, at_or_never(group.now, server.lock_round + server.fence_rounds))
        elif server.role == LEADER:
            due = min(due, at_or_never(group.now, server.segment_round + settings.roll_rounds))
            if drift.servers[slot, WAITED] != 1:
                due = min(due, at_or_never(group.now, server.waited_round + settings.write_rounds))
            if settings.rpc_rounds > 0:
                due = min(due, next_late_answer(lists, group, slot, settings, drift))
    return due


@compiled
def next_late_answer(lists: Lists, group: Group, slot: int, settings: Settings, drift: Words) -> int:
    """HDFS: the round in which a node of a writer has not answered for so long that it is out of sync."""
    due = FOREVER
    for other in range(group.copies):
        pair = slot * group.copies + other
        peer = lists.peers[pair]
        if other != slot and peer.in_sync != OUT_OF_SYNC and drift.peers[pair, ANSWERED] != 1:
            due = min(due, at_or_never(group.now, peer.answered_round + settings.rpc_rounds))
    return due
