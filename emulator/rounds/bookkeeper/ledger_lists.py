"""A ledger's lists: into the scratch arrays, and packed again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.compiled import compiled
from emulator.rounds.packed import load, store


class Words(NamedTuple):
    """The scratch arrays, and the ledgers' records, as words."""

    fragments: np.ndarray
    ensembles: np.ndarray
    found: np.ndarray
    found_ensembles: np.ndarray
    own: np.ndarray
    recoveries: np.ndarray
    openings: np.ndarray
    readers: np.ndarray
    reads: np.ndarray
    closes: np.ndarray
    adds: np.ndarray
    requests: np.ndarray
    late_answers: np.ndarray
    failures: np.ndarray
    bookies: np.ndarray
    stored: np.ndarray
    headers: np.ndarray
    replacements: np.ndarray
    old_ledgers: np.ndarray
    ledgers: np.ndarray


@compiled
def load_lists(old: State, ledger: Ledger, number: int, words: Words, seat: int, seats: int) -> None:
    """The lists of ledger `number` into one of so many seats of the scratch arrays."""
    room = len(words.fragments) // seats
    load(ledger.fragments, old.fragments, number, words.fragments, seat * room, room)
    load(ledger.fragments, old.ensembles, number, words.ensembles, seat * room, room)
    room = len(words.found) // seats
    load(ledger.found, old.found, number, words.found, seat * room, room)
    load(ledger.found, old.found_ensembles, number, words.found_ensembles, seat * room, room)
    room = len(words.own) // seats
    load(ledger.own, old.own, number, words.own, seat * room, room)
    room = len(words.recoveries) // seats
    load(ledger.recoveries, old.recoveries, number, words.recoveries, seat * room, room)
    room = len(words.openings) // seats
    load(ledger.openings, old.openings, number, words.openings, seat * room, room)
    room = len(words.readers) // seats
    load(ledger.readers, old.readers, number, words.readers, seat * room, room)
    room = len(words.reads) // seats
    load(ledger.reads, old.reads, number, words.reads, seat * room, room)
    room = len(words.closes) // seats
    load(ledger.closes, old.closes, number, words.closes, seat * room, room)
    room = len(words.adds) // seats
    load(ledger.adds, old.adds, number, words.adds, seat * room, room)
    room = len(words.requests) // seats
    load(ledger.requests, old.requests, number, words.requests, seat * room, room)
    room = len(words.late_answers) // seats
    load(ledger.late_answers, old.late_answers, number, words.late_answers, seat * room, room)
    room = len(words.failures) // seats
    load(ledger.failures, old.failures, number, words.failures, seat * room, room)
    room = len(words.bookies) // seats
    load(ledger.bookies, old.bookies, number, words.bookies, seat * room, room)
    room = len(words.stored) // seats
    load(ledger.stored, old.stored, number, words.stored, seat * room, room)
    room = len(words.headers) // seats
    load(ledger.headers, old.headers, number, words.headers, seat * room, room)
    room = len(words.replacements) // seats
    load(ledger.replacements, old.replacements, number, words.replacements, seat * room, room)


@compiled
def store_lists(new: State, ledger: Ledger, number: int, words: Words) -> bool:
    """Pack a ledger's lists behind those of the ledgers before. False: there is no room."""
    fits = store(ledger.fragments, new.fragments, number, words.fragments)
    fits = fits and store(ledger.fragments, new.ensembles, number, words.ensembles)
    fits = fits and store(ledger.found, new.found, number, words.found)
    fits = fits and store(ledger.found, new.found_ensembles, number, words.found_ensembles)
    fits = fits and store(ledger.own, new.own, number, words.own)
    fits = fits and store(ledger.recoveries, new.recoveries, number, words.recoveries)
    fits = fits and store(ledger.openings, new.openings, number, words.openings)
    fits = fits and store(ledger.readers, new.readers, number, words.readers)
    fits = fits and store(ledger.reads, new.reads, number, words.reads)
    fits = fits and store(ledger.closes, new.closes, number, words.closes)
    fits = fits and store(ledger.adds, new.adds, number, words.adds)
    fits = fits and store(ledger.requests, new.requests, number, words.requests)
    fits = fits and store(ledger.late_answers, new.late_answers, number, words.late_answers)
    fits = fits and store(ledger.failures, new.failures, number, words.failures)
    fits = fits and store(ledger.bookies, new.bookies, number, words.bookies)
    fits = fits and store(ledger.stored, new.stored, number, words.stored)
    fits = fits and store(ledger.headers, new.headers, number, words.headers)
    return fits and store(ledger.replacements, new.replacements, number, words.replacements)


@compiled
def is_full(ledger: Ledger) -> bool:
    """Whether a list of the ledger had no room."""
    full = ledger.fragments.full | ledger.found.full | ledger.own.full | ledger.recoveries.full | ledger.openings.full
    full |= ledger.closes.full | ledger.adds.full | ledger.requests.full | ledger.failures.full | ledger.bookies.full
    full |= ledger.late_answers.full | ledger.readers.full | ledger.reads.full
    return full | ledger.stored.full | ledger.headers.full | ledger.replacements.full != 0
