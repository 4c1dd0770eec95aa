"""Where a leap over quiet rounds of a ledger has to stop (see emulator/expressions/kafka/horizons.py)."""

from __future__ import annotations

from emulator.expressions.bookkeeper.repair.repair_horizons import repair_horizons
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import FENCE, WRITING
from emulator.expressions.bookkeeper.topics.columns import PLAYED
from emulator.expressions.bookkeeper.topics.rollover_horizons import topic_horizons


def _tick(period: str) -> str:
    return f"((round + {period} - 1) DIV greatest({period}, 1)) * {period}"


def horizon(rules: LedgerRules) -> str:
    """SQL: the first round that has to be run, the largest int if there is none."""

    def asked_first(adds: str) -> str:
        return f"array_min(transform(flatten(transform({adds}, d_ -> d_.waiting)), w_ -> w_.round))"

    of_recoveries = asked_first("flatten(transform(recoveries, r_ -> r_.adds))")
    tells = f"feed.explicit_lac_rounds > 0 AND writer_state = {WRITING} AND lac > lac_told"
    fencing = f"array_min(transform(filter(recoveries, r_ -> r_.phase = {FENCE}), r_ -> r_.since_round))"
    texts = (
        f"IF(feed.flush_rounds > 0, {_tick('feed.flush_rounds')}, null)",
        f"IF({tells}, {_tick('feed.explicit_lac_rounds')}, null)",
        f"least({asked_first('adds')}, {of_recoveries}) + feed.add_timeout",
        f"{fencing} + feed.read_timeout",
        *(repair_horizons() if rules.repairs else ()),
    )
    never = f"{2**31 - 1}L"
    of_ledger = f"coalesce({_first(texts)}, {never})"
    if rules.topics:
        of_ledger = f"least(IF({PLAYED}, {of_ledger}, {never}), coalesce({_first(topic_horizons(rules))}, {never}))"
    return f"greatest(round, {of_ledger})"


def _first(texts: tuple[str, ...]) -> str:
    return f"least({', '.join(f'CAST({text} AS BIGINT)' for text in texts)})"
