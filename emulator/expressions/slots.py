"""Replicas of a partition as bits: slot s of a partition is bit 1 << s of its masks (ISR, unfenced, running, ...).

A partition's slots are all brokers that are ever its replicas, in first-assignment order. The replica *order* (who is
preferred) is a bigint of ORDER_BITS per position holding slot + 1, 0 behind the last; reassignments change it.
All helpers return SQL text, to be used inside `F.expr`.
"""

from __future__ import annotations

ORDER_BITS = 5
MAX_SLOTS = 12  # 12 positions x 5 bits fit a bigint


def bit(slot: str) -> str:
    """The mask of one slot; a slot of -1 gives bit 31, which no mask holds."""
    return f"shiftleft(1, {slot})"


def has(mask: str, slot: str) -> str:
    """Whether the mask holds the slot (false for slot -1)."""
    return f"(({mask} & {bit(slot)}) != 0)"


def mine(mask: str) -> str:
    """Whether the mask holds this row's own slot."""
    return f"(({mask} & own_bit) != 0)"


def at_position(order: str, position: int) -> str:
    """The slot at a position of a replica order, -1 behind the last."""
    return f"(CAST(shiftright({order}, {position * ORDER_BITS}) & 31 AS INT) - 1)"


def first_in_order(order: str, mask: str, slots: int) -> str:
    """The first slot of the order that the mask holds, -1 if none."""
    tests = " ".join(
        f"WHEN {has(mask, at_position(order, position))} THEN {at_position(order, position)}" for position in range(slots)
    )
    return f"(CASE {tests} ELSE -1 END)"


def mask_of_order(order: str, slots: int) -> str:
    """The mask of all slots named in an order."""
    bits = [f"IF({at_position(order, p)} >= 0, {bit(at_position(order, p))}, 0)" for p in range(slots)]
    return "(" + " | ".join(bits) + ")"


def mask_of_slots(slots: str) -> str:
    """The mask of an array of slots."""
    return f"aggregate({slots}, 0, (m, s) -> m | shiftleft(1, s))"


def pack_order(slots: list[int]) -> int:
    """The bigint of a replica order given as slots."""
    packed = 0
    for position, slot in enumerate(slots):
        packed |= (slot + 1) << (position * ORDER_BITS)
    return packed
