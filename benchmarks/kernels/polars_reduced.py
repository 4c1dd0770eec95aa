"""The reduced round in Polars' lazy expressions on a frame in memory, on all cores."""

from __future__ import annotations

import time

import polars as pl

from benchmarks.kernels import KernelRun


def play_round(state: pl.LazyFrame, records: int) -> pl.LazyFrame:
    """The state after a round, not yet computed; the windows are those of DuckDB's round."""
    appended, leads, hw = pl.col("appended"), pl.col("leads"), pl.col("hw")
    leader_leo = appended.filter(leads).max().over("partition_id")
    leader_hw = hw.filter(leads).max().over("partition_id")
    isr_leo = appended.filter("in_isr").min().over("partition_id")
    # a follower asks from the LEO it starts the round with, and finds what its leader appends in this round
    state = state.with_columns(appended=pl.col("leo") + pl.when(leads).then(records).otherwise(0))
    state = state.with_columns(leader_leo=leader_leo, leader_hw=leader_hw, isr_leo=isr_leo)
    leading, following = pl.max_horizontal("hw", "isr_leo"), pl.min_horizontal("leader_leo", "leader_hw")
    return state.select(
        "partition_id", "slot", "leads", "in_isr", leo="leader_leo", hw=pl.when(leads).then(leading).otherwise(following)
    )


def run_rounds(partitions: int, replicas: int, rounds: int, records: int) -> KernelRun:
    """Runs the reduced round so many times from empty logs; slot 0 leads."""
    row, zero = pl.int_range(partitions * replicas, eager=True), pl.lit(0, pl.Int64)
    state = pl.select(partition_id=row // replicas, slot=row % replicas)
    state = state.with_columns(leads=pl.col("slot") == 0, in_isr=pl.lit(True), leo=zero, hw=zero)
    began = time.perf_counter()
    for _ in range(rounds):
        state = play_round(state.lazy(), records).collect()
    seconds = time.perf_counter() - began
    leo, hw = (state.sort("partition_id", "slot")[name].to_numpy() for name in ("leo", "hw"))
    return KernelRun(seconds, leo.reshape(-1, replicas), hw.reshape(-1, replicas))
