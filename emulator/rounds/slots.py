"""Replicas of a partition as bits, and the order of its replica list.

A partition's slots are all brokers that are ever its replicas, in first-assignment order: slot s is bit 1 << s of its masks. The
replica *order*, who is preferred, has slot + 1 in five bits for each place, the first one lowest; 0 behind the last.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers

ORDER_BITS = 5
ORDER_MASK = 31
MAX_SLOTS = 12


@compiled_into_callers
def has(mask: int, slot: int) -> bool:
    """Whether the mask holds the slot; slot -1 is in no mask."""
    return slot >= 0 and (mask >> slot) & 1 == 1


@compiled_into_callers
def size(mask: int) -> int:
    """How many slots the mask holds."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@compiled_into_callers
def slot_at(order: int, place: int) -> int:
    """The slot at a place of an order, -1 behind the last."""
    return ((order >> (place * ORDER_BITS)) & ORDER_MASK) - 1


@compiled
def first_in_order(order: int, mask: int) -> int:
    """The first slot of the order that the mask holds, -1 if none does."""
    for place in range(MAX_SLOTS):
        slot = slot_at(order, place)
        if slot < 0:
            return -1
        if has(mask, slot):
            return slot
    return -1


@compiled
def slots_in(order: int) -> int:
    """The mask of all slots of an order."""
    mask = 0
    for place in range(MAX_SLOTS):
        slot = slot_at(order, place)
        if slot < 0:
            break
        mask |= 1 << slot
    return mask


@compiled
def order_within(order: int, mask: int) -> int:
    """The slots of an order that the mask holds, in that order."""
    within = 0
    place = 0
    for at in range(MAX_SLOTS):
        slot = slot_at(order, at)
        if slot < 0:
            break
        if has(mask, slot):
            within |= (slot + 1) << (place * ORDER_BITS)
            place += 1
    return within
