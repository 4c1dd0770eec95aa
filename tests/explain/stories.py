"""Partitions whose rows are written by hand, in a short form: one line per round, one cell per broker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.explain.rows import PartitionRows

DATA = Path(__file__).parent / "data"
_ROLES = {"L": "leader", "F": "follower", "O": "offline"}
_HERE = {"scenario_id": 0, "topic": "orders", "partition": 0}


def trace(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of `trace` and `trace_partitions` of lines such as "3 | F0 10/8 fetched | - | 1 e0 isr 1 2 elr 3".

    A cell is role and epoch, leo/hw, fetch_state, and @N for the last epoch of the cache if it is another; "-": no replica.
    """
    replicas, controllers = [], []
    for line in text.strip().splitlines():
        number, *cells, controller = (cell.strip() for cell in line.split("|"))
        for broker, cell in enumerate(cells, start=1):
            if cell != "-":
                replicas.append({**_HERE, "round": int(number), "broker": broker, **_state(cell)})
        controllers.append({**_HERE, "round": int(number), **_controller(controller)})
    return replicas, controllers


def _state(cell: str) -> dict[str, Any]:
    match = re.fullmatch(r"([LFO])(\d+) (\d+)/(\d+)(?: ([a-z_]+))?(?: @(\d+))?(?: <(\d+))?", cell)
    assert match is not None, cell
    role, epoch, leo, hw, fetch_state, log_epoch, remote_leo = match.groups()
    return {
        "role": _ROLES[role],
        "leader_epoch": int(epoch),
        "leo": int(leo),
        "hw": int(hw),
        "remote_leo": None if remote_leo is None else int(remote_leo),
        "fetch_state": fetch_state,
        "log_epoch": int(log_epoch or epoch),
    }


def _controller(cell: str) -> dict[str, Any]:
    match = re.fullmatch(r"(-?\d+) e(\d+) isr([ \d]*)(?:elr([ \d]*))?", cell)
    assert match is not None, cell
    leader, epoch, isr, elr = match.groups()
    return {
        "leader": int(leader),
        "leader_epoch": int(epoch),
        "isr": [*map(int, isr.split())],
        "elr": [*map(int, (elr or "").split())],
    }


def fault(fault_id: int, kind: str, from_round: int, to_round: int | None, **columns: Any) -> dict[str, Any]:
    """A row of `faults`."""
    unset = dict.fromkeys(("broker", "peer", "direction", "rack", "topic", "partition", "bytes_per_second", "clients", "name"))
    rounds = {"from_round": from_round, "to_round": to_round}
    return {"scenario_id": 0, "fault_id": fault_id, "kind": kind, **rounds, **unset, **columns}


def event(round_: int, kind: str, broker: int | None, *offsets: int, cause: int | None = None, epoch: int | None = None) -> Any:
    """A row of `events`; `offsets`: from_offset and to_offset."""
    from_offset, to_offset = (*offsets, None, None)[:2]
    return {
        **_HERE, "round": round_, "kind": kind, "broker": broker, "leader_epoch": epoch,
        "from_offset": from_offset, "to_offset": to_offset, "cause": cause,
    }  # fmt: skip


def violation(round_: int | None, invariant: str, witness: str, cause: int | None = None) -> dict[str, Any]:
    """A row of `violations`."""
    return {**_HERE, "round": round_, "invariant": invariant, "witness": witness, "cause": cause}


def end(broker: int, role: str, leo: int, hw: int, in_isr: bool = True) -> dict[str, Any]:
    """A row of `replicas`."""
    return {**_HERE, "broker": broker, "role": role, "leader_epoch": 0, "leo": leo, "hw": hw, "in_isr": in_isr}


def epochs(broker: int, *entries: tuple[int, int]) -> list[dict[str, Any]]:
    """The rows of `leader_epochs` of a replica, from (epoch, start offset)."""
    ends = [start for _, start in entries[1:]]
    return [
        {**_HERE, "broker": broker, "epoch": epoch, "start_offset": start, "end_offset": to}
        for (epoch, start), to in zip(entries, [*ends, None], strict=True)
    ]


