"""Several rounds as one step of Spark.

A round is some forty evaluators (emulator/planned.py). With a step (an RDD) for each of them, 25 rounds cost Spark's driver half
a second a job: a thousand calls of Java, and as many steps to look through, to send and to unpack. So one evaluator makes those
of all rounds, each fed by the one before. It is a stage of Spark's whole-stage code generation, whose code is written here:
executors compile it, as they do any other, and need no class of ours.

Uses internals of Spark 4.1, for emulator/planned.py.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from emulator.compiled_functions import companion

_CODE = """
public Object generate(Object[] references) {
  return new GeneratedIteratorForCodegenStage0(references);
}

final class GeneratedIteratorForCodegenStage0 extends org.apache.spark.sql.execution.BufferedRowIterator {
  private final Object[] references;
  private scala.collection.Iterator rows;

  public GeneratedIteratorForCodegenStage0(Object[] references) {
    this.references = references;
  }

  public void init(int index, scala.collection.Iterator[] inputs) {
    partitionIndex = index;
    rows = inputs[0];
    int rounds = ((Integer) references[0]).intValue();
    for (int round = 0; round < rounds; round++) {
      append(index, references[1]);
    }
    append(index, references[2]);
  }

  private void append(int index, Object factories) {
    Object value = factories;
    if (factories instanceof org.apache.spark.broadcast.Broadcast) {
      value = ((org.apache.spark.broadcast.Broadcast) factories).value();
    }
    Object[] all = (Object[]) value;
    for (int i = 0; i < all.length; i++) {
      scala.collection.immutable.Seq before =
        new scala.collection.immutable.$colon$colon(rows, scala.collection.immutable.Nil$.MODULE$);
      rows = ((org.apache.spark.PartitionEvaluatorFactory) all[i]).createEvaluator().eval(index, before);
    }
  }

  protected void processNext() throws java.io.IOException {
    if (rows.hasNext()) {
      append((org.apache.spark.sql.catalyst.InternalRow) rows.next());
    }
  }
}
"""


class FusedRounds:
    """Makes the evaluator of so many rounds."""

    def __init__(self, spark: SparkSession, of_round: list[Any], at_end: list[Any], alone: bool) -> None:
        """The evaluators of a round, and those that follow the last one.

        `alone`: there is one task. It then finds the evaluators where the task before left them, instead of being sent them;
        tasks that run side by side need their own, since lambda variables are places in them.
        """
        jvm: Any = spark._jvm
        codegen = jvm.org.apache.spark.sql.catalyst.expressions.codegen
        execution = jvm.org.apache.spark.sql.execution
        self._context: Any = spark.sparkContext
        self._object = jvm.java.lang.Object
        self._evaluator_of = execution.WholeStageCodegenEvaluatorFactory
        no_comments = companion(jvm.scala.collection.immutable, "Map").empty()
        self._code = jvm.scala.util.Right(codegen.CodeAndComment(_CODE, no_comments))
        self._time = companion(execution.metric, "SQLMetrics").createMetric(self._context._jsc.sc(), "fused rounds")
        of_round, at_end = self._array(of_round), self._array(at_end)
        self._of_round = self._context._jsc.broadcast(of_round) if alone else of_round
        self._at_end = self._context._jsc.broadcast(at_end) if alone else at_end
        self._made: dict[int, Any] = {}

    def evaluator(self, rounds: int) -> Any:
        """The evaluator of so many rounds."""
        if rounds not in self._made:
            references = self._array([rounds, self._of_round, self._at_end])
            self._made[rounds] = self._evaluator_of(self._code, self._time, references)
        return self._made[rounds]

    def _array(self, values: list[Any]) -> Any:
        array = self._context._gateway.new_array(self._object, len(values))
        for at, value in enumerate(values):
            array[at] = value
        return array
