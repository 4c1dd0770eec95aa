"""Rounds in which brokers ask the store itself for metadata, by LIST: counted in every round, so that leaps multiply them.

A broker that runs asks once in each interval of its tasks for each of its replicas (docs/tiered_rounds.md, Metadata). SQL texts.
"""

from __future__ import annotations

from emulator.expressions.columns import Step, where
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS
from emulator.expressions.kafka.tier.writes import counted


def count_listing() -> Step:
    """One more round of a replica whose broker lists."""
    lists = (
        f"coalesce(feed.storage.by_list AND feed.storage.tiered AND segments IS NOT NULL AND NOT is_deleted AND {RUNS}, false)"
    )
    return where(lists, {"tier_counts": counted("tier_counts", {"listing_rounds": "1"})})
