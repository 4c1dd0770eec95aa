"""Brokers write their high watermark checkpoint and flush by time."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.rounds.columns import Step, built_once
from emulator.rounds.slots import mine


def checkpoint(state: DataFrame) -> DataFrame:
    """Write `hw_checkpoint` and, with flush.ms, the flushed offset, in rounds divisible by their periods.

    Periods: replica.high.watermark.checkpoint.interval.ms and flush.ms (docs/kafka_rounds.md step 9).
    """
    return state.withColumns(_columns())


@built_once
def _columns() -> Step:
    runs = mine("world.running")
    return {
        "hw_checkpoint": f"IF({runs} AND round % feed.checkpoint_rounds = 0, hw, hw_checkpoint)",
        "flushed_offset": (
            f"IF({runs} AND feed.flush_rounds > 0 AND round % greatest(feed.flush_rounds, 1) = 0, leo, flushed_offset)"
        ),
    }
