"""A client that opens the ledger with recovery (steps 2, 3 and 6 of docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .bookie import NO_LAC
from .metadata import CLOSED, Fragment, Metadata, put_ensemble
from .placement import Placement, stays
from .questions import NO_SUCH_ENTRY, READ_EXCEPTION, TIMEOUT, Question, told_error
from .quorums import END, FOUND, NO, RECOVERED, UNKNOWN, Quorums, read_verdict
from .rules import Rules
from .settings import Settings
from .window import CauseOf, Failure, Message, Window, bookies_of, cause_of_change

MARK, FENCE, READ, WRITE, CLOSE, DONE, FAILED = "mark", "fence", "read", "write", "close", "done", "failed"
OK = "OK"
UNEXPECTED_CONDITION, NOT_ENOUGH_BOOKIES = "UnexpectedConditionException", "NotEnoughBookiesException"
LEDGER_RECOVERY = "LedgerRecoveryException"
"""What the client is told of an attempt that fails, whatever it was but a time-out."""


@dataclass
class Recovery:
    """One recovering client. `fragments` are as it found them: it reads by them; `changes` come on top when it writes."""

    name: str
    metadata: Metadata
    quorums: Quorums
    settings: Settings
    placement: Placement
    rules: Rules
    retry: bool = True
    cause: int | None = None
    started_round: int = 0
    phase: str = MARK
    attempt: int = 0
    fragments: list[Fragment] = field(default_factory=list)
    changes: list[Fragment] = field(default_factory=list)
    window: Window | None = None
    heard: set[int] = field(default_factory=set)
    since_round: int = 0
    base_lac: int = NO_LAC
    lac: int = NO_LAC
    error: str | None = None
    attempt_error: str | None = None
    asked_round: int | None = None
    asked: int = 0
    """So many of the write set were asked for the entry."""
    pause_ms: int = 0
    speculate_round: int | None = None
    answers: list[str] = field(default_factory=list)
    entry_error: str | None = None
    """What the attempt fails with if nobody settles the question for the entry."""
    awaited: dict[int, Question] = field(default_factory=dict)
    """By index the questions of which something may come still."""
    fenced_in_round: int | None = None
    closed_in_round: int | None = None

    @property
    def running(self) -> bool:
        """It is neither done nor has it given up."""
        return self.phase not in (DONE, FAILED)

    @property
    def entry(self) -> int:
        """The entry that it looks for, or writes back."""
        return self.lac + 1

    @property
    def needed(self) -> int:
        """Qf, or what a mutant takes for it."""
        return self.quorums.missing if self.rules.enough_missing else self.quorums.ack

    # Step 2 ---------------------------------------------------------------------------------------------------------

    def use_store(self, now: int) -> None:
        """Mark the ledger, or close it; the store is up."""
        if self.phase == MARK:
            self._open(now)
        elif self.phase == CLOSE:
            self._close(now)

    def _open(self, now: int) -> None:
        if self.metadata.state == CLOSED:
            self._done()
            return
        self.metadata.mark_in_recovery()
        self.attempt += 1
        self.fragments, self.changes = self.metadata.copy_of_fragments(), []
        self.heard, self.since_round = set(), now
        self._settle()
        self.base_lac = self.lac = NO_LAC
        self.window = Window(
            client=f"{self.name}/{self.attempt}",
            quorums=self.quorums,
            ensemble=list(self.fragments[-1].ensemble),
            recovery=True,
            timeout_rounds=self.settings.add_timeout_rounds,
            delay_ensemble_change=self.settings.delay_ensemble_change,
        )
        self.phase = FENCE

    def _close(self, now: int) -> None:
        """Write the last entry and all ensemble changes at once; a ledger that somebody else closed is as that one says."""
        if self.metadata.state == CLOSED:
            self._done()
            return
        if self.rules.lac_floor and any(one.first_entry < self.metadata.last.first_entry for one in self.changes):
            self._fail(UNEXPECTED_CONDITION)
            return
        for change in self.changes:
            put_ensemble(self.metadata.fragments, change.first_entry, change.ensemble, change.cause)
        self.metadata.close(self.lac, by=self.name, cause=self.cause)
        self.closed_in_round = now
        self._done()

    def _done(self) -> None:
        assert self.metadata.last_entry is not None
        self.phase, self.lac, self.error = DONE, self.metadata.last_entry, OK

    def _fail(self, error: str) -> None:
        """Give up this attempt; the next one begins anew, with the ensembles that the metadata has."""
        self.error = TIMEOUT if error == TIMEOUT else LEDGER_RECOVERY
        self.attempt_error, self.window = error, None
        self._settle()
        self.phase = MARK if self.retry else FAILED

    # Step 3 ---------------------------------------------------------------------------------------------------------

    def send(self, now: int, registered: Iterable[int]) -> list[Message]:
        """Write the entry back, if one was found; bookies that failed an entry before are replaced first."""
        if self.phase != WRITE or self.window is None or self.window.pending:
            return []
        messages: list[Message] = []
        if self.window.failed_later:
            failed, self.window.failed_later = self.window.failed_later, {}
            messages = self.replace(failed, registered, now)
        if self.phase == WRITE:
            messages += self.window.send(self.entry, self.base_lac, now)
        return messages

    def replace(self, failed: Mapping[int, Failure], registered: Iterable[int], now: int) -> list[Message]:
        """Change the ensemble of its own writes; nobody else learns of it before the close."""
        assert self.window is not None
        ensemble = self.placement.replace(self.window.ensemble, bookies_of(failed), registered)
        if ensemble == self.window.ensemble and stays(ensemble, bookies_of(failed)):
            self._fail(NOT_ENOUGH_BOOKIES)
            return []
        if ensemble != self.window.ensemble:
            put_ensemble(self.changes, self.entry, ensemble, cause_of_change(self.window.ensemble, failed))
        return self.window.change_ensemble(ensemble, now)

    # Step 6 ---------------------------------------------------------------------------------------------------------

    def take_lacs(self, told: Mapping[int, int], timed_out: bool, now: int) -> None:
        """Take the answers to the fencing question: by index the LACs that were told."""
        self.heard |= set(told)
        self.base_lac = max([self.base_lac, *told.values()])
        if self.quorums.covered(self.heard, self.needed):
            floor = self.fragments[-1].first_entry - 1 if self.rules.lac_floor else NO_LAC
            self.base_lac = self.lac = max(self.base_lac, floor)
            self.phase = READ if self.rules.recover_tail else CLOSE
            self.fenced_in_round = now
            self._settle()
        elif not self.awaited:
            self._fail(TIMEOUT if timed_out else READ_EXCEPTION)

    def begin_reading(self, now: int) -> None:
        """Ask for the next entry."""
        self.asked_round, self.asked, self.entry_error = now, 0, None
        self.pause_ms = self.settings.first_speculative_ms
        self.speculate_round = now + self.settings.timeout(self.pause_ms) if self.pause_ms else None

    def speculates(self, now: int) -> bool:
        """Whether the next one is asked though others may answer still; the pause to the one after that is twice as long."""
        if self.speculate_round != now or self.knows_enough or self.asked == self.quorums.write:
            return False
        self.pause_ms = min(2 * self.pause_ms, self.settings.max_speculative_ms)
        self.speculate_round = now + self.settings.timeout(self.pause_ms)
        return True

    def hear(self, came: str) -> None:
        """What a question for the entry came to: found, or an error."""
        if self.knows_enough:
            return
        if came != FOUND:
            self.entry_error = told_error(self.entry_error, came)
        self.answers.append(self._as_taken(FOUND if came == FOUND else NO if came == NO_SUCH_ENTRY else UNKNOWN))

    @property
    def knows_enough(self) -> bool:
        """Whether the answers so far settle the question."""
        return read_verdict(self.answers, self.needed)[0] in (RECOVERED, END)

    def conclude(self) -> None:
        """What the answers of this round, and those before, come to; while one is on its way it may go on."""
        verdict, _ = read_verdict(self.answers, self.needed)
        if verdict not in (RECOVERED, END) and self.awaited:
            return
        self._settle()
        if verdict == RECOVERED:
            self.phase = WRITE
        elif verdict == END:
            self.phase = CLOSE
        else:
            assert self.entry_error is not None
            self._fail(self.entry_error)

    def _settle(self) -> None:
        """The question is settled; what is still on its way counts for nothing."""
        self.asked_round, self.answers = None, []
        self.awaited.clear()

    def _as_taken(self, answer: str) -> str:
        if answer == NO and not self.rules.no_is_an_answer:
            return UNKNOWN
        if answer == UNKNOWN and not self.rules.unknown_is_no_answer:
            return NO
        return answer

    def take_answers(
        self,
        answers: Iterable[tuple[Message, str]],
        is_dead: Callable[[int], bool],
        registered: Iterable[int],
        now: int,
        cause_of: CauseOf,
    ) -> list[Message]:
        """Take the answers to adds; return what goes to new bookies, in the next round."""
        assert self.window is not None
        resent: list[Message] = []
        while failed := self.window.next_failure(is_dead, now, cause_of):
            resent += self.replace(failed, registered, now + 1)
            if self.window is None:
                return resent  # nobody for this failure; what went to who replaced an earlier one arrives
        for message, answer in answers:
            self.window.take_answer(message, answer)
        if self.window.complete() and self.phase == WRITE:
            self.window.acknowledge()
        if self.window.take_done():
            self.lac += 1
            self.phase = READ
        return resent
