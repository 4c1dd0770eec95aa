"""A primary with backups, as the page has it: who is the primary, and the round."""

from __future__ import annotations

from tests.reference.quorums.elector import gives_up_leader
from tests.reference.quorums.group import Group
from tests.reference.quorums.replicate import replicate


def play_primary_backup_round(group: Group) -> None:
    """A round; synchronous: everybody has to have a record, asynchronous: nobody else has."""
    acked_before = group.counts["acked"]
    group.take_inputs()
    fail_over(group)
    group.append()
    replicate(group)
    group.commit(group.case.copies if group.case.protocol == "primary-backup-sync" else 1)
    group.end_round(acked_before)
    group.round += 1


def fail_over(group: Group) -> None:
    """Who watches the primary makes another one when it has not heard of it for too long."""
    if gives_up_leader(group):
        term, number, _ = group.elections[-1]
        behind = group.servers[number + 1 :] + group.servers[: number + 1]
        heard = [server for server in behind if server.is_heard]
        if heard:
            group.take_term(heard[0], term + 1)
            group.lead(heard[0])
            group.elector_heard = group.round
