"""Whether a run goes on from what an earlier one kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from emulator.engine.interface import Kept


class Resuming:
    """What all engines of a run keep: each goes on from its own, and one that has nothing starts at round 0.

    `own`: of the run's engines. `others`: what runs of other engines would have left. `everything`: all of it.
    """

    def __init__(self, uri: str, own: Sequence[Kept], others: Sequence[Kept], everything: Kept) -> None:
        self._uri, self._own, self._others, self._everything = uri, own, others, everything

    def open(self, resume: bool, note: Callable[[str], None]) -> None:
        """Keep what there is to go on from, if that is wanted; else forget it.

        Raises InputError for what a run of other engines left; an engine refuses itself what it cannot go on from.
        """
        foreign = [kept for kept in self._others if kept.is_there()]
        there = [kept for kept in self._own if kept.is_there()]
        if resume:
            for kept in foreign:
                kept.check()
            if foreign or there:
                return
            note(f"nothing to resume in {self._uri}: starting at round 0")
        elif foreign or there:
            note(f"the checkpoint of an earlier run in {self._uri} is removed (--resume would go on from it)")
        self._everything.start_anew()

    def forget(self, note: Callable[[str], None]) -> None:
        """Remove everything after a run that has ended well; whatever keeps it from that is only noted."""
        self._everything.forget(note)

    def forget_useless(self) -> None:
        """Remove what a failed run leaves that cannot be gone on from, if that can be done."""
        for kept in self._own:
            kept.forget_useless()
        with suppress(Exception):
            if not any(kept.is_there() for kept in (*self._own, *self._others)):
                self._everything.start_anew()
