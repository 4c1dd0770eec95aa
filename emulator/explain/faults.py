"""A fault in words, as stories and dry runs tell it. Imports nothing that only stories need."""

from __future__ import annotations

from emulator.explain.rows import Row
from emulator.explain.times import times_of


def fault_words(fault: Row, seen_from: int | None = None) -> str:
    """Returns what a fault is: kind, place, name and id; `seen_from`: the broker in whose margin it stands."""
    ends = [b for b in (fault["broker"], fault["peer"]) if b is not None and b != seen_from]
    words = [str(fault["kind"])]
    if ends:
        words.append(("to " if seen_from is not None else "of ") + " and ".join(map(str, ends)))
    if fault["rack"] is not None and seen_from is None:
        words.append(f"of rack {fault['rack']}")
    if fault.get("power"):
        words.append("(power)")
    if (moment := fault.get("moment")) is not None:
        words.append("after the append" if moment >= 1 else f"at {moment:g} of its first round")
    if fault["peer"] is not None and fault["direction"] in ("in", "out"):
        words.append(f"({fault['direction']} of {fault['broker']})")
    if fault["bytes_per_second"] is not None:
        words.append(f"{fault['bytes_per_second']} B/s")
    if fault.get("round_trip_ms") is not None:
        words.append(f"round trip {fault['round_trip_ms']:g} ms")
    if fault.get("lag_rounds") is not None:
        words.append(f"lag of {fault['lag_rounds']} rounds")
    if fault["name"]:
        words.append(f'"{fault["name"]}"')
    return " ".join(words)


def fault_line(fault: Row, scenario: Row) -> str:
    """Returns a fault with its id, its rounds, and the time that they stand for."""
    start, end = fault["from_round"], fault["to_round"]
    to, last = ("the end", scenario["rounds"] - 1) if end is None else (f"round {end - 1}", end - 1)
    return f"{fault['fault_id']}: {fault_words(fault)}, round {start} to {to} ({times_of(scenario, start, last)})"
