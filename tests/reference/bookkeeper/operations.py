"""What the writer's and the recoveries' operations come to: columns of `ledgers` (docs/tables.md), and the event add_failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .bookie import NO_LAC, OK
from .recovery import DONE, FAILED

if TYPE_CHECKING:
    from .ledger import Ledger


@dataclass
class Operations:
    """Counts up to now, the error of the last operation, and what of results was looked at already."""

    error: str = OK
    ensemble_changes: int = 0
    adds_resent: int = 0
    unwritable_rounds: int = 0
    unacked_rounds: int = 0
    has_begun: bool = False
    has_to_write: bool = False
    lac_before: int = NO_LAC
    results_seen: int = 0
    closes_seen: int = 0
    recoveries_seen: set[int] = field(default_factory=set)


def begin_operations(ledger: Ledger) -> None:
    """A round begins; before the first one nothing was answered, whatever there was before the run."""
    own, writer = ledger.operations, ledger.writer
    own.lac_before, own.has_to_write = writer.lac, False
    if not own.has_begun:
        own.results_seen, own.has_begun = len(writer.results), True


def note_operations(ledger: Ledger) -> None:
    """Something may have been carried out: adds and closes are answered, or recoveries ended."""
    own, writer = ledger.operations, ledger.writer
    ended = {number for number, one in enumerate(ledger.recoveries) if one.phase in (DONE, FAILED)}
    seen = (own.results_seen, own.closes_seen, own.recoveries_seen)
    if (len(writer.results), len(writer.closes), ended) == seen:
        return
    new = writer.results[own.results_seen :]
    failed = [entry for entry, answer in new if answer != OK and entry > NO_LAC]
    if failed:
        ledger.event("add_failed", None, failed[0], failed[-1] + 1, cause=writer.stop_cause)
    answers = [answer for _, answer in new] + writer.closes[own.closes_seen :]
    answers += [ledger.recoveries[number].error or OK for number in sorted(ended - own.recoveries_seen)]
    own.results_seen, own.closes_seen, own.recoveries_seen = len(writer.results), len(writer.closes), ended
    own.error = answers[-1] if answers else own.error


def note_what_waits(ledger: Ledger) -> None:
    """Step 3 begins: whether something is in the queue or in flight."""
    ledger.operations.has_to_write = ledger.writer.queued > 0 or bool(ledger.writer.window.pending)


def end_operations(ledger: Ledger) -> None:
    """A round ends: unwritable is one in which there was something to write, and the LAC did not rise."""
    own, writer = ledger.operations, ledger.writer
    own.unwritable_rounds += own.has_to_write and writer.lac == own.lac_before
    own.unacked_rounds += writer.queued + len(writer.window.pending) if writer.writes else 0


def columns_of(ledger: Ledger) -> dict[str, Any]:
    """As table `ledgers` has them."""
    own = ledger.operations
    names = ("error", "ensemble_changes", "adds_resent", "unwritable_rounds", "unacked_rounds")
    of_writer = {"writer": ledger.writer.state.replace("_", " "), "next_entry": ledger.writer.next_entry}
    return {name: getattr(own, name) for name in names} | of_writer
