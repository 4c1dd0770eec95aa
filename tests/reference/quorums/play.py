"""A case from its start to its end, and what is compared of it."""

from __future__ import annotations

from typing import Any

from tests.reference.quorums.cases import Case
from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_journal import play_hdfs_journal_round
from tests.reference.quorums.kraft import play_kraft_round
from tests.reference.quorums.members import in_force
from tests.reference.quorums.pacifica import play_pacifica_round
from tests.reference.quorums.primary_backup import play_primary_backup_round
from tests.reference.quorums.quorum import play_quorum_round
from tests.reference.quorums.raft import play_raft_round
from tests.reference.quorums.requests import is_awaited
from tests.reference.quorums.server import Server
from tests.reference.quorums.viewstamped import play_viewstamped_round
from tests.reference.quorums.zab import play_zab_round

ROUNDS = {
    "quorum": play_quorum_round,
    "raft": play_raft_round,
    "primary-backup-sync": play_primary_backup_round,
    "primary-backup-async": play_primary_backup_round,
    "pacifica": play_pacifica_round,
    "zab": play_zab_round,
    "viewstamped": play_viewstamped_round,
    "kraft": play_kraft_round,
    "hdfs-journal": play_hdfs_journal_round,
}


def played(case: Case) -> tuple[Group, list[list[dict[str, Any]]]]:
    """The group at the end, and by round what is so of each server at the round's end."""
    group, seen = Group(case), []
    for _ in range(case.rounds):
        ROUNDS[case.protocol](group)
        seen.append([row_of(group, number) for number in range(case.copies)])
    return group, seen


def row_of(group: Group, number: int) -> dict[str, Any]:
    """What is so of a server."""
    server = group.servers[number]
    is_leader = server.role == "leader"
    return {
        "role": server.role,
        "term": server.term,
        "members": sorted(server.members),
        "joining": sorted(server.joining),
        "vote": server.vote,
        "log": [(entry.term, entry.election) for entry in server.log],
        "flushed": server.flushed,
        "commit": server.commit,
        "heard": server.heard,
        "heard_leader": server.heard_leader,
        "stood": server.stood,
        "leader": server.leader if group.case.protocol in ("zab", "kraft", "hdfs-journal") else None,
        "log_term": server.log_term if group.case.protocol in ("zab", "viewstamped", "hdfs-journal") else None,
        "segment": (server.segment, int(server.finalized), server.accepted),
        "takes_over": (server.stage, server.chosen),
        "voters": voters_of(group, server) if group.case.protocol in ("raft", "kraft") else None,
        "transfer": (server.handing_over_since is not None, server.told_in),
        "synced": server.synced if is_leader else None,
        "under_way": [
            (r.receiver, r.arrives, r.previous, r.previous + len(r.entries), r.commit)
            for r in group.under_way
            if r.sender == number and is_awaited(group, r)
        ],
        "followers": followers_of(group, server) if is_leader else None,
    }


def followers_of(group: Group, server: Server) -> dict[int, tuple[Any, ...]]:
    """What a leader knows of the others; a writer of HDFS's journal goes by nothing but match of who is out of sync."""
    if group.case.protocol != "hdfs-journal":
        return {n: (f.next_entry, f.match, f.answered, f.in_sync) for n, f in server.followers.items()}
    return {
        n: (f.next_entry, f.match, f.answered, f.in_sync, f.is_waiting, f.took)
        if f.in_sync or f.is_waiting
        else (None, f.match, None, False, False, None)
        for n, f in server.followers.items()
    }


def voters_of(group: Group, server: Server) -> tuple[list[int], list[int]]:
    """(members before, members) by the last configuration in a server's log."""
    now = in_force(group, server)
    return sorted(now.before), sorted(now.members)


def outcomes(group: Group) -> dict[str, Any]:
    """What is counted of a group."""
    return {**group.counts, **group.lost(), "latencies": dict(sorted(group.latencies.items()))}
