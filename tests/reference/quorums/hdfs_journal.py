"""HDFS's quorum journal, as its page has it: the lock, a new writer's calls, segments, edits one by one."""

from __future__ import annotations

from tests.reference.quorums.elector import gives_up
from tests.reference.quorums.group import Group
from tests.reference.quorums.requests import drop, is_awaited, write
from tests.reference.quorums.server import CANDIDATE, LEADER, Follower, Request, Server
from tests.reference.quorums.zab import take_history


def play_hdfs_journal_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    was_down = [server.is_down for server in group.servers]
    group.take_inputs()
    for server, before in zip(group.servers, was_down, strict=True):
        begin_or_end(group, server, before)
    fail_over(group)
    for server in group.servers:
        if server.role == CANDIDATE and server.runs:
            call = (new_epoch, prepare_recovery, accept_recovery, begin_to_write)[server.stage]
            server.stage += 1
            if not call(group, server):
                stop(group, server)
    for writer in group.servers:
        if writer.role == LEADER and writer.runs and is_old(group, writer):
            roll(group, writer)
    of_clients = group.leader_of_clients()
    if of_clients is None or not is_old(group, of_clients):
        group.append()
    journal(group)
    group.commit(majority(group))
    group.end_round(acked_before)
    group.round += 1


def majority(group: Group) -> int:
    """How many are one."""
    return group.case.copies // 2 + 1


def is_old(group: Group, writer: Server) -> bool:
    """Whether a writer's segment is to end."""
    return group.round >= writer.segment_round + group.case.roll_rounds


def begin_or_end(group: Group, server: Server, was_down: bool) -> None:
    """A process that ends has no segment open; one that begins knows its promise; a disk that is lost has none of it."""
    if server.is_down and not was_down:
        server.leader = None
    if was_down and not server.is_down and group.lacks("keep_vote"):
        server.term = server.log_term
    if server.term == 0:
        server.log_term = server.segment = server.accepted = 0
        server.finalized = False


def fail_over(group: Group) -> None:
    """The controllers' lock."""
    holder = group.servers[group.primary]
    if gives_up(group, holder.is_heard and holder.role in (LEADER, CANDIDATE)):
        around = group.servers[holder.id + 1 :] + group.servers[: holder.id + 1]
        new = next((server for server in around if server.is_heard), None)
        if new is not None:
            stop(group, new)
            new.role, new.stage = CANDIDATE, 0
            group.primary, group.elector_heard = new.id, group.round


def stop(group: Group, server: Server) -> None:
    """The writer on a server, or the new one, is none any more."""
    if server.role == CANDIDATE:
        group.tell("campaign", server, server.term, None, None, server.cause)
        group.counts["campaigns"] += 1
    group.follow(server)


def reaches(group: Group, writer: Server, node: Server) -> bool:
    """Whether a message gets from one machine to another, or stays on it."""
    return writer is node or group.gets_through(writer, node)


def takes_call(group: Group, writer: Server, node: Server) -> bool:
    """Whether a call gets to a node and is not refused; the node's promise, and its segment that was open."""
    if not reaches(group, writer, node):
        return False
    if node.term > writer.term and not group.lacks("refuse_older_term"):
        return False
    if node.term < writer.term:
        stop(group, node)
        node.term = writer.term
    node.leader = None
    return True


def new_epoch(group: Group, writer: Server) -> bool:
    """Call 1."""
    told = [node.term for node in group.servers if reaches(group, writer, node) and reaches(group, node, writer)]
    if len(told) < majority(group):
        return False
    writer.term, writer.leader = max(told) + 1, None
    for node in group.servers:
        if node.term < writer.term and reaches(group, writer, node):
            stop(group, node)
            node.term, node.leader = writer.term, None
    return True


def value(group: Group, node: Server) -> tuple[int, ...]:
    """What copies of the last segment are compared by."""
    epoch = node.log_term if group.lacks("accepted_counts") else max(node.log_term, node.accepted)
    if group.lacks("current_epoch_first"):
        epoch = 0
    return (node.segment, int(node.finalized), epoch, len(node.log))


def prepare_recovery(group: Group, writer: Server) -> bool:
    """Call 2."""
    told = [node for node in group.servers if takes_call(group, writer, node) and reaches(group, node, writer)]
    best = writer
    for node in told:
        if value(group, node) > value(group, best) and not group.lacks("compare_logs"):
            best = node
    writer.chosen = best.id
    return len(told) >= majority(group)


def is_same(group: Group, node: Server, other: Server) -> bool:
    """Whether two nodes have the same last segment, and the same before it."""
    ends = (node.segment, len(node.log)) == (other.segment, len(other.log))
    return ends and (node.log == other.log or group.lacks("same_content"))


def accept_recovery(group: Group, writer: Server) -> bool:
    """Call 3."""
    chosen = group.servers[writer.chosen]
    if chosen.term != writer.term:
        return False
    took = []
    for node in group.servers:
        if not takes_call(group, writer, node):
            continue
        if node is not chosen and not is_same(group, node, chosen):
            if not group.gets_through(chosen, node):
                continue
            copy(group, node, chosen)
            node.segment, node.finalized = chosen.segment, False
        node.accepted = writer.term
        took.append(node)
    known = [node for node in took if reaches(group, node, writer)]
    return writer in took and (len(known) >= majority(group) or group.lacks("acks_of_new_leader"))


