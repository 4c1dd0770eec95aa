"""What must hold of a ledger (docs/invariants.md), looked at after every round.

What bookies lost with their disks or their power is no fault of the protocol: that an entry is nowhere is told all the same, but
excused (`Violation.excused`) once a bookie of the ledger lost anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .ledger import Ledger
from .metadata import CLOSED, OPEN, fragment_of
from .repair import holders
from .writer import OK

NOWHERE = "on no bookie of its write set"


@dataclass(frozen=True)
class Violation:
    """An invariant that doesn't hold at the end of a round, and what shows it."""

    round: int
    invariant: str
    witness: str
    excused: bool = False


@dataclass
class Watch:
    """Looks at a ledger round by round; each violation is told once.

    `written` of a recovery: the last entry that Qa bookies of its write set had, with all before it, when it was done fencing.
    """

    ledger: Ledger
    written: dict[str, int] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    """The entries that some bookie of their write set has."""

    def look(self) -> list[Violation]:
        """The violations that are new in this round."""
        ledger = self.ledger
        for recovery in ledger.recoveries:
            if recovery.fenced_in_round == ledger.now:
                self.written[recovery.name] = _written_up_to(ledger, recovery.base_lac)
        self.held = _held(ledger)
        found = []
        for name, predicate in INVARIANTS.items():
            for witness in predicate(self):
                if (name, witness) not in self.told:
                    self.told.add((name, witness))
                    found.append(Violation(ledger.now, name, witness, ledger.lost_to_faults and witness.endswith(NOWHERE)))
        return found


def _written_up_to(ledger: Ledger, lac: int) -> int:
    entry = lac
    while len(holders(ledger, entry + 1)) >= ledger.quorums.ack:
        entry += 1
    return entry


def _held(ledger: Ledger) -> set[int]:
    """The entries that some bookie of their write set has, fragment by fragment (`holders` of one entry)."""
    held: set[int] = set()
    starts = sorted(ledger.metadata.fragments, key=lambda one: one.first_entry)
    for fragment, after in zip(starts, [*starts[1:], None], strict=True):
        for index, broker in enumerate(fragment.ensemble):
            held.update(
                entry
                for entry in ledger.bookies[broker].entries
                if entry >= fragment.first_entry
                and (after is None or entry < after.first_entry)
                and ledger.quorums.holds(index, entry)
            )
    return held


def _acknowledged(ledger: Ledger) -> list[int]:
    return [entry for entry, result in ledger.writer.results if result == OK]


def _all_acked_entries_are_readable(watch: Watch) -> Iterator[str]:
    """Every acknowledged entry is within the ledger and on a bookie of its write set, whether or not that one is up."""
    ledger = watch.ledger
    last = ledger.metadata.last_entry
    for entry in _acknowledged(ledger):
        if last is not None and entry > last:
            yield f"entry {entry} is acknowledged, the ledger ends at {last}"
        elif entry not in watch.held:
            yield f"entry {entry} is acknowledged, and {NOWHERE}"


def _only_valid_fragments(watch: Watch) -> Iterator[str]:
    """Fragments start at 0 and then ever higher, at most one above the last entry; an ensemble has E bookies."""
    metadata, quorums = watch.ledger.metadata, watch.ledger.quorums
    starts = [fragment.first_entry for fragment in metadata.fragments]
    if starts[0] != 0 or any(later <= earlier for earlier, later in zip(starts, starts[1:], strict=False)):
        yield f"fragments were added at {starts}"
    if metadata.last_entry is not None and metadata.fragments[-1].first_entry > metadata.last_entry + 1:
        yield f"a fragment starts at {starts[-1]}, the ledger ends at {metadata.last_entry}"
    for fragment in metadata.fragments:
        if len(set(fragment.ensemble)) != quorums.ensemble:
            yield f"ensemble {fragment.ensemble} at {fragment.first_entry}"


