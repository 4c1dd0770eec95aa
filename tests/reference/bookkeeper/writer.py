"""The client that writes the ledger: adds, ensemble changes, its own close (steps 2, 3 and 6 of docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .bookie import NO_LAC
from .metadata import CLOSED, IN_RECOVERY, Metadata
from .placement import Placement
from .window import CauseOf, Failure, Message, Window, bookies_of, cause_of_change

LEDGER_FENCED, LEDGER_CLOSED = "LedgerFencedException", "LedgerClosedException"
NOT_ENOUGH_BOOKIES, METADATA_VERSION = "NotEnoughBookiesException", "MetadataVersionException"
OK = "OK"

WRITING, CLOSING, SHUT, FENCED_OFF, CRASHED = "writing", "closing", "shut", "fenced_off", "crashed"
"""`closing`: it wants to close the ledger; `shut`: it has, or found it closed; `fenced_off`: it knows of a recovery."""


@dataclass
class Writer:
    """What the writer knows. `lac` is the last entry that it acknowledged; `results` are the adds' in order."""

    window: Window
    metadata: Metadata
    placement: Placement
    state: str = WRITING
    lac: int = NO_LAC
    next_entry: int = 0
    queued: int = 0
    window_size: int = 1
    changing: dict[int, Failure] | None = None
    change_cause: int | None = None
    stop_cause: int | None = None
    lac_told: int = NO_LAC
    explicit_lac: int = NO_LAC
    """ExplicitLacFlushPolicyImpl.explicitLac."""
    known: list[int] = field(default_factory=list)
    """The last ensemble of the ledger as this client knows it: the window's, and what changes under way made of it."""
    results: list[tuple[int, str]] = field(default_factory=list)
    closes: list[str] = field(default_factory=list)
    close_asked: int = 0

    @property
    def writes(self) -> bool:
        """It still takes adds."""
        return self.state == WRITING

    # Step 1 ---------------------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """Gone without closing: nobody hears of what was in flight."""
        self.state, self.changing, self.queued = CRASHED, None, 0
        self.window.pending.clear()
        self.window.acknowledged.clear()

    def ask_to_close(self) -> None:
        """The application closes: adds in flight fail, the ledger shall end at the LAC."""
        if self.state == CRASHED:
            return
        self.close_asked += 1
        if self.state == WRITING:
            self._fail_adds(LEDGER_CLOSED)
            self.state, self.changing, self.stop_cause = CLOSING, None, None
        elif self.state == FENCED_OFF:
            self.state, self.stop_cause = CLOSING, None

    # Step 2 ---------------------------------------------------------------------------------------------------------

    def use_store(self, registered: Iterable[int], now: int, newest_cause: int | None = None) -> list[Message]:
        """Carry out the ensemble change or the close that was wanted; the store is up. Return what is sent again.

        With a change that is done entries may be acknowledged, too (`results`, `lac`).

        `newest_cause`: the fault behind the newest recovery.
        """
        messages = self._change_ensemble(registered, now, newest_cause) if self.writes and self.changing is not None else []
        if self.state == CLOSING:
            self._close()
        while self.close_asked and self.state == SHUT:
            self.close_asked -= 1
            self.closes.append(METADATA_VERSION if self.metadata.last_entry != self.lac else OK)
        return messages

    def miss_store(self, registered: Iterable[int]) -> None:
        """The store is away. An ensemble change can't be written, but that there is nobody to choose shows without it."""
        if self.writes and self.changing is not None:
            self._choose(registered)

    def _choose(self, registered: Iterable[int]) -> list[int] | None:
        """The ensemble that it wants: the one that it knows, if nobody is to be replaced. None: it stops for want of bookies."""
        known, changing = self.known or list(self.window.ensemble), self.changing or {}
        failed = {index: one for index, one in bookies_of(changing).items() if known[index] == one}
        if not failed:
            return known
        self.change_cause = cause_of_change(known, changing)
        ensemble = self.placement.replace(known, failed, registered)
        if ensemble != known:
            return ensemble
        self._stop(NOT_ENOUGH_BOOKIES, self.change_cause)
        return None

    def _change_ensemble(self, registered: Iterable[int], now: int, newest_cause: int | None) -> list[Message]:
        """A MetadataUpdateLoop: what it knows is changed first, and that it writes, or is told why it can't."""
        metadata, window = self.metadata, self.window
        known = self.known or list(window.ensemble)
        ensemble = self._choose(registered)
        if ensemble is None:
            return []
        if ensemble != known:
            if metadata.state == CLOSED:
                self._stop(LEDGER_CLOSED, metadata.close_cause)
                return []
            if metadata.state == IN_RECOVERY:
                self._stop(LEDGER_FENCED, newest_cause, knows_of_recovery=True)
                return []
            metadata.put_ensemble(self.lac + 1, ensemble, self.change_cause)
            known = ensemble
        later, window.failed_later = window.failed_later, {}
        self.known = list(known)
        self.changing = {index: one for index, one in later.items() if known[index] == one.bookie}
        if self.changing:
            return []
        self.changing, self.known = None, []
        messages = window.change_ensemble(known, now)
        self._acknowledge(window.take_done())
        return messages

    def _close(self) -> None:
        """Close at the LAC. This overrides a recovery that isn't done; whoever closed first has the last word."""
        if self.metadata.state != CLOSED:
            self.metadata.close(self.lac, by="writer", cause=self.stop_cause)
        self.state = SHUT

    # Step 3 ---------------------------------------------------------------------------------------------------------

    def send(self, now: int) -> list[Message]:
        """Send as many new adds as the window has room for; all carry the LAC of now."""
        if not self.writes:
            self._refuse_queued(LEDGER_FENCED if self.state == FENCED_OFF else LEDGER_CLOSED)
            return []
        messages: list[Message] = []
        for _ in range(min(self.queued, self.window_size - len(self.window.pending))):
            if self.window.failed_later:
                self._want_replaced({})
            messages += self.window.send(self.next_entry, self.lac, now)
            self.lac_told = self.lac
            self.next_entry += 1
            self.queued -= 1
        return messages

    # Step 6 ---------------------------------------------------------------------------------------------------------

    def take_answers(
        self,
        answers: Iterable[tuple[Message, str]],
        is_dead: Callable[[int], bool],
        now: int,
        cause_of: CauseOf,
        newest_cause: int | None = None,
    ) -> list[int]:
        """Failures first, then the fence, then what was stored; return the entries that are acknowledged now."""
        if not self.writes:
            return []
        while failed := self.window.next_failure(is_dead, now, cause_of):
            self._want_replaced(failed)
        if any(self.window.take_answer(message, answer, newest_cause) for message, answer in answers):
            self._stop(LEDGER_FENCED, newest_cause)
            return []
        if not self.window.complete() or self.changing is not None:
            return []
        self.window.acknowledge()
        return self._acknowledge(self.window.take_done())

    def tells_lac(self) -> bool:
        """ExplicitLacFlushPolicyImpl.run, in rounds in which it is due: whether bookies are told the LAC.

        The one before the last acknowledged entry's is what adds carried at least; when that rose it is left at that.
        """
        carried = self.lac - 1
        if self.explicit_lac < carried:
            self.explicit_lac = carried
            return False
        self.explicit_lac = self.lac
        return self.lac > self.lac_told

    def _acknowledge(self, acknowledged: list[int]) -> list[int]:
        self.results += [(entry, OK) for entry in acknowledged]
        self.lac = acknowledged[-1] if acknowledged else self.lac
        return acknowledged

    def _want_replaced(self, failed: dict[int, Failure]) -> None:
        later = self.window.failed_later
        if self.changing is not None:
            later.update(failed)
        else:
            self.changing = {**later, **failed}
            later.clear()

    def _stop(self, error: str, cause: int | None, knows_of_recovery: bool = False) -> None:
        """An error that no other bookie mends: all adds fail, and the ledger is closed unless it is known to be recovered."""
        self._fail_adds(error)
        self.state, self.changing = FENCED_OFF if knows_of_recovery else CLOSING, None
        self.stop_cause = cause

    def _fail_adds(self, error: str) -> None:
        self.results += [(add.entry, error) for add in self.window.pending]
        self.window.pending.clear()
        self.window.acknowledged.clear()

    def _refuse_queued(self, error: str) -> None:
        if self.state != CRASHED:
            self.results += [(NO_LAC, error)] * self.queued
        self.queued = 0
