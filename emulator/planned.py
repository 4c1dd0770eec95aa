"""A round planned once and run many times: Spark's driver cost of a round without analysing it anew.

Analysing, optimising and planning a full Kafka round takes Spark about a second; a run has thousands of rounds, all
of the same plan. So the round is planned once over an empty state; to run it, the leaf of that physical plan is
replaced by the RDD that the round before gives, k times over, and the k rounds run as one job. It is Spark's own plan,
executed by Spark; only planning it again is left out. Uses internals of Spark 4.1 (SparkPlan.withNewChildren,
RDDScanExec, SparkSession.internalCreateDataFrame), which is why pyspark is pinned to one minor version; they are used
in this file only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_SCAN = "org.apache.spark.sql.execution.RDDScanExec"


class PlannedRound:
    """One round of a protocol as a physical plan over a replaceable input."""

    def __init__(self, spark: SparkSession, empty: DataFrame, one_round: Callable[[DataFrame], DataFrame]) -> None:
        """Plan `one_round` over `empty`: a checkpointed frame with the state's columns, partitioning and order."""
        self._spark = spark
        planned = one_round(empty)
        self.plan: Any = planned._jdf.queryExecution().executedPlan()
        self._schema: Any = planned._jdf.schema()

    def run(self, state: DataFrame, rounds: int) -> DataFrame:
        """The state after so many rounds, not yet computed; `state` must be laid out like `empty`."""
        rdd = state._jdf.queryExecution().toRdd()
        for _ in range(rounds):
            rdd = self._over(self.plan, rdd).execute()
        frame = self._spark._jsparkSession.internalCreateDataFrame(rdd, self._schema, False)
        return DataFrame(frame, self._spark)

    def _over(self, plan: Any, rdd: Any) -> Any:
        """The plan with its scan reading another RDD; rows never change partition, so its layout stays true."""
        if plan.getClass().getName() == _SCAN:
            return plan.copy(plan.output(), rdd, plan.name(), plan.outputPartitioning(), plan.outputOrdering(), plan.stream())
        children = plan.children()
        replaced = [self._over(children.apply(i), rdd) for i in range(children.size())]
        return plan.withNewChildren(self._spark._jvm.PythonUtils.toSeq(replaced))  # type: ignore[union-attr]


def release(checkpointed: DataFrame) -> None:
    """Free the blocks of a frame that `localCheckpoint` returned, once nothing reads it any more."""
    checkpointed._jdf.queryExecution().analyzed().rdd().unpersist(False)
