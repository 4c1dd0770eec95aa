"""Round after round, from the scenarios to the final tables and all that was written down on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from functools import reduce

from emulator.rounds.relational.inputs.first_tables import first_histories, first_leaderships, first_tables
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.kafka_round import play_round, tables_after
from emulator.rounds.relational.outputs import trace
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.tables import Tables
from emulator.rounds.relational.verbs.learning import news_of

COMPACTED_ROUNDS = 16


@dataclass
class Played:
    """The state at the end, and rows written down on the way, by table name.

    first: what the first leaderships began with: pid, first_leader, first_epoch, first_leo, acked_to (of their logs, as
        acknowledged), unacknowledged.
    """

    tables: Tables
    first: Query
    written: dict[str, list[Query]] = field(default_factory=lambda: defaultdict(list))

    def rows(self, name: str) -> Query | None:
        """All rows of a table that was written down; None: there are none."""
        parts = self.written.get(name)
        return parts[0].union(*parts[1:]) if parts else None

    def add(self, name: str, rows: Query) -> None:
        """Write rows down."""
        parts = self.written[name]
        parts.append(rows)
        if len(parts) % COMPACTED_ROUNDS == 0:
            first, *others = parts[-COMPACTED_ROUNDS:]
            parts[-COMPACTED_ROUNDS:] = [rows.engine.compacted(first.union(*others))]


def play(
    engine: Engine,
    inputs: RunInputs,
    traced: Query | None = None,
    advance: Callable[[int], None] = lambda number: None,
    stops: Collection[int] = (),
) -> Played:
    """Play all rounds of some scenarios.

    `traced`: pid of the partitions whose rounds are kept; `advance`: told of each round; `stops`: after how many rounds it is
    noted how brokers stand.
    """
    tables = first_tables(engine, inputs)
    played = Played(tables, first_leaderships(engine, inputs, tables).settled())
    played.add("histories", first_histories(tables).settled())
    ends = {s.rounds for s in inputs.scenarios}
    finished: list[Tables] = []
    news = news_of(tables.partitions, "0").settled() if inputs.has_late_news else None
    for number in range(inputs.rounds):
        now = play_round(tables, inputs.of_round(engine, number, news))
        beside: dict[str, Query] = {}
        if traced is not None:
            beside |= dict(zip(("trace", "trace_partitions"), trace.traced(now, traced), strict=True))
        if number + 1 in stops or number + 1 in ends:
            beside["standing"] = trace.standing(now)
        settled = engine.settle(list(beside.values()), to_stay=False)
        for name, rows in (*now.written, *zip(beside, settled, strict=True)):
            played.add(name, rows)
        tables = tables_after(now)
        if news is not None:
            news = news.union(news_of(tables.partitions, str(number + 1))).settled()
        if number + 1 in ends:
            finished.append(_parted(tables, "rounds = round"))
            tables = _parted(tables, "rounds > round")
        advance(number + 1)
    played.tables = reduce(_together, finished)
    return played


def _parted(tables: Tables, when: str) -> Tables:
    """The partitions of which this is so, with what concerns them."""
    partitions = tables.partitions.where(when)
    pids = partitions.select("pid")
    names = [f.name for f in fields(Tables) if f.name != "partitions" and getattr(tables, f.name) is not None]
    parts = {name: getattr(tables, name).join(pids, "pid", "semi") for name in names}
    settled = partitions.engine.settle([partitions, *parts.values()])
    return Tables(settled[0], **dict(zip(names, settled[1:], strict=True)))


def _together(one: Tables, other: Tables) -> Tables:
    names = [f.name for f in fields(Tables) if getattr(one, f.name) is not None]
    return Tables(**{name: getattr(one, name).union(getattr(other, name)) for name in names})
