"""What a partition has of tiered storage between two stretches."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.records import Partition
from emulator.rounds.kafka.scratch_lists import TierLists
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.words import Words
from emulator.rounds.leaps import remember
from emulator.rounds.packed import load, store
from emulator.rounds.slots import MAX_SLOTS


@compiled
def load_tiers(old: State, tiers: TierLists, part: Partition, number: int, words: Words) -> None:
    """A partition's records and lists of tiered storage into the scratch arrays."""
    remember(words.old_tier[number], words.tier[0])
    tier = tiers.whole[0]
    load(tier.segments, old.remote, number, words.remote, 0, len(words.remote))
    load(tier.epochs, old.remote_epochs, number, words.remote_epochs, 0, len(words.remote_epochs))
    load(tier.events, old.remote_events, number, words.remote_events, 0, len(words.remote_events))
    load(tier.pins, old.pins, number, words.pins, 0, len(words.pins))
    room = len(words.known) // MAX_SLOTS
    for slot in range(part.slots):
        at = part.first_replica + slot
        remember(words.old_tiers[at], words.tiers[slot])
        replica = tiers.replicas[slot]
        load(replica.starts, old.starts, at, words.starts, slot * room, room)
        load(replica.aux_epochs, old.aux_epochs, at, words.aux_epochs, slot * room, room)
        load(replica.known, old.known, at, words.known, slot * room, room)
        load(replica.states, old.known_states, at, words.known_states, slot * room, room)
        load(replica.reaches, old.reaches, at, words.reaches, slot * room, room)


@compiled
def store_tiers(new: State, tiers: TierLists, part: Partition, number: int, words: Words) -> bool:
    """Pack what `load_tiers` loaded. False: there is no room."""
    tier = tiers.whole[0]
    fits = store(tier.segments, new.remote, number, words.remote)
    fits = fits and store(tier.epochs, new.remote_epochs, number, words.remote_epochs)
    fits = fits and store(tier.events, new.remote_events, number, words.remote_events)
    fits = fits and store(tier.pins, new.pins, number, words.pins)
    for slot in range(part.slots):
        replica, at = tiers.replicas[slot], part.first_replica + slot
        fits = fits and store(replica.starts, new.starts, at, words.starts)
        fits = fits and store(replica.aux_epochs, new.aux_epochs, at, words.aux_epochs)
        fits = fits and store(replica.known, new.known, at, words.known)
        fits = fits and store(replica.states, new.known_states, at, words.known_states)
        fits = fits and store(replica.reaches, new.reaches, at, words.reaches)
        remember(words.tiers[slot], words.new_tiers[at])
    remember(words.tier[0], words.new_tier[number])
    return fits
