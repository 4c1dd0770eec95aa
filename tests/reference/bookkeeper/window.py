"""The adds that one client has in flight, of the writer and of a recovery alike: requests, answers, failed bookies.

An add is *completed* with Qa answers; it is *acknowledged*, and leaves the window, when every earlier one is and no
ensemble change is under way. Requests of acknowledged adds that are still unanswered are watched on: whoever fails one
is replaced with the next add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .bookie import FENCED, OK
from .quorums import Quorums

CauseOf = Callable[[int], int | None]
"""The fault behind what happens to a bookie."""


@dataclass
class Message:
    """One add on its way to one bookie."""

    client: str
    entry: int
    lac: int
    index: int
    bookie: int
    recovery: bool
    sent_round: int


@dataclass(frozen=True)
class Failure:
    """A bookie that failed an add, and is to be replaced; the fault behind it."""

    bookie: int
    cause: int | None


def bookies_of(failed: Mapping[int, Failure]) -> dict[int, int]:
    """By index the bookies that failed."""
    return {index: failure.bookie for index, failure in failed.items()}


def cause_of_change(ensemble: Sequence[int], failed: Mapping[int, Failure]) -> int | None:
    """The fault behind an ensemble change: for which the first bookie that still is at its index is replaced."""
    return next((failed[index].cause for index in sorted(failed) if ensemble[index] == failed[index].bookie), None)


@dataclass
class PendingAdd:
    """One entry: its header's LAC, which indices it waits for (with the round of sending), and their answers.

    `kept_back`: by index the fault that kept its request from being answered last.
    """

    entry: int
    lac: int
    waiting: dict[int, int] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    kept_back: dict[int, int | None] = field(default_factory=dict)
    completed: bool = False


@dataclass
class Window:
    """What a client sent and knows of the answers. `ensemble` is the one that it writes to now."""

    client: str
    quorums: Quorums
    ensemble: list[int]
    recovery: bool
    timeout_rounds: int
    delay_ensemble_change: bool
    pending: list[PendingAdd] = field(default_factory=list)
    acknowledged: list[PendingAdd] = field(default_factory=list)
    failed_later: dict[int, Failure] = field(default_factory=dict)
    answered: list[PendingAdd] = field(default_factory=list)
    """Adds of which an answer or a failure came since `complete` was last asked."""
    done: list[int] = field(default_factory=list)
    """Entries that were acknowledged, and not taken note of yet."""

    def send(self, entry: int, lac: int, now: int) -> list[Message]:
        """Send a new entry to its write set."""
        add = PendingAdd(entry, lac)
        self.pending.append(add)
        return [self._request(add, index, now) for index in self.quorums.write_set(entry)]

    def change_ensemble(self, ensemble: list[int], now: int) -> list[Message]:
        """Write to another ensemble from now on; what is pending goes to the new bookies as well, and only to them.

        PendingAddOp.unsetSuccessAndSendWriteRequest, for one add and one index after the other: where the add isn't written to
        the index, all that is complete at the front is acknowledged; what is acknowledged isn't sent again.
        """
        replaced = [index for index, bookie in enumerate(ensemble) if self.ensemble[index] != bookie]
        self.ensemble = list(ensemble)
        messages = []
        for add in (*self.acknowledged, *self.pending):
            for index in replaced:
                add.waiting.pop(index, None)
        for add in list(self.pending):
            for index in replaced:
                if not self.quorums.holds(index, add.entry):
                    self.acknowledge()
                    continue
                if add not in self.pending:
                    continue
                add.acked.discard(index)
                add.failed.discard(index)
                add.completed = add.completed and len(add.acked) >= self.quorums.ack
                messages.append(self._request(add, index, now))
        return messages

    def next_failure(self, is_dead: Callable[[int], bool], now: int, cause_of: CauseOf) -> dict[int, Failure]:
        """Give up on requests to dead bookies and on those that timed out, up to the first for which somebody is replaced now.

        Returns whom, by index; nobody when no request fails any more.
        An answer of this very round comes too late for one that timed out, not for one of a completed add.
        """
        for add, index in sorted(self._requests(), key=lambda one: (one[0].waiting[one[1]], one[0].entry, one[1])):
            bookie, waited = self.ensemble[index], now - add.waiting[index]
            if waited < 0 or (not is_dead(bookie) and waited < self.timeout_rounds):
                continue  # or it is sent in the next round only
            del add.waiting[index]
            self.answered.append(add)
            cause = cause_of(bookie) if is_dead(bookie) else add.kept_back.get(index)
            failed = self._fail(add, index, cause)
            self._forget_answered()
            if failed:
                return failed
        return {}

    def keep_back(self, message: Message, cause: int | None) -> None:
        """Note what kept a request from being answered, if it is still waited for."""
        for add in (*self.pending, *self.acknowledged):
            if add.entry == message.entry and add.waiting.get(message.index) == message.sent_round:
                add.kept_back[message.index] = cause

    def take_answer(self, message: Message, answer: str, newest_cause: int | None = None) -> bool:
        """Note an answer; return True if it says that this client is fenced off, unless the add was complete before.

        `newest_cause`: the fault behind the newest recovery, which is taken for who fenced it.
        """
        add = next((one for one in (*self.pending, *self.acknowledged) if one.entry == message.entry), None)
        if add is None or self.ensemble[message.index] != message.bookie or message.index not in add.waiting:
            return False
        del add.waiting[message.index]
        self.answered.append(add)
        if answer == OK:
            add.acked.add(message.index)
        elif answer == FENCED and (add.completed or add not in self.pending):
            if not self.delay_ensemble_change:
                self.failed_later[message.index] = Failure(message.bookie, newest_cause)
        elif answer == FENCED:
            return True
        self._forget_answered()
        return False

    def complete(self) -> bool:
        """Adds with Qa answers are complete. Whether this is looked at: after an answer to one of these, or a failure of one.

        PendingAddOp.writeComplete calls sendAddSuccessCallbacks for a complete add, whatever the answer.
        """
        for add in self.pending:
            add.completed = add.completed or len(add.acked) >= self.quorums.ack
        heard, self.answered = self.answered, []
        return any(add.completed for add in heard)

    def acknowledge(self) -> None:
        """Take the complete adds off the front, in order (LedgerHandle.sendAddSuccessCallbacks)."""
        while self.pending and self.pending[0].completed:
            add = self.pending.pop(0)
            self.acknowledged.append(add)
            self.done.append(add.entry)
        self._forget_answered()

    def take_done(self) -> list[int]:
        """Entries acknowledged since this was last asked."""
        done, self.done = self.done, []
        return done

    def _request(self, add: PendingAdd, index: int, now: int) -> Message:
        add.waiting[index] = now
        add.kept_back[index] = None
        return Message(self.client, add.entry, add.lac, index, self.ensemble[index], self.recovery, now)

    def _requests(self) -> Iterator[tuple[PendingAdd, int]]:
        for add in (*self.acknowledged, *self.pending):
            for index in sorted(add.waiting):
                yield add, index

    def _fail(self, add: PendingAdd, index: int, cause: int | None) -> dict[int, Failure]:
        """Whom this failure of one add at one index wants replaced now."""
        if add.completed:
            if not self.delay_ensemble_change:
                self.failed_later[index] = Failure(self.ensemble[index], cause)
            return {}
        if not self.delay_ensemble_change:
            return {index: Failure(self.ensemble[index], cause)}
        add.failed.add(index)
        if len(add.failed) <= self.quorums.write - self.quorums.ack:
            return {}
        return {one: Failure(self.ensemble[one], cause) for one in add.failed}

    def _forget_answered(self) -> None:
        self.acknowledged = [add for add in self.acknowledged if add.waiting]
