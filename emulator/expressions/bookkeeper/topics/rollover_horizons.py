"""Where a leap over quiet rounds of a topic has to stop: a ledger's rollover, a round of retention (see ../horizons.py)."""

from __future__ import annotations

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import WRITING
from emulator.expressions.bookkeeper.topics.columns import PLAYED
from emulator.expressions.bookkeeper.topics.offload import offload_horizons
from emulator.expressions.bookkeeper.topics.retention import next_deletion


def topic_horizons(rules: LedgerRules) -> tuple[str, ...]:
    """SQL texts: rounds that have to be run; null for none. `drift`: emulator/leaps.py."""
    writes = f"(feed.managed IS NOT NULL AND writer_state = {WRITING} AND {PLAYED})"

    def of_age(rounds: str) -> str:
        at = f"(created_round + {rounds} - 1)"
        return f"IF({writes} AND {at} >= round, {at}, null)"

    lacking = "(least(feed.managed.max_entries, feed.managed.size_entries) - lac - 1)"
    filled = f"round + ({lacking} + drift.lac - 1) DIV drift.lac - 1"
    return (
        next_deletion(),
        of_age("feed.managed.max_age_rounds"),
        of_age("feed.managed.min_age_rounds"),
        f"IF({writes} AND drift.lac > 0 AND {lacking} > 0, {filled}, null)",
        *(offload_horizons() if rules.offloads else ()),
    )
