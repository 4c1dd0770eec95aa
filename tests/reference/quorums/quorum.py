"""Elections of `quorum`, and its round."""

from __future__ import annotations

from tests.reference.quorums.group import Group
from tests.reference.quorums.server import LEADER


def play_quorum_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    group.take_inputs()
    elect(group)
    group.append()
    group.replicate()
    group.commit(group.case.acks)
    group.end_round(acked_before)
    group.round += 1


def elect(group: Group) -> None:
    """The elector hears the leader, waits, or compares V logs."""
    is_up = not any(f.kind == "controller_loss" and group.in_force(f) for f in group.case.faults)
    if is_up and not group.elector_was_up:
        group.elector_heard = group.round
    group.elector_was_up = is_up
    if not is_up:
        return
    term, last, _ = group.elections[-1]
    leader = group.servers[last]
    if leader.is_heard and leader.role == LEADER and leader.term == term:
        group.elector_heard = group.round
        return
    copies = group.case.copies
    around = [group.servers[(term + 1 + step) % copies] for step in range(copies)]
    asked = [server for server in around if server.is_heard][: group.case.compared]
    if group.round - group.elector_heard < group.case.timeout_rounds or len(asked) < group.case.compared:
        return
    for server in asked:
        group.take_term(server, term + 1)
    best = asked[0] if group.lacks("compare_logs") else max(asked, key=lambda server: server.completeness())
    group.lead(best)
    group.elector_heard = group.round
