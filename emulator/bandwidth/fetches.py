"""What each follower may fetch between two quota edges: `quota_bytes` of the state.

The demands are added up by (leader's broker, follower's broker), shared out on the driver and joined back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.bandwidth.at_edges import by_scenario, is_in, sql
from emulator.bandwidth.budgets import Budgets, limits_bandwidth
from emulator.bandwidth.sharing import share_out
from emulator.expressions.kafka.response import MAX_BYTES
from emulator.expressions.slots import has, mine
from emulator.inputs import ScenarioInputs
from emulator.throttles import EVERY_BROKER

_FLOW = ["scenario_id", "source", "broker", "by_leader", "by_follower"]


class Fetches:
    """Followers' shares of brokers' network, disks and throttles."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs]) -> None:
        self._spark = spark
        self._budgets = {i.scenario.scenario_id: Budgets(i.scenario) for i in inputs if limits_bandwidth(i.scenario)}

    @property
    def scenarios(self) -> set[int]:
        """The scenarios whose bandwidth is limited."""
        return set(self._budgets)

    def share_out(self, now: DataFrame, round_: int, due: list[int]) -> tuple[DataFrame, dict[int, list[tuple[int, int]]]]:
        """The state with new quotas of these scenarios; by scenario the budgets that are used up: (kind, broker).

        `now`: the state with at_edges.with_inputs_now, at the start of the round.
        """
        flows = self._with_demand(now, due)
        sums = (
            flows.where("source IS NOT NULL")
            .groupBy(*_FLOW)
            .agg(
                F.expr("sum(members * demand) AS demand"),
                F.expr("sum(IF(follows, members, 0)) AS followers"),
                F.expr("sum(members * produced) AS produced"),
            )
        )
        found = {s: self._shared(s, round_, rows) for s, rows in by_scenario(sums, _FLOW, due).items()}
        shares = frame_of(self._spark, pa.concat_tables([table for table, _ in found.values()]))
        shared = flows.join(F.broadcast(shares), _FLOW, "left")
        quota = "IF(extra IS NULL, null, CAST(floor(demand * part + extra) AS BIGINT))"
        shared = shared.withColumn("quota_bytes", F.expr(f"IF({is_in(due)}, {quota}, quota_bytes)"))
        return shared.select(now.columns), {s: saturated for s, (_, saturated) in found.items()}

    def _with_demand(self, now: DataFrame, due: list[int]) -> DataFrame:
        """The state with its flow (null where it has none), and what its rows ask for in bytes per round.

        A follower's demand: what it lacks, in even parts over the window, and what will be appended; what it may fetch at most.
        """
        partition = Window.partitionBy("scenario_id", "partition_id")
        lead_bytes = F.max(F.expr(sql("IF(slot = client_leader, log_bytes, null)"))).over(partition)
        serves = f"({has('world.running', 'client_leader')} AND leader_ready)"
        known = {
            "lead_bytes": lead_bytes,
            "source": F.expr(sql(f"IF({is_in(due)} AND client_leader >= 0, get(brokers, client_leader), null)")),
            # Whoever may follow before the next edge counts, also replicas that a reassignment is to add.
            "follows": F.expr(sql("slot != client_leader")),
            "appends": F.expr(sql(f"IF({serves}, feed.bytes, 0L)")),
        }
        lacks = "greatest(coalesce(lead_bytes - log_bytes, 0L), 0L)"
        wanted = f"(({lacks} + quota_window - 1) DIV quota_window + appends)"
        outside = f"follows AND NOT {mine('leader_isr')}"
        asks = f"follows AND {mine('assigned')} AND {mine('world.running')} AND {serves}"
        asked = {
            "by_leader": f"{outside} AND {_listed('feed.leader_throttled', 'source')}",
            "by_follower": f"{outside} AND {_listed('feed.follower_throttled', 'broker')}",
            "demand": f"IF({asks}, least({wanted}, CAST({MAX_BYTES} AS BIGINT)), 0L)",
            "produced": "IF(follows, 0L, appends)",
        }
        return now.withColumns(known).withColumns({name: F.expr(sql(text)) for name, text in asked.items()})

    def _shared(self, scenario_id: int, round_: int, rows: list[Any]) -> tuple[pa.Table, list[tuple[int, int]]]:
        """What each flow of a scenario gets, and the budgets that are used up: (kind, broker)."""
        budgets = self._budgets[scenario_id]
        budget = budgets.at(round_)
        column = {name: np.array([r[name] for r in rows], np.int64) for name in (*_FLOW[1:], "demand", "followers", "produced")}
        for kind in ("network_in", "disk"):
            np.subtract.at(budget, budgets.numbers(kind, column["source"]), column["produced"])
        draws = np.column_stack(
            [
                budgets.numbers("network_in", column["broker"]),
                budgets.numbers("network_out", column["source"]),
                budgets.numbers("disk", column["broker"]),
                np.where(column["by_leader"] > 0, budgets.numbers("leader_throttle", column["source"]), -1),
                np.where(column["by_follower"] > 0, budgets.numbers("follower_throttle", column["broker"]), -1),
            ]
        )
        draws[column["followers"] == 0] = -1  # leaders, which only append
        shares = share_out(budget, column["demand"], column["followers"], draws)
        places = [divmod(number, len(budgets.brokers)) for number in np.flatnonzero(shares.saturated).tolist()]
        table = pa.table(
            {
                "scenario_id": pa.array(np.full(len(rows), scenario_id, np.int32)),
                "source": pa.array(column["source"], pa.int32()),
                "broker": pa.array(column["broker"], pa.int32()),
                "by_leader": pa.array(column["by_leader"] > 0),
                "by_follower": pa.array(column["by_follower"] > 0),
                "part": pa.array(shares.part),
                "extra": pa.array(shares.extra, mask=np.isinf(shares.extra)),
            }
        )
        return table, [(kind, int(budgets.brokers[place])) for kind, place in places]


def _listed(brokers: str, broker: str) -> str:
    return f"coalesce(array_contains({brokers}, {EVERY_BROKER}) OR array_contains({brokers}, {broker}), false)"