def outcome(**counts: int) -> dict[str, Any]:
    """A row of `outcomes`; what is not given is 0."""
    names = (
        "appended", "acked", "acked_lost", "committed_lost", "refused", "truncated", "elections", "unclean_elections",
        "leaderless_rounds", "leader", "leader_epoch",
    )  # fmt: skip
    return {**_HERE, **dict.fromkeys(names, 0), "isr": [2], **counts}


def partition(protocol: str, rounds: int, replicas: Sequence[int], traced: str, **tables: Any) -> PartitionRows:
    """A partition, orders:0 of a run's base, with its trace."""
    scenario = {"scenario_id": 0, "name": "base", "protocol": protocol, "rounds": rounds, "round_ms": 500, "mode": "plain"}
    replica_rows, controllers = trace(traced)
    return PartitionRows(scenario, "orders", 0, replicas, trace=replica_rows, controllers=controllers, **tables)


ZOMBIE = partition(
    "kafka",
    18,
    [1, 2, 3],
    """
     0 | L0 5/0          | F0 5/0 fetched <0   | F0 5/0 fetched <0    | 1 e0 isr 1 2 3
     1 | L0 10/5         | F0 10/5 fetched     | F0 10/5 fetched      | 1 e0 isr 1 2 3
     2 | L0 15/10        | F0 15/10 fetched    | F0 15/10 fetched     | 1 e0 isr 1 2 3
     3 | L0 20/15        | F0 20/15 fetched    | F0 20/15 fetched     | 1 e0 isr 1 2 3
     4 | L0 25/15        | F0 20/15            | F0 20/15             | 1 e0 isr 1 2 3
     5 | L0 30/15        | F0 20/15            | F0 20/15             | 1 e0 isr 1 2 3
     6 | L0 30/15        | L1 25/15            | F1 20/15 @0          | 2 e1 isr 2 3 elr 1
     7 | L0 30/15        | L1 30/20            | F1 30/20 fetched     | 2 e1 isr 2 3 elr 1
     8 | L0 30/15        | L1 30/30            | F1 30/30 empty       | 2 e1 isr 2 3 elr 1
     9 | L0 30/15        | L1 30/30            | F1 30/30 empty       | 2 e1 isr 2 3 elr 1
    10 | F1 30/15 @0     | L1 35/30            | F1 35/30 fetched     | 2 e1 isr 2 3 elr 1
    11 | F1 20/15 truncated @0 | L1 40/35      | F1 40/35 fetched     | 2 e1 isr 2 3 elr 1
    12 | F1 45/35 fetched | L1 45/40           | F1 45/40 fetched     | 2 e1 isr 2 3 elr 1
    13 | F1 50/45 fetched | L1 50/45           | F1 50/45 fetched     | 2 e1 isr 1 2 3
    14 | F1 55/50 fetched | L1 55/50           | F1 55/50 fetched     | 2 e1 isr 1 2 3
    15 | F1 58/55 fetched | L1 58/55           | F1 58/55 fetched     | 2 e1 isr 1 2 3
    16 | F1 58/58 empty   | L1 58/58           | F1 58/58 empty       | 2 e1 isr 1 2 3
    17 | F1 58/58 empty   | L1 58/58           | F1 58/58 empty       | 2 e1 isr 1 2 3
    """,
    outcome=outcome(appended=68, acked=58, acked_lost=10, refused=10, truncated=10, elections=1, leader=2, leader_epoch=1),
    ends=[end(1, "follower", 58, 58), end(2, "leader", 58, 58), end(3, "follower", 58, 58)],
    leader_epochs=[*epochs(1, (0, 0), (1, 20)), *epochs(2, (0, 0), (1, 20)), *epochs(3, (0, 0), (1, 20))],
    brokers=[{"broker": 1, "rack": "a"}, {"broker": 2, "rack": "b"}, {"broker": 3, "rack": None}],
    faults=[fault(0, "isolation", 4, 10, broker=1, name="zombie leader")],
    events=[
        event(6, "acked_lost", 2, 20, 30, cause=0, epoch=0),
        event(6, "isr_shrink", 1, cause=0, epoch=0),
        event(6, "fenced", 1, cause=0),
        event(6, "election", 2, 20, cause=0, epoch=1),
        event(8, "refused", 2, 30, 35, epoch=1),
        event(10, "unfenced", 1, cause=0),
        event(11, "truncate", 1, 30, 20, cause=0, epoch=1),
        event(13, "isr_expand", 1, cause=0, epoch=1),
    ],
    violations=[
        violation(6, "AckedNeverLost", "records 20..29 of epoch 0 were acknowledged; broker 2 leads without them", 0),
        violation(None, "LogMatching", '{"broker": 1, "other": 3}'),
    ],
)
"""A leader is cut off and goes on acknowledging: what it wrote alone is cut when it comes back."""

