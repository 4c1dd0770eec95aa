"""The fault behind what happens (docs/bookkeeper_rounds.md, "Causes"): a fault's number is its place among the case's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.reference.broker_status import covers, kind_at_broker
from tests.reference.causes import strongest_by_round

from .status import concerns

STRENGTH = ("disk_loss", "power_loss", "broker_crash", "controlled_shutdown", "broker_pause", "isolation")
"""What a fault is for its bookies, the strongest first; a rack's fault is one of each of its bookies."""

Fault = Mapping[str, Any]


def numbered(faults: Sequence[Fault]) -> list[dict[str, Any]]:
    """The faults with their numbers, which they keep when some are left out."""
    return [{"fault_id": number, **fault} for number, fault in enumerate(faults)]


def causes_of_bookie(bookie: int, rack: object, faults: Sequence[Fault], rounds: int) -> list[int | None]:
    """By round the strongest fault in force on the bookie, else the last that was, by `numbered` faults; None: none was yet."""
    own = [fault for fault in faults if _kind(fault) in STRENGTH and concerns(fault, bookie, rack)]
    return strongest_by_round([((_rank(fault), fault["fault_id"]), fault) for fault in own], rounds)


def _rank(fault: Fault) -> int:
    return STRENGTH.index(_kind(fault))


def _kind(fault: Fault) -> str:
    kind = kind_at_broker(fault)
    return "broker_crash" if kind == "rack_loss" else kind


def fault_on_the_way(faults: Sequence[Fault], kind: str, bookie: int, entry: int, now: int) -> int | None:
    """The first fault of a kind (drop_adds, delay_adds) that gets hold of an add of the writer to a bookie in this round."""
    for fault in faults:
        if fault["kind"] != kind or fault["broker"] != bookie or not covers(fault, now):
            continue
        to_offset = fault.get("to_offset")
        if fault.get("from_offset", 0) <= entry and (to_offset is None or entry < to_offset):
            return int(fault["fault_id"])
    return None


def cause_of_crash(faults: Sequence[Fault], now: int) -> int | None:
    """The client_crash that took the writer: the first one."""
    crashes = [(fault["from_round"], fault["fault_id"]) for fault in faults if fault["kind"] == "client_crash"]
    return min(crashes)[1] if crashes and min(crashes)[0] <= now else None
