"""Chains of belief: followers of leaders that the controller has superseded, and whom these follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from emulator.graphs.backends import Belief, Graphs

BELIEFS = """
WITH elected AS (
  SELECT scenario_id, topic, partition, leader_epoch, broker FROM events WHERE kind IN ('election', 'unclean_election')
  UNION
  SELECT scenario_id, topic, partition, leader_epoch, leader FROM trace_partitions WHERE leader >= 0
),
each_round AS (
  SELECT
    t.scenario_id, t.topic, t.partition, t.broker AS believer, e.broker AS believed, t.leader_epoch, c.leader, t.round,
    t.role = 'follower' AND t.fetch_state IS NOT NULL AND t.fetch_state != 'unanswered' AS fetches
  FROM trace t
  JOIN elected e USING (scenario_id, topic, partition, leader_epoch)
  JOIN trace_partitions c USING (scenario_id, topic, partition, round)
  WHERE t.role != 'offline'
)
"""
"""Of traced replicas, round by round: in whom each believes, whether that one answered its fetch, whom the controller has."""


def ranges_sql(columns: str, condition: str) -> str:
    """SQL: rows of `each_round` that a condition holds for, put together over rounds that follow each other."""
    return f"""{BELIEFS}
SELECT scenario_id, topic, partition, {columns}, CAST(min(round) AS INT) AS from_round, CAST(max(round) + 1 AS INT) AS to_round
FROM (
  SELECT *, round - row_number() OVER (PARTITION BY scenario_id, topic, partition, {columns} ORDER BY round) AS stretch
  FROM each_round WHERE {condition}
)
GROUP BY scenario_id, topic, partition, {columns}, stretch
"""


def chain_rows(beliefs: Sequence[Belief], graphs: Graphs) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `belief_chains`, in order: who believes in a leader that is superseded but believes in something.

    Two in a chain: a follower of a zombie. Three: of one that follows another by now.
    """
    rows = []
    for first, second in graphs.chains(beliefs):
        if first.believed == first.leader:
            continue
        chain = [first.believer, first.believed, *([second.believed] if second.believed != first.believed else [])]
        epochs = [first.leader_epoch, second.leader_epoch]
        rounds = max(first.from_round, second.from_round), min(first.to_round, second.to_round)
        rows.append((*first.place, *rounds, chain, epochs, first.leader))
    yield from sorted(rows)
