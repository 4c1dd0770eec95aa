"""Elections of `quorum`, and its round."""

from __future__ import annotations

from tests.reference.quorums.elector import gives_up_leader
from tests.reference.quorums.group import Group
from tests.reference.quorums.replicate import replicate


def play_quorum_round(group: Group) -> None:
    """A round."""
    acked_before = group.counts["acked"]
    group.take_inputs()
    elect(group)
    group.append()
    replicate(group)
    group.commit(group.case.acks)
    group.end_round(acked_before)
    group.round += 1


def elect(group: Group) -> None:
    """The elector hears the leader, waits, or compares V logs."""
    if not gives_up_leader(group):
        return
    term, copies = group.elections[-1][0], group.case.copies
    around = [group.servers[(term + 1 + step) % copies] for step in range(copies)]
    asked = [server for server in around if server.is_heard][: group.case.compared]
    if len(asked) < group.case.compared:
        return
    for server in asked:
        group.take_term(server, term + 1)
    best = asked[0] if group.lacks("compare_logs") else max(asked, key=lambda server: server.completeness())
    group.lead(best)
    group.elector_heard = group.round
