"""What readers, and copies to a remote store, read from bookies (docs/bookkeeper_rounds.md, "Readers")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .metadata import fragment_of

if TYPE_CHECKING:
    from .ledger import Ledger
    from .topics import Topic


def read(ledger: Ledger, entries: Iterable[int]) -> int:
    """Read entries, each from the first heard bookie of its write set that has it; return the bytes."""
    total = 0
    for entry in entries:
        ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
        write_set = [ensemble[index] for index in ledger.quorums.write_set(entry)]
        sources = [one for one in write_set if ledger.is_heard(one) and entry in ledger.bookies[one].entries]
        if sources:
            ledger.served[sources[0]] += ledger.slowness.sizes[entry]
            total += ledger.slowness.sizes[entry]
    return total


def serve_readers(ledger: Ledger) -> None:
    """Step 6, at its end: each read_ledger of this round reads all that is acknowledged, or recovered."""
    last = ledger.metadata.last_entry
    end = (ledger.writer.lac if last is None else last) + 1
    for command in ledger.case.get("commands", []):
        if command["kind"] == "read_ledger" and command["round"] == ledger.now:
            ledger.reader_bytes += read(ledger, range(end))


def serve_topic(topic: Topic, store_up: bool) -> None:
    """Each read_topic of this round reads all ledgers of the list: offloaded ones from the store, if that is there."""
    for command in topic.case.get("commands", []):
        if command["kind"] != "read_topic" or command["round"] != topic.now:
            continue
        for part in topic.listed:
            if part.offloaded_round is None:
                part.ledger.reader_bytes += read(part.ledger, range(part.entries))
            elif store_up:
                part.ledger.reader_remote_bytes += sum(part.ledger.slowness.sizes[: part.entries])
