"""The adds that one client has in flight, of the writer and of a recovery alike: requests, answers, failed bookies.

An add is *completed* with Qa answers; it is *acknowledged*, and leaves the window, when every earlier one is and no
ensemble change is under way. Requests of acknowledged adds that are still unanswered are watched on: whoever fails one
is replaced with the next add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .bookie import FENCED, OK
from .quorums import Quorums


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


@dataclass
class PendingAdd:
    """One entry: its header's LAC, which indices it waits for (with the round of sending), and their answers."""

    entry: int
    lac: int
    waiting: dict[int, int] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
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
    failed_later: dict[int, int] = field(default_factory=dict)

    def send(self, entry: int, lac: int, now: int) -> list[Message]:
        """Send a new entry to its write set."""
        add = PendingAdd(entry, lac)
        self.pending.append(add)
        return [self._request(add, index, now) for index in self.quorums.write_set(entry)]

    def change_ensemble(self, ensemble: list[int], now: int) -> list[Message]:
        """Write to another ensemble from now on; what is pending goes to the new bookies as well, and only to them."""
        replaced = [index for index, bookie in enumerate(ensemble) if self.ensemble[index] != bookie]
        self.ensemble = list(ensemble)
        messages = []
        for add in self.acknowledged:
            for index in replaced:
                add.waiting.pop(index, None)
        for add in self.pending:
            for index in replaced:
                if not self.quorums.holds(index, add.entry):
                    continue
                add.acked.discard(index)
                add.failed.discard(index)
                add.completed = add.completed and len(add.acked) >= self.quorums.ack
                messages.append(self._request(add, index, now))
        return messages

    def take_failures(self, is_dead: Callable[[int], bool], now: int) -> dict[int, int]:
        """Give up on requests to dead bookies and on those that timed out; return whom to replace now, by index.

        An answer of this very round comes too late for one that timed out, not for one of a completed add.
        """
        now_failed: dict[int, int] = {}
        for add, index in list(self._requests()):
            bookie = self.ensemble[index]
            if not is_dead(bookie) and now - add.waiting[index] < self.timeout_rounds:
                continue
            del add.waiting[index]
            now_failed.update(self._fail(add, index))
        self._forget_answered()
        return now_failed

    def take_answer(self, message: Message, answer: str) -> bool:
        """Note an answer; return True if it says that this client is fenced off, unless the add was complete before."""
        add = next((one for one in (*self.pending, *self.acknowledged) if one.entry == message.entry), None)
        if add is None or self.ensemble[message.index] != message.bookie or message.index not in add.waiting:
            return False
        del add.waiting[message.index]
        if answer == OK:
            add.acked.add(message.index)
        elif answer == FENCED and (add.completed or add not in self.pending):
            if not self.delay_ensemble_change:
                self.failed_later[message.index] = message.bookie
        elif answer == FENCED:
            return True
        self._forget_answered()
        return False

    def complete(self) -> None:
        """Adds with Qa answers are complete."""
        for add in self.pending:
            add.completed = add.completed or len(add.acked) >= self.quorums.ack

    def acknowledge(self) -> list[int]:
        """Take the complete adds off the front; return their entries, in order."""
        done: list[int] = []
        while self.pending and self.pending[0].completed:
            add = self.pending.pop(0)
            self.acknowledged.append(add)
            done.append(add.entry)
        self._forget_answered()
        return done

    def _request(self, add: PendingAdd, index: int, now: int) -> Message:
        add.waiting[index] = now
        return Message(self.client, add.entry, add.lac, index, self.ensemble[index], self.recovery, now)

    def _requests(self) -> Iterator[tuple[PendingAdd, int]]:
        for add in (*self.acknowledged, *self.pending):
            for index in sorted(add.waiting):
                yield add, index

    def _fail(self, add: PendingAdd, index: int) -> dict[int, int]:
        """Whom this failure of one add at one index wants replaced now."""
        if add.completed:
            if not self.delay_ensemble_change:
                self.failed_later[index] = self.ensemble[index]
            return {}
        if not self.delay_ensemble_change:
            return {index: self.ensemble[index]}
        add.failed.add(index)
        if len(add.failed) <= self.quorums.write - self.quorums.ack:
            return {}
        return {one: self.ensemble[one] for one in add.failed}

    def _forget_answered(self) -> None:
        self.acknowledged = [add for add in self.acknowledged if add.waiting]