def _no_out_of_order_entries(watch: Watch) -> Iterator[str]:
    """Entries are acknowledged one after the other; a closed ledger has no gap, and nothing that was not written."""
    ledger = watch.ledger
    acknowledged = _acknowledged(ledger)
    if acknowledged != list(range(len(acknowledged))):
        yield f"acknowledged in the order {acknowledged}"
    if ledger.metadata.last_entry is None:
        return
    for entry in range(ledger.metadata.last_entry + 1):
        if entry not in watch.held:
            yield f"entry {entry} is within the closed ledger, and {NOWHERE}"
    if ledger.metadata.last_entry >= ledger.writer.next_entry:
        yield f"the ledger ends at {ledger.metadata.last_entry}, {ledger.writer.next_entry} entries were written"


def _no_divergence_between_client_and_metadata(watch: Watch) -> Iterator[str]:
    """No client thinks otherwise of the ledger than the metadata.

    The writer doesn't acknowledge what lies behind the end of a closed ledger; while it writes, it writes to the last
    ensemble, and so did the recovery that closes the ledger, when it does; who recovered it has the end that it has.
    """
    metadata, writer = watch.ledger.metadata, watch.ledger.writer
    if metadata.last_entry is not None and writer.lac > metadata.last_entry:
        yield f"the writer's LAC is {writer.lac}, the ledger ends at {metadata.last_entry}"
    if metadata.state == OPEN and writer.writes and writer.changing is None and writer.window.ensemble != metadata.last.ensemble:
        yield f"the writer writes to {writer.window.ensemble}, the metadata says {metadata.last.ensemble}"
    for recovery in watch.ledger.recoveries:
        wrote_to = None if recovery.window is None else recovery.window.ensemble
        if recovery.closed_in_round == watch.ledger.now and wrote_to not in (None, metadata.last.ensemble):
            yield f"{recovery.name} wrote to {wrote_to}, the metadata says {metadata.last.ensemble}"
        if recovery.phase == "done" and recovery.lac != metadata.last_entry:
            yield f"{recovery.name} ended at {recovery.lac}, the ledger at {metadata.last_entry}"


def _recovered_lac_covers_acked(watch: Watch) -> Iterator[str]:
    """A ledger that a recovery closed has what was acknowledged, and what Qa bookies had when it was done fencing."""
    metadata = watch.ledger.metadata
    if metadata.last_entry is None or metadata.closed_by in (None, "writer"):
        return
    acknowledged = watch.ledger.writer.lac
    written = watch.written.get(metadata.closed_by or "", -1)
    if max(acknowledged, written) > metadata.last_entry:
        yield f"acknowledged up to {acknowledged}, written up to {written}, recovered up to {metadata.last_entry}"


def _recovery_ends(watch: Watch) -> Iterator[str]:
    """In the last round: a ledger that was to be recovered is closed, if nothing happened in its last rounds."""
    ledger = watch.ledger
    if ledger.now < ledger.case["rounds"] - 1 or ledger.metadata.state == CLOSED:
        return
    ends = [fault.get("to_round") or ledger.case["rounds"] for fault in ledger.faults if fault["kind"] != "client_crash"]
    asked = [command["round"] for command in ledger.case.get("commands", [])]
    asked += [recovery.started_round for recovery in ledger.recoveries]
    entries = max((recovery.entry for recovery in ledger.recoveries), default=0)
    enough = (
        ledger.settings.add_timeout_rounds + ledger.settings.read_timeout_rounds + 2 * max(entries, ledger.writer.next_entry) + 8
    )
    if max([*ends, *asked, 0]) + enough > ledger.now:
        return
    for recovery in ledger.recoveries:
        if recovery.running and recovery.retry:
            yield f"{recovery.name} is still in phase {recovery.phase} at entry {recovery.entry}"


INVARIANTS: dict[str, Callable[[Watch], Iterator[str]]] = {
    "AllAckedEntriesAreReadable": _all_acked_entries_are_readable,
    "OnlyValidFragments": _only_valid_fragments,
    "NoOutOfOrderEntries": _no_out_of_order_entries,
    "NoDivergenceBetweenClientAndMetaData": _no_divergence_between_client_and_metadata,
    "RecoveredLacCoversAcked": _recovered_lac_covers_acked,
    "RecoveryEnds": _recovery_ends,
}


def write_set_of(ledger: Ledger, entry: int) -> list[int]:
    """The bookies that the metadata names for an entry."""
    ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
    return [ensemble[index] for index in ledger.quorums.write_set(entry)]