ASKING = partition(
    "kafka-kip101",
    10,
    [2, 1],
    """
    0 | L0 21/10          | F0 10/10 asked <10        | 1 e0 isr 1 2
    1 | L0 21/10          | F0 10/10                  | 1 e0 isr 1 2
    2 | F1 21/10 @0       | L1 25/10                  | 2 e1 isr 1 2
    3 | L2 31/31          | O1 25/10                  | 1 e2 isr 1
    4 | L2 31/31          | O1 25/10                  | -1 e3 isr 1
    5 | L4 31/31          | F4 25/10 @1               | 1 e4 isr 1
    6 | L4 31/31          | F4 25/10 asked @1         | 1 e4 isr 1
    7 | L4 31/31          | F4 25/10 out_of_order @1  | 1 e4 isr 1
    8 | L4 31/31          | F4 25/10 out_of_order @1  | 1 e4 isr 1
    9 | F4 31/31          | L5 25/10                  | 2 e5 isr 2
    """,
    outcome=outcome(appended=46, acked=46, acked_lost=25, elections=4, unclean_elections=1, leader=2, leader_epoch=5),
    ends=[end(1, "follower", 31, 31, False), end(2, "leader", 25, 10)],
    leader_epochs=[*epochs(1, (0, 0), (2, 21)), *epochs(2, (0, 0), (1, 10), (5, 25))],
    brokers=[{"broker": 1, "rack": None}, {"broker": 2, "rack": None}],
    faults=[
        fault(0, "link_cut", 1, 5, broker=1, peer=2, direction="both"),
        fault(1, "controlled_shutdown", 3, 5, broker=2),
        fault(2, "stale_metadata", 9, None),
    ],
    events=[
        event(2, "election", 2, 10, epoch=1),
        event(2, "acked_lost", 2, 10, 21, cause=0, epoch=0),
        event(3, "election", 1, 21, cause=1, epoch=2),
        event(3, "fenced", 2, cause=1),
        event(3, "isr_shrink", 2, cause=1, epoch=1),
        event(4, "leader_lost", 1, epoch=3),
        event(5, "election", 1, 31, epoch=4),
        event(9, "unclean_election", 2, 25, epoch=5),
        event(9, "committed_lost", 2, 21, 31, epoch=2),
    ],
)
"""An older protocol: followers ask where to cut; fetches that are lost, that fit no more; an unclean election."""

FIVE = partition(
    "kafka",
    7,
    [2, 3, 4, 5, 6],
    (DATA / "five.trace").read_text("utf-8"),
    outcome=outcome(appended=123456789, acked=4000, elections=2, leaderless_rounds=2, leader=2, leader_epoch=2),
    ends=[end(b, "leader" if b == 2 else "follower", 123456789 if b == 2 else 4000, 3000) for b in (2, 3, 4, 5, 6)],
    leader_epochs=epochs(2, (0, 0), (1, 2000), (2, 4000)),
    brokers=[{"broker": broker, "rack": "ab"[broker % 2]} for broker in range(1, 7)],
    faults=[
        fault(3, "power_loss", 2, 5, broker=1),
        fault(7, "rack_loss", 6, None, rack="b"),
        fault(8, "controller_loss", 3, 4),
        fault(9, "slow_link", 1, 2, broker=1, peer=5, direction="out", bytes_per_second=1000),
    ],
    events=[
        event(2, "log_damaged", 1, 2000, 0, cause=3, epoch=0),
        event(4, "fenced", 1, cause=3),
        event(4, "election", 2, 2000, cause=3, epoch=1),
        event(6, "election", 2, 4000, epoch=2),
        event(6, "reassignment_completed", 2, epoch=2),
        event(6, "segment_roll", 2, 4000, epoch=2),
        event(6, "a_kind_of_later_days", 2, epoch=2),
    ],
)
"""Six brokers, one of them new, and offsets that do not fit their columns."""

STORIES = {"zombie": ZOMBIE, "asking": ASKING, "five": FIVE}
