"""Topics that are lists of ledgers: which of their rows are ledgers, what all of them come to, and what readers get."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emulator.errors import InputError
from emulator.expressions.bookkeeper.state import CLOSED
from emulator.expressions.bookkeeper.texts import ENTRIES_READ
from emulator.expressions.bookkeeper.topics.columns import LISTED, PLAYED
from emulator.inputs import ScenarioInputs
from emulator.ledger_configs import MAX_LEDGERS
from emulator.outcomes.names import Names

_KEYS = ("scenario_id", "partition_id")
ACKED_LOST = (
    f"IF(dropped_round IS NOT NULL, lac + 1, greatest(lac + 1 - IF(ledger_state = {CLOSED}, last_entry + 1, next_entry), 0L))"
)
"""Entries that were acknowledged and aren't in the ledger, or in a ledger that isn't in the list."""


def check_rows(state: DataFrame, inputs: list[ScenarioInputs]) -> None:
    """Raises InputError if a topic would have had more ledgers than the run has rows for."""
    full = state.filter("slot = 0 AND list_full").select(*_KEYS, "feed.managed.max_ledgers").limit(1).collect()
    for row in full:
        (scenario,) = (i.scenario for i in inputs if i.scenario.scenario_id == row.scenario_id)
        ids = [(topic.name, p) for topic in scenario.topics for p in range(topic.partitions)]
        topic, partition = ids[row.partition_id]
        problem = f"{topic}:{partition} needs more than {row.max_ledgers} ledgers"
        raise InputError(
            f"scenario {scenario.name}: {problem}; allowed: {MAX_LEDGERS} = {2 * row.max_ledgers}, say, in its config"
        )


def there(state: DataFrame) -> DataFrame:
    """The ledgers that were ever created."""
    return state.filter("feed.managed IS NULL OR created_round IS NOT NULL")


def kept(state: DataFrame) -> DataFrame:
    """The ledgers that bookies still have."""
    return state.filter(PLAYED)


def newest(state: DataFrame) -> DataFrame:
    """Of each topic the ledger added last, and every ledger by itself."""
    return state.filter("slot = coalesce(greatest(parts - 1, 0), 0)")


def of_all_ledgers(state: DataFrame, summed: dict[str, str]) -> DataFrame:
    """A row for each partition: the newest ledger's, with these SQL texts summed up over all of its ledgers."""
    sums = there(state).groupBy(*_KEYS).agg(*(F.expr(f"sum({text})").alias(f"all_{name}") for name, text in summed.items()))
    rows = newest(state).join(sums, list(_KEYS), "left")
    return rows.withColumns({f"all_{name}": F.expr(f"coalesce(all_{name}, 0)") for name in summed})


def topic_rows(state: DataFrame, known: Names) -> DataFrame:
    """The table `topics`: of each list of ledgers."""
    listed = f"IF({LISTED}, {{0}}, {{1}})"
    summed = {
        "acked": "lac + 1",
        "acked_lost": ACKED_LOST,
        "readable": listed.format(ENTRIES_READ, "0L"),
        "ledgers_listed": listed.format("1", "0"),
        "ledgers_deleted": "IF(deleted_round IS NULL, 0, 1)",
        "messages_deleted": f"IF(deleted_round IS NULL, 0L, {ENTRIES_READ})",
    }
    columns = {name: f"all_{name}" for name in summed} | {
        "unacked": "topic_unacked",
        "unwritable_rounds": "topic_unwritable_rounds",
        "ledgers_created": "parts",
        "take_overs": "size(owners) - 1",
    }
    rows = of_all_ledgers(state.filter("list_version IS NOT NULL"), summed)
    return known.add_partitions(rows).withColumns({name: F.expr(text) for name, text in columns.items()})
