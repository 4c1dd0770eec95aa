"""What is known of a ledger, or of a topic, in a round: its rows, faults in force, what bookies newly have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from emulator.explain.fetches import offsets
from emulator.explain.history import RoundsTold
from emulator.explain.ledger_rows import LedgerRows
from emulator.explain.rows import Row


class LedgerHistory(RoundsTold):
    """Looks up what is known of a round and a bookie of a ledger."""

    def __init__(self, rows: LedgerRows) -> None:
        super().__init__(rows)
        self.rows = rows
        self.ledgers: dict[int, Row] = {row["round"]: row for row in rows.trace}
        self.bookies: dict[tuple[int, int], Row] = {(row["round"], row["broker"]): row for row in rows.bookie_trace}

    def sent(self, round_: int) -> tuple[int, int] | None:
        """Returns [from, to) of what the writer sent first in a round; None: nothing."""
        return self._gone_beyond("last_add_pushed", round_)

    def acknowledged(self, round_: int) -> tuple[int, int] | None:
        """Returns [from, to) of what the writer acknowledged in a round; None: nothing."""
        return self._gone_beyond("writer_lac", round_)

    def _gone_beyond(self, last: str, round_: int) -> tuple[int, int] | None:
        """Returns [from, to) of the entries by which a last one moved on in a round; None: by none."""
        now, before = self.ledgers.get(round_), self.ledgers.get(round_ - 1)
        if now is None:
            return None
        first = self.rows.first_own_entry if before is None else before[last] + 1
        return (first, now[last] + 1) if now[last] >= first else None

    def taken(self, round_: int, broker: int) -> list[int]:
        """Entries that a bookie newly has at the end of a round."""
        now, before = self.bookies.get((round_, broker)), self.bookies.get((round_ - 1, broker))
        if now is None:
            return []
        floor = 0 if round_ - 1 in self.ledgers else self.rows.first_own_entry
        known = {} if before is None else {(run["ensemble_index"], run["from_entry"]): run["to_entry"] for run in before["held"]}
        found: set[int] = set()
        for run in now["held"]:
            start = max(floor, known.get((run["ensemble_index"], run["from_entry"]), run["from_entry"]))
            found.update(self._shares(run["ensemble_index"], start, run["to_entry"]))
        had = [] if before is None else before["held"]
        return sorted(entry for entry in found if not any(self._has(run, entry) for run in had))

    def unanswered(self, round_: int) -> dict[int, list[int]]:
        """By bookie the adds whose answers the writer awaits at the end of a round."""
        found: dict[int, list[int]] = defaultdict(list)
        for add in self.ledgers.get(round_, {}).get("in_flight", ()):
            for broker in add["awaited_from"]:
                found[broker].append(add["entry"])
        return found

    def is_recovering(self, round_: int) -> bool:
        """Whether a recovery writes entries back, in this round or the one before."""
        rows = (self.ledgers.get(number, {}) for number in (round_ - 1, round_))
        return any(one["phase"] in ("read", "write", "close") for row in rows for one in row.get("recoveries", ()))

    def _shares(self, index: int, start: int, end: int) -> Iterator[int]:
        size, quorum = self.rows.ledger["ensemble_size"], self.rows.ledger["write_quorum"]
        return (entry for entry in range(start, end) if (index - entry) % size < quorum)

    def _has(self, run: Row, entry: int) -> bool:
        return run["from_entry"] <= entry < run["to_entry"] and entry in self._shares(run["ensemble_index"], entry, entry + 1)


def entries_words(entries: Sequence[int]) -> str:
    """Returns entries as people write them: a range, with their number where some are left out.

    >>> entries_words([4]), entries_words([4, 5, 6]), entries_words([4, 6])
    ('4', '4..6', '4..6 (2)')
    """
    whole = offsets(entries[0], entries[-1] + 1)
    return whole if entries[-1] - entries[0] + 1 == len(entries) else f"{whole} ({len(entries)})"
