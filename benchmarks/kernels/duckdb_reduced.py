"""The reduced round as SQL on a table in memory, on all cores."""

from __future__ import annotations

import time

import duckdb

from benchmarks.kernels import KernelRun

# A follower asks from the LEO it starts the round with; what it finds includes what its leader appends in this round.
ROUND = """
CREATE OR REPLACE TABLE state AS
SELECT partition_id, slot, leads, in_isr, leader_leo AS leo,
       CASE WHEN leads THEN greatest(hw, isr_leo) ELSE least(leader_leo, leader_hw) END AS hw
FROM (SELECT *, max(appended) FILTER (leads) OVER p AS leader_leo, max(hw) FILTER (leads) OVER p AS leader_hw,
             min(appended) FILTER (in_isr) OVER p AS isr_leo
      FROM (SELECT *, leo + CASE WHEN leads THEN {records} ELSE 0 END AS appended FROM state)
      WINDOW p AS (PARTITION BY partition_id))
"""


def run_rounds(partitions: int, replicas: int, rounds: int, records: int) -> KernelRun:
    """Runs the reduced round so many times from empty logs; slot 0 leads."""
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE state AS SELECT i // {replicas} AS partition_id, i % {replicas} AS slot, slot = 0 AS leads, "
            f"true AS in_isr, 0::BIGINT AS leo, 0::BIGINT AS hw FROM range({partitions * replicas}) AS r(i)"
        )
        began = time.perf_counter()
        for _ in range(rounds):
            connection.execute(ROUND.format(records=records))
        seconds = time.perf_counter() - began
        ends = connection.execute("SELECT leo, hw FROM state ORDER BY partition_id, slot").fetchnumpy()
    return KernelRun(seconds, ends["leo"].reshape(-1, replicas), ends["hw"].reshape(-1, replicas))
