"""Brokers write their high watermark checkpoint and flush by time."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, where
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.slots import mine


def checkpoint(state: DataFrame, rules: RunRules) -> DataFrame:
    """Write `hw_checkpoint` and, with flush.ms, the flushed offset, in rounds divisible by their periods.

    Periods: replica.high.watermark.checkpoint.interval.ms and flush.ms (docs/kafka_rounds.md step 9).
    """
    return state.withColumns(_columns())


@built_once
def _columns() -> Step:
    written = "round % feed.checkpoint_rounds = 0"
    flushed = "feed.flush_rounds > 0 AND round % greatest(feed.flush_rounds, 1) = 0"
    return where(
        f"{mine('world.running')} AND ({written} OR {flushed})",
        {
            "hw_checkpoint": f"IF({written}, hw, hw_checkpoint)",
            "flushed_offset": f"IF({flushed}, leo, flushed_offset)",
        },
    )
