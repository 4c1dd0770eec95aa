"""Who falls out of sync in hdfs-journal, up to the writer's next segment; a writer that a majority can answer no more ends."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import DOWN, IN_SYNC, LEADER, OUT_OF_SYNC, WAITING
from emulator.rounds.quorums.flight import give_up
from emulator.rounds.quorums.hdfs_journal.fencing import stop_writing
from emulator.rounds.quorums.inputs import Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.records import Group, Lists


@compiled
def fall_out(lists: Lists, group: Group, slot: int, other: int) -> None:
    """A node gets no more edits of a writer before the next segment; what is under way to it is gone.

    Source: IPCLoggerChannel, outOfSync.
    """
    lists.peers[slot * group.copies + other].in_sync = OUT_OF_SYNC
    give_up(lists, group, slot, other)


@compiled
def fall_out_of_sync(lists: Lists, group: Group, settings: Settings) -> None:
    """Each writer's nodes that failed; a writer without a majority that is in sync or waits ends.

    Source: AsyncLoggerSet.waitForWriteQuorum; JournalSet, which ends the NameNode.
    """
    for slot in range(group.copies):
        if lists.servers[slot].role != LEADER or not runs(lists, slot):
            continue
        count = 1
        for other in range(group.copies):
            peer = lists.peers[slot * group.copies + other]
            if other == slot or peer.in_sync == OUT_OF_SYNC:
                continue
            if has_failed(lists, group, settings, slot, other):
                fall_out(lists, group, slot, other)
            else:
                count += 1
        if count < group.copies // 2 + 1:
            stop_writing(lists, group, slot)


@compiled
def has_failed(lists: Lists, group: Group, settings: Settings, slot: int, other: int) -> bool:
    """Whether a node in sync, or waiting, is down with a call, has too much in its queue, or does not answer for too long.

    Source: ipc.Client, handleTimeout, and HADOOP-17552 for the timeout; IPCLoggerChannel, reserveQueueSpace.
    """
    peer = lists.peers[slot * group.copies + other]
    queued = lists.servers[slot].end - peer.match_to
    if peer.in_sync == IN_SYNC and queued == 0:
        peer.answered_round = group.now  # it is asked nothing: a call's time begins with the next one
    if lists.servers[other].status & DOWN and (peer.in_sync == WAITING or queued > 0):
        return True
    is_late = settings.rpc_rounds > 0 and group.now - peer.answered_round >= settings.rpc_rounds
    return is_late or queued > group.queue_limit


@compiled
def lose_connections(lists: Lists, group: Group, other: int) -> None:
    """A node goes down: what waits for an answer of it fails, at every writer.

    Source: ipc.Client: its connection closes.
    """
    for slot in range(group.copies):
        writer, peer = lists.servers[slot], lists.peers[slot * group.copies + other]
        if writer.role != LEADER or other == slot:
            continue
        if peer.in_sync == WAITING or (peer.in_sync == IN_SYNC and peer.match_to < writer.end):
            fall_out(lists, group, slot, other)
