"""What is noted of followers whose brokers' budgets are shared (docs/kafka_rounds.md, Shared bandwidth).

Rounds are first played as if no budget bound. Afterwards these notes say whether that was so (engine/budgets/first_play.py).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import CHANGES_LOG, FOREVER, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def note_what_is_lacked(part: Partition, replicas: Rows[Replica]) -> None:
    """How far each follower is behind at the start of this round: what it asked for if this was a quota edge follows from it.

    In a leap it changes by the same amount in every round, and the rounds at both ends are played: so the most is noted.
    """
    if part.client_leader == NOBODY:
        return
    leader = replicas[part.client_leader]
    if leader.status & NOT_RUNNING:
        return
    for slot in range(part.slots):
        follower = replicas[slot]
        if slot == part.client_leader or not has(part.assigned, slot) or follower.status & NOT_RUNNING:
            continue
        # An edge comes before what this round's inputs do to logs.
        lacks = FOREVER if leader.status & CHANGES_LOG else leader.log_bytes - follower.log_bytes
        follower.lacked_bytes = max(follower.lacked_bytes, lacks, 0)


@compiled_into_callers
def note_what_is_needed(follower: Replica, rate: int, chunk_bytes: int, waits: bool) -> None:
    """Which quota would have changed nothing of a fetch, neither its bytes nor the credit that it leaves.

    `rate`: what slow links and disks left it in this round, UNKNOWN: any; `waits`: data of the leader still waits.
    """
    needs = chunk_bytes if rate == UNKNOWN else rate
    if rate != UNKNOWN and follower.credit_unsure:
        needs = FOREVER
    if not waits:
        follower.credit_unsure = 0
    elif rate == UNKNOWN:
        follower.credit_unsure = 1  # it is replica.fetch.max.bytes that held it back: a quota would have left credit
    follower.needed_bytes = max(follower.needed_bytes, needs)
