"""Which fault is behind what happens to a broker (docs/kafka_rounds.md, "What the faults say of a broker": cause).

Choices where the page is silent: a fault is named by its place among all faults of the scenario, `all_faults` of a case where it
has only some of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .broker_status import RACK_KINDS, kind_at_broker, rounds_of

Fault = Mapping[str, Any]
Ranked = tuple[tuple[int, int], Fault]
"""A fault after how strong it is, which comes first, and its place among all faults."""

STRENGTH = (
    {"disk_loss"},
    {"power_loss"},
    {"broker_crash", "rack_loss"},
    {"controlled_shutdown"},
    {"broker_pause"},
    {"isolation", "rack_isolation"},
    {"link_cut"},
    {"slow_link", "slow_disk"},
    {"stale_metadata"},
    {"controller_loss"},
)
"""Kinds, the strongest first; those of one set tie."""
KINDS = frozenset().union(*STRENGTH)


EVERYBODY = ("everybody", None)


@dataclass
class _Looked:
    """Whom which faults are on, of those looked at last: the cases of a batch have all of its faults, in the same list."""

    faults: Sequence[Fault] = ()
    count: int = -1
    on: dict[tuple[str, object], list[Ranked]] = field(default_factory=dict)


_looked = _Looked()


def causes_of(broker: int, rack: object, faults: Sequence[Fault], rounds: int) -> list[int | None]:
    """By round the place of the fault behind what happens to the broker then, None before the first."""
    if _looked.faults is not faults or _looked.count != len(faults):
        _looked.faults, _looked.count, _looked.on = faults, len(faults), {}
        for at, fault in enumerate(faults):
            for whom in _whom(fault):
                _looked.on.setdefault(whom, []).append(((_place(fault), at), fault))
    whom_all = (EVERYBODY, ("broker", broker), ("rack", None if rack is None else str(rack)))
    return strongest_by_round([ranked for whom in whom_all for ranked in _looked.on.get(whom, ())], rounds)


def strongest_by_round(faults: Iterable[Ranked], rounds: int) -> list[int | None]:
    """By round the place of the strongest fault in force then, else of the last that was; None: none was yet."""
    causes: list[int | None] = [None] * rounds
    for (_, at), fault in sorted(faults, key=lambda ranked: ranked[0], reverse=True):  # a stronger one over those before it
        for now in rounds_of(fault, rounds):
            causes[now] = at
    for now in range(1, rounds):
        if causes[now] is None:
            causes[now] = causes[now - 1]
    return causes


def _place(fault: Fault) -> int:
    """How strong a fault is: its place among kinds."""
    return next(place for place, kinds in enumerate(STRENGTH) if kind_at_broker(fault) in kinds)


def _whom(fault: Fault) -> set[tuple[str, object]]:
    """Whom a fault is on: a broker, those at both ends of a link, a rack, or all of them where it names no broker."""
    kind = fault["kind"]
    if kind not in KINDS:
        return set()
    if kind in RACK_KINDS:
        return {("rack", str(fault["rack"]))}
    if kind == "controller_loss" or (kind == "stale_metadata" and fault.get("broker") is None):
        return {EVERYBODY}
    if kind == "slow_link" and fault.get("peer") is None:
        return {EVERYBODY}
    peer = fault.get("peer") if kind in ("link_cut", "slow_link") else None
    return {("broker", fault["broker"]), *([] if peer is None else [("broker", peer)])}