def copy(group: Group, node: Server, source: Server) -> None:
    """A node takes another one's log; what it finalized has to be in it."""
    if node.finalized:
        both = list(zip(node.log, source.log, strict=False))
        common = next((number for number, (own, its) in enumerate(both) if own != its), len(both))
        is_longer = node.segment == source.segment and len(node.log) != len(source.log)
        if common < len(node.log) or is_longer:
            group.violate("FinalizedSegments", node, None, common)
    take_history(group, node, source)


def begin_to_write(group: Group, writer: Server) -> bool:
    """Call 4."""
    end = len(writer.log)
    writer.followers = {s.id: Follower(end, end, group.round, None, True) for s in group.servers if s is not writer}
    if not finalize(group, writer) or not start(group, writer):
        return False
    group.lead(writer, anew=False)
    writer.synced = end
    if end > writer.commit:
        writer.commit = end
        group.note_committed(writer)
    return True


def roll(group: Group, writer: Server) -> None:
    """A segment after another."""
    is_careless = group.lacks("finalize_first")
    if writer.commit < len(writer.log) and not is_careless:
        return
    is_final = finalize(group, writer)
    if not (is_final or is_careless) or not start(group, writer):
        stop(group, writer)


def comes_later(writer: Server, node: Server) -> bool:
    """Whether calls between segments queue up behind edits that are under way to a node."""
    known = writer.followers.get(node.id)
    return known is not None and known.in_sync and known.match < len(writer.log)


def finalize(group: Group, writer: Server) -> bool:
    """The segment is closed for good."""
    acks = 0
    for node in group.servers:
        if node is not writer and not writer.followers[node.id].in_sync:
            continue
        if not comes_later(writer, node) and takes_call(group, writer, node) and is_same(group, node, writer):
            node.finalized, node.accepted = len(node.log) > node.segment, 0
            acks += reaches(group, node, writer)
    return acks >= majority(group)


def start(group: Group, writer: Server) -> bool:
    """The next one begins."""
    begin, acks = len(writer.log), 1
    for node in group.servers:
        if node is writer:
            continue
        known = writer.followers[node.id]
        if comes_later(writer, node):
            acks += 1
            continue
        drop(group, writer, node)
        has_edits = node.segment == begin and len(node.log) > begin
        if not takes_call(group, writer, node) or has_edits:
            known.in_sync = False
            continue
        copy(group, node, writer)
        open_segment(group, node, writer, begin)
        if group.gets_through(node, writer):
            acks += 1
            known.in_sync, known.match, known.next_entry = True, begin, begin
    open_segment(group, writer, writer, begin)
    writer.segment_round = group.round
    return acks >= majority(group)


def open_segment(group: Group, node: Server, writer: Server, begin: int) -> None:
    """A segment of the writer is in progress on a node."""
    node.segment, node.finalized, node.accepted = begin, False, 0
    node.log_term, node.leader = writer.term, writer.id


def journal(group: Group) -> None:
    """Edits that were under way, then those of this round."""
    for request in list(group.under_way):
        if request.arrives <= group.round and request in group.under_way:
            group.under_way.remove(request)
            if is_awaited(group, request):
                arrive(group, request)
    for writer in group.servers:
        if writer.role != LEADER or not writer.runs:
            continue
        write(group, writer)
        for node in group.servers:
            if node is not writer and writer.followers[node.id].in_sync:
                send(group, writer, node)
        if 1 + sum(known.in_sync for known in writer.followers.values()) < majority(group):
            stop(group, writer)
    group.under_way = [request for request in group.under_way if is_awaited(group, request)]


def arrive(group: Group, request: Request) -> None:
    """Edits are there, or the disk has them; else they have failed."""
    writer, node = group.servers[request.sender], group.servers[request.receiver]
    if node is writer:
        if writer.runs:
            writer.synced = request.previous
    elif writer.runs and group.gets_through(writer, node):
        take_edits(group, request)
    else:
        fall_out(group, writer, node)


def send(group: Group, writer: Server, node: Server) -> None:
    """The next edits for a node."""
    known, limit = writer.followers[node.id], group.case.max_entries
    first = known.next_entry
    edits = tuple(writer.log[first:] if limit is None else writer.log[first : first + limit])
    if not edits:
        return
    if not group.gets_through(writer, node):
        fall_out(group, writer, node)
        return
    before = [r.arrives for r in group.under_way if (r.sender, r.receiver) == (writer.id, node.id) and is_awaited(group, r)]
    arrives = max([group.round + group.trip(writer, node), *before])
    request = Request(writer.id, node.id, writer.election, arrives, first, 0, edits, writer.commit, group.round)
    if arrives > group.round:
        group.under_way.append(request)
        known.next_entry = first + len(edits)
    else:
        take_edits(group, request)


def take_edits(group: Group, request: Request) -> None:
    """A node writes them down."""
    writer, node = group.servers[request.sender], group.servers[request.receiver]
    known, end = writer.followers[node.id], request.previous + len(request.entries)
    is_open = node.leader == writer.id and node.term == node.log_term == writer.term
    if (is_open or group.lacks("refuse_older_term")) and len(node.log) == request.previous:
        node.log += request.entries
        group.counts["sent_entries"] += len(request.entries)
        node.commit = max(node.commit, min(request.commit, end))
        if end > writer.segment:
            node.segment, node.finalized, node.accepted = writer.segment, False, 0
        if group.gets_through(node, writer):
            known.match, known.next_entry = max(known.match, end), max(known.next_entry, end)
            return
    fall_out(group, writer, node)


def fall_out(group: Group, writer: Server, node: Server) -> None:
    """A node is out of sync."""
    writer.followers[node.id].in_sync = False
    drop(group, writer, node)
