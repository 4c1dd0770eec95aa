"""Schedules of HDFS's quorum journal by hand, three nodes and two edits a round; and one for each mutant.

Server 0 writes; the controllers wait for three rounds, as long as nothing else is said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.reference.quorums.cases import Case, Fault


def case_of(*faults: Fault, workload: tuple[tuple[int, int], ...] = ((0, 2),), roll: int = 240, **settings: Any) -> Case:
    """Three nodes; the controllers wait for three rounds."""
    case = Case("hdfs-journal", 3, 40, timeout_rounds=3, workload=workload, faults=faults, roll_rounds=roll)
    return replace(case, **settings)


def both(kind: str, begin: int, end: int) -> tuple[Fault, Fault]:
    """A fault of each of the nodes that server 0 writes to."""
    return Fault(kind, begin, end, 1), Fault(kind, begin, end, 2)


def pause(begin: int, end: int, server: int) -> Fault:
    """A pause of a server."""
    return Fault("broker_pause", begin, end, server)


GONE = Fault("broker_crash", 4, 40, 0)
IDLE = ((0, 2), (4, 0), (7, 2))
"""Nothing to write in rounds 4, 5 and 6."""

BY_HAND = {
    "crash of the writer": case_of(GONE),
    "writer isolated for a round": case_of(Fault("isolation", 4, 5, 0)),
    "two pauses": case_of(pause(3, 6, 1), pause(7, 9, 2)),
    "short pause": case_of(pause(4, 6, 2), answer_rounds=3),
    "long pause": case_of(pause(4, 9, 2), roll=12, answer_rounds=3),
    "long pause without a limit": case_of(pause(4, 30, 2), answer_rounds=0),
    "pause without edits": case_of(pause(4, 8, 2), workload=IDLE, answer_rounds=3),
    "full queue": case_of(pause(4, 9, 2), roll=12, queue_limit=4),
    "crash with a queue": case_of(Fault("link_cut", 4, 5, 0, 2), Fault("broker_crash", 5, 6, 2), workload=((0, 2), (5, 0))),
    "crash with edits": case_of(Fault("broker_crash", 5, 6, 2)),
    "crash without a queue": case_of(Fault("broker_crash", 5, 6, 2), workload=IDLE, roll=12),
    "power lost in a segment": case_of(Fault("power_loss", 5, 7, 2), roll=8),
    "late answer": case_of(Fault("link_cut", 4, 7, 2, 0, "out")),
    "late requests": case_of(pause(5, 8, 2), delay_rounds=2),
    "late disk": case_of(pause(4, 6, 0), fsync_rounds=2),
    "silent at the start": case_of(pause(8, 10, 2), roll=8),
    "unheard at the start": case_of(Fault("link_cut", 8, 10, 2, 0, "out"), roll=8),
    "silent at the start for too long": case_of(pause(8, 15, 2), roll=8, answer_rounds=3),
    "waits, then refuses": case_of(
        Fault("link_cut", 8, 14, 0, 2),
        pause(9, 14, 0),
        Fault("link_cut", 14, 20, 0, 1),
        Fault("controller_loss", 14, 16),
        roll=8,
        fence_rounds=1,
    ),
    "waits and goes": case_of(pause(8, 10, 2), Fault("broker_crash", 9, 11, 2), roll=8),
    "roll put off": case_of(*both("broker_pause", 8, 11), roll=8),
    "roll put off without edits": case_of(
        *both("broker_pause", 8, 30), workload=((0, 2), (8, 0)), roll=8, write_rounds=5, answer_rounds=0
    ),
    "no majority for too long": case_of(*both("broker_pause", 4, 20), write_rounds=5),
    "no majority left": case_of(*both("broker_crash", 4, 5)),
    "ended, and seen a round later": case_of(*both("broker_crash", 4, 5), health_rounds=1),
    "ended, and seen late": case_of(*both("broker_crash", 4, 5), health_rounds=6),
    "paused writer": case_of(pause(4, 40, 0)),
    "isolated writer": case_of(Fault("isolation", 4, 100, 0), rounds=100),
    "writer without power": case_of(Fault("power_loss", 4, 40, 0), connect_rounds=2),
    "paused writer, heard again": case_of(pause(4, 10, 0)),
    "isolated writer, heard again": case_of(Fault("isolation", 4, 10, 0)),
    "isolated, then paused": case_of(Fault("isolation", 4, 9, 0), pause(8, 40, 0), connect_rounds=6, fence_rounds=2),
    "fencing handed on": case_of(pause(4, 40, 0), Fault("broker_crash", 8, 12, 1)),
    "back without the lock": case_of(pause(4, 20, 0), Fault("link_cut", 20, 30, 0, 1), fence_rounds=2),
    "back without controllers": case_of(
        pause(4, 20, 0), Fault("link_cut", 20, 30, 0, 1), Fault("controller_loss", 20, 25), fence_rounds=2
    ),
    "cut off, others write": case_of(Fault("isolation", 4, 12, 0), roll=6, connect_rounds=1),
    "a segment without edits": case_of(Fault("isolation", 3, 16, 0), workload=((0, 0), (12, 2)), roll=2, connect_rounds=1),
}
"""What happens -> a case in which it does."""

LONE_EDITS = (Fault("isolation", 4, 5, 0), Fault("broker_crash", 5, 12, 0))
"""Server 0 goes with two edits that nobody else has; servers 1 and 2 are left, and server 1 makes its first call in round 6."""
REPEATED = (
    *(Fault("link_cut", 5, 6, 0, other) for other in (1, 2)),
    Fault("broker_crash", 6, 14, 0),
    Fault("broker_crash", 12, 40, 1),
)
"""Server 0 goes with edits in a segment that all have, without edits; server 1 writes others into it, then goes."""
OUTLIVED = (pause(4, 12, 0), Fault("isolation", 12, 14, 1, clients=True), Fault("broker_crash", 16, 40, 1))
"""Server 0 sleeps while server 1 takes over, and gets edits while 1 is cut off; then server 1 goes."""
MUTANTS = {
    "refuse_older_term": (case_of(*OUTLIVED, workload=((0, 2), (4, 0), (12, 2)), fence_rounds=1), "LeaderCompleteness"),
    "keep_vote": (
        case_of(
            Fault("broker_crash", 4, 8, 0),
            pause(7, 11, 1),
            Fault("broker_crash", 7, 9, 2),
            Fault("controller_loss", 10, 40),
            fence_rounds=1,
        ),
        "ElectionSafety",
    ),
    "compare_logs": (case_of(Fault("link_cut", 3, 4, 0, 1), GONE), "LeaderCompleteness"),
    "accepted_counts": (
        case_of(*LONE_EDITS, Fault("isolation", 9, 10, 2), Fault("broker_crash", 10, 15, 1)),
        "FinalizedSegments",
    ),
    "acks_of_new_leader": (
        case_of(*LONE_EDITS, Fault("isolation", 8, 10, 2), Fault("broker_crash", 10, 15, 1)),
        "FinalizedSegments",
    ),
    "current_epoch_first": (
        case_of(*REPEATED, workload=((0, 2), (4, 0), (5, 4), (6, 0), (11, 2)), roll=4),
        "LeaderCompleteness",
    ),
    "same_content": (
        case_of(*REPEATED, workload=((0, 2), (4, 0), (5, 2), (6, 0), (11, 2)), roll=4),
        "FinalizedSegments",
    ),
    "finalize_first": (
        case_of(GONE._replace(to_round=14), Fault("broker_crash", 13, 40, 1), roll=3, delay_rounds=2),
        "LeaderCompleteness",
    ),
}
"""Guard -> a schedule and what breaks in it without the guard."""
