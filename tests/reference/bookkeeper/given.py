"""Short ways for tests to say what a ledger, its faults and its commands are, and to look at it round by round."""

from __future__ import annotations

from typing import Any

from .ledger import Ledger
from .simulate import play_round

Rows = list[dict[str, Any]]


def case(shape: tuple[int, int, int] = (3, 3, 2), bookies: int = 7, rounds: int = 60, **given: Any) -> dict[str, Any]:
    """A case with ensemble [1, 2, ..., E]; `config` and whatever else is given on top."""
    ensemble, write, ack = shape
    return {
        "rounds": rounds,
        "round_ms": 500,
        "brokers": list(range(1, bookies + 1)),
        "replicas": list(range(1, ensemble + 1)),
        "topic_config": {"ensembleSize": ensemble, "writeQuorumSize": write, "ackQuorumSize": ack},
        **given,
    }


def adds(from_round: int, to_round: int, per_round: int = 1, in_flight: int | None = None) -> dict[str, Any]:
    """A row of the workload; by default as many in flight as a round brings."""
    window = per_round if in_flight is None else in_flight
    return {"from_round": from_round, "to_round": to_round, "records_per_round": per_round, "max_in_flight": window}


def fault(kind: str, broker: int | None, from_round: int, to_round: int | None = None, **more: Any) -> dict[str, Any]:
    """A row of the faults."""
    place = {} if broker is None else {"broker": broker}
    return {"kind": kind, "from_round": from_round, "to_round": to_round, **place, **more}


def crash(broker: int, from_round: int, to_round: int | None = None) -> dict[str, Any]:
    """A bookie's process is gone."""
    return fault("broker_crash", broker, from_round, to_round)


def command(kind: str, round_: int, **more: Any) -> dict[str, Any]:
    """A row of the commands."""
    return {"kind": kind, "round": round_, **more}


def play(ledger: Ledger, to_round: int) -> Ledger:
    """Play on up to the end of the round."""
    first = ledger.now + 1 if ledger.started else ledger.now
    for now in range(first, to_round + 1):
        ledger.now, ledger.started = now, True
        play_round(ledger)
    return ledger


def fragments(ledger: Ledger) -> dict[int, list[int]]:
    """The fragments of the metadata, by first entry."""
    return {fragment.first_entry: fragment.ensemble for fragment in ledger.metadata.fragments}


def end_of(ledger: Ledger) -> tuple[str, int | None]:
    """State and last entry."""
    return ledger.metadata.state, ledger.metadata.last_entry
