"""The SQL of the helper views, and which tables and views a query names. Without Spark."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from emulator.errors import InputError
from emulator.graphs.table_columns import GRAPH_COLUMNS
from emulator.table_columns import TABLE_COLUMNS

if TYPE_CHECKING:
    from emulator.outcomes.prices import PricesShape

ALL_COLUMNS = TABLE_COLUMNS | GRAPH_COLUMNS
"""Of the tables of a run, and of a graph that may lie beside them."""

PRICE_VIEWS = ("prices", "sizing")
# In the order they build on one another.
HELPER_VIEWS = (
    "event_causes",
    "lost",
    "topic_availability",
    "isr_recoveries",
    "leader_gaps",
    "leaderless_stretches",
    "diverged",
    "controller_rounds",
    "replica_rounds",
    "leader_rounds",
    "fault_rounds",
    *PRICE_VIEWS,
    "remote_attempts",
    "unreferenced_segments",
    "held_twice",
    "consumer_reads",
    "follower_catch_ups",
    "tiering_ledgers",
    "tiering_partitions",
    "tiering_rounds",
    "tiering_brokers",
    "tiering_fleets",
    "tiering_cost_items",
    "quorum_holdings",
    "ledger_tiers",
    "entry_rounds",
    "quorum_partitions",
    "commit_latencies",
    "sweep",
)

# Views that several others add up: a query that asks for them by name has each worked out once.
WORKED_OUT_ONCE = ("held_twice", "tiering_partitions", "tiering_rounds", "tiering_brokers")


def names_in(sql: str) -> set[str]:
    """Returns the tables and helper views that a query may mean: those whose names are words of it."""
    words = set(re.findall(r"\w+", sql.lower()))
    return words & {*ALL_COLUMNS, *HELPER_VIEWS}


def no_tables(uri: str) -> InputError:
    """The error for a folder that holds no table of a run."""
    return InputError(f"{uri}: no tables of a run are there; write them with: emulator run SCENARIO.toml --out DIR")


def refuse_without_graph(uri: str, sql: str, present: Collection[str]) -> None:
    """Raises InputError for a bundled question about a graph where none is."""
    if names_in(without_comments(sql)) & set(GRAPH_COLUMNS) and not set(present) & set(GRAPH_COLUMNS):
        problem = f"{uri}: no graph is there, which this question is about"
        raise InputError(f"{problem}; write it with: emulator graph {uri} --out {uri}")


def without_comments(sql: str) -> str:
    """Returns SQL without what follows -- in its lines."""
    return re.sub(r"--.*", "", sql)


def helper_view_sql(name: str, prices: PricesShape | None = None) -> str:
    """Returns the SQL behind a helper view; its first lines say what it holds. `prices`: None for the bundled table."""
    if name in PRICE_VIEWS and prices is not None:
        from emulator.outcomes.prices import price_view_sql

        return price_view_sql(name, prices)
    return _bundled_sql(name)


@cache
def _bundled_sql(name: str) -> str:
    """The same without a price table of one's own: each query looks through those that it may build on."""
    if name in PRICE_VIEWS:
        from emulator.outcomes.prices import load_prices, price_view_sql

        return price_view_sql(name, load_prices())
    return resources.files("emulator.outcomes").joinpath("helper_views").joinpath(f"{name}.sql").read_text("utf-8")


def with_sources(names: Collection[str]) -> set[str]:
    """Returns these tables and helper views, and all that they build on."""
    wanted = set(names)
    for helper in reversed(HELPER_VIEWS):
        if helper in wanted:
            wanted |= names_in(without_comments(helper_view_sql(helper)))
    return wanted
