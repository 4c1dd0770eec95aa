"""Quota edges: the rounds in which brokers' budgets are shared out between their partitions, and what each follower gets.

Between two edges a partition is emulated by itself, each follower fetching at most `quota_bytes` a round. At an edge the demands
are added up by (leader's broker, follower's broker), shared out on the driver (emulator/bandwidth/sharing.py) and joined back.
While a budget is used up the next edge comes after `quota_window_rounds`; else later and later, up to the first window that
begins at or after the next change of any input. Each scenario has edges of its own, which depend on nothing but it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.attach import Changes
from emulator.bandwidth.budgets import KINDS, Budgets, limits_bandwidth
from emulator.bandwidth.sharing import share_out
from emulator.inputs import ScenarioInputs
from emulator.outcomes.names import world_names
from emulator.rounds.columns import PATHS, renamed
from emulator.rounds.kafka.response import MAX_BYTES
from emulator.rounds.slots import has, mine
from emulator.throttles import EVERY_BROKER

NEVER = 2**31 - 1
_FLOW = ["scenario_id", "source", "broker", "by_leader", "by_follower"]
_NOW = {**PATHS, "world": "world_now", "feed": "feed_now"}


class Quotas:
    """The edges of a run, what was shared out at them, and which budgets were used up when."""

    def __init__(self, spark: SparkSession, inputs: Sequence[ScenarioInputs], known: dict[str, Any] | None = None) -> None:
        """`known`: what a checkpoint says (`as_known`)."""
        self._spark = spark
        self._inputs = list(inputs)
        self._budgets = {i.scenario.scenario_id: Budgets(i.scenario) for i in inputs if limits_bandwidth(i.scenario)}
        self._by_id = {i.scenario.scenario_id: i for i in inputs}
        self._edges = dict.fromkeys(self._budgets, 0)
        self._windows = {s: self._by_id[s].scenario.quota_window_rounds for s in self._budgets}
        self._changes = {s: self._by_id[s].change_counts()[0] for s in self._budgets}
        self._saturated: dict[tuple[int, int], list[list[int]]] = {}
        if known:
            self._edges = {int(s): edge for s, edge in known["edges"].items()}
            self._windows = {int(s): window for s, window in known["windows"].items()}
            for scenario, broker, *span in known["saturated"]:
                self._saturated.setdefault((scenario, broker), []).append(span)

    @property
    def next_edge(self) -> int:
        """The first round in which anything has to be shared out."""
        return min(self._edges.values(), default=NEVER)

    def as_known(self) -> dict[str, Any]:
        """What a checkpoint has to keep, as JSON has it."""
        saturated = [[*key, *span] for key, spans in self._saturated.items() for span in spans]
        return {"edges": self._edges, "windows": self._windows, "saturated": saturated}

    def saturated_rounds(self, scenario_id: int, broker: int, from_round: int, to_round: int, kinds: Sequence[str]) -> int:
        """Rounds in [from_round, to_round) in which one of the broker's budgets of these kinds was used up."""
        wanted = [KINDS.index(kind) for kind in kinds]
        spans = {(begin, end) for kind, begin, end in self._saturated.get((scenario_id, broker), []) if kind in wanted}
        return sum(max(0, min(end, to_round) - max(begin, from_round)) for begin, end in spans)

    def share_out(self, state: DataFrame, round_: int) -> DataFrame:
        """The packed state at the start of `round_`, with the quotas of those scenarios whose edge it is."""
        due = [s for s, edge in self._edges.items() if edge == round_]
        if not due:
            return state
        flows = self._with_demand(state, round_, due)
        sums = (
            flows.where("source IS NOT NULL")
            .groupBy(*_FLOW)
            .agg(
                F.expr("sum(members * demand) AS demand"),
                F.expr("sum(IF(follows, members, 0)) AS followers"),
                F.expr("sum(members * produced) AS produced"),
            )
        )
        by_scenario: dict[int, list[Any]] = {s: [] for s in due}
        for row in sorted(sums.collect(), key=lambda r: tuple(r[name] for name in _FLOW)):
            by_scenario[row["scenario_id"]].append(row)
        shares = [self._shared(s, round_, rows) for s, rows in by_scenario.items()]
        shared = flows.join(F.broadcast(frame_of(self._spark, pa.concat_tables(shares))), _FLOW, "left")
        quota = "IF(extra IS NULL, null, CAST(floor(demand * part + extra) AS BIGINT))"
        return shared.withColumn("quota_bytes", F.expr(f"IF({_is_in(due)}, {quota}, quota_bytes)")).select(state.columns)

    def _with_demand(self, state: DataFrame, round_: int, due: list[int]) -> DataFrame:
        """The state with its flow (null where it has none), and what its rows ask for in bytes per round.

        A follower's demand: what it lacks, in even parts over the window, and what will be appended; what it may fetch at most.
        """
        windows = ", ".join(f"{s}, {self._by_id[s].scenario.quota_window_rounds}" for s in due)
        now = Changes(self._spark, self._inputs, round_, round_ + 1).joined(state)
        now = now.withColumns({f"{k}_now": F.expr(f"coalesce(get({k}_changes, 0).value, {k})") for k in ("world", "feed")})
        now = now.join(F.broadcast(world_names(self._spark, self._inputs)), "world_id")
        partition = Window.partitionBy("scenario_id", "partition_id")
        lead_bytes = F.max(F.expr(_sql("IF(slot = client_leader, log_bytes, null)"))).over(partition)
        serves = f"({has('world.running', 'client_leader')} AND leader_ready)"
        known = {
            "lead_bytes": lead_bytes,
            "quota_window": F.expr(f"element_at(map({windows}), scenario_id)"),
            "source": F.expr(_sql(f"IF({_is_in(due)} AND client_leader >= 0, get(brokers, client_leader), null)")),
            "broker": F.expr("get(brokers, slot)"),
            # Whoever may follow before the next edge counts, also replicas that a reassignment is to add.
            "follows": F.expr(_sql("slot != client_leader")),
            "appends": F.expr(_sql(f"IF({serves}, feed.bytes, 0L)")),
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
        return now.withColumns(known).withColumns({name: F.expr(_sql(text)) for name, text in asked.items()})

    def _shared(self, scenario_id: int, round_: int, rows: list[Any]) -> pa.Table:
        """What each flow of a scenario gets; the scenario's next edge, and the budgets used up until then, are noted."""
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
        self._next(scenario_id, round_, bool(shares.saturated.any()))
        end = min(self._edges[scenario_id], self._by_id[scenario_id].scenario.rounds)
        for number in np.flatnonzero(shares.saturated).tolist():
            kind, place = divmod(number, len(budgets.brokers))
            self._saturated.setdefault((scenario_id, int(budgets.brokers[place])), []).append([kind, round_, end])
        return pa.table(
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

    def _next(self, scenario_id: int, round_: int, saturated: bool) -> None:
        inputs = self._by_id[scenario_id]
        unit = inputs.scenario.quota_window_rounds
        changes = self._changes[scenario_id]
        window = unit if saturated else self._windows[scenario_id]
        after = np.searchsorted(changes, round_, "right")
        edge = round_ + window
        if after < len(changes):
            edge = min(edge, max(-(-int(changes[after]) // unit) * unit, round_ + unit))
        crossed = after < len(changes) and edge >= changes[after]
        self._windows[scenario_id] = unit if saturated or crossed else 2 * window
        self._edges[scenario_id] = edge if edge < inputs.scenario.rounds else NEVER


def _is_in(scenarios: list[int]) -> str:
    return f"scenario_id IN ({', '.join(map(str, scenarios))})"


def _sql(text: str) -> str:
    """SQL over the packed state with what begins in the round."""
    return renamed(text, _NOW)


def _listed(brokers: str, broker: str) -> str:
    return f"coalesce(array_contains({brokers}, {EVERY_BROKER}) OR array_contains({brokers}, {broker}), false)"
