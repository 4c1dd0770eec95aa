"""Which fault is behind what happens to a broker (docs/kafka_rounds.md, "What the faults say of a broker": cause).

Choices where the page is silent: a fault is named by its place among all faults of the scenario, `all_faults` of a case where it
has only some of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .broker_status import covers, kind_at_broker

Fault = Mapping[str, Any]

STRENGTH = (
    {"disk_loss"},
    {"power_loss"},
    {"broker_crash", "rack_loss"},
    {"controlled_shutdown"},
    {"broker_pause"},
    {"isolation"},
    {"link_cut"},
    {"slow_link", "slow_disk"},
    {"stale_metadata"},
    {"controller_loss"},
)
"""Kinds, the strongest first; those of one set tie."""


def causes_of(broker: int, rack: object, faults: Sequence[Fault], rounds: int) -> list[int | None]:
    """By round the place of the fault behind what happens to the broker then, None before the first."""
    own = [(at, fault) for at, fault in enumerate(faults) if _is_on(fault, broker, rack)]
    causes: list[int | None] = []
    for now in range(rounds):
        held = [(_place(fault), at) for at, fault in own if covers(fault, now)]
        causes.append(min(held)[1] if held else causes[-1] if causes else None)
    return causes


def _place(fault: Fault) -> int:
    """How strong a fault is: its place among kinds."""
    return next(place for place, kinds in enumerate(STRENGTH) if kind_at_broker(fault) in kinds)


def _is_on(fault: Fault, broker: int, rack: object) -> bool:
    """Whether a fault is on a broker: at either end of a link, on all of them where it names no broker."""
    kind = fault["kind"]
    if kind not in set().union(*STRENGTH):
        return False
    if kind == "rack_loss":
        return rack is not None and str(fault["rack"]) == str(rack)
    if kind == "controller_loss" or (kind == "stale_metadata" and fault.get("broker") is None):
        return True
    if kind == "slow_link" and fault.get("peer") is None:
        return True
    return broker in (fault["broker"], fault.get("peer") if kind in ("link_cut", "slow_link") else None)
