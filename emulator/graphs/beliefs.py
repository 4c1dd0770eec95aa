"""Chains of belief: followers of leaders that the controller has superseded, and whom these follow."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.graphs.backends import Graphs

_EACH_ROUND = """
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
    return f"""{_EACH_ROUND}
SELECT scenario_id, topic, partition, {columns}, CAST(min(round) AS INT) AS from_round, CAST(max(round) + 1 AS INT) AS to_round
FROM (
  SELECT *, round - row_number() OVER (PARTITION BY scenario_id, topic, partition, {columns} ORDER BY round) AS stretch
  FROM each_round WHERE {condition}
)
GROUP BY scenario_id, topic, partition, {columns}, stretch
"""


def belief_chains(beliefs: DataFrame, graphs: Graphs) -> DataFrame:
    """Returns table `belief_chains`: who believes in a leader that is superseded but believes in something.

    Two in a chain: a follower of a zombie. Three: of one that follows another.
    `beliefs`: the columns of emulator.graphs.backends.BELIEFS.
    """
    # none of them is null: so Spark is told
    a, b, c, first, second = (f"coalesce({name}, -1)" for name in ("a", "b", "c", "first_epoch", "second_epoch"))
    return (
        graphs.chains(beliefs)
        .where("b != leader")
        .selectExpr(
            *("scenario_id", "topic", "partition", "from_round", "to_round"),
            f"IF(c = b, array({a}, {b}), array({a}, {b}, {c})) AS chain",
            f"array({first}, {second}) AS epochs",
            "leader",
        )
        .orderBy("scenario_id", "topic", "partition", "from_round", "to_round", "chain", "epochs")
    )
