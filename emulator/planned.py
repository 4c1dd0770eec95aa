"""A round planned and compiled once, and run many times: what a round costs Spark beyond its rows.

Analysing, optimising and planning a full Kafka round takes Spark about a second; a run has thousands of rounds, all of the same
plan. So the round is planned once over an empty state. Its physical plan is a chain of projections with windows in between; each
stretch of projections becomes one *stage* of Spark's whole-stage code generation, whose evaluator is made once and then applied
to the rows of the round before, k rounds in one job (emulator/fused_rounds.py). Small runs skip compiling (`Compiling`).

Spark keeps higher-order functions out of whole-stage code, and with them every projection that has one. They stand in rare steps,
behind guards; the plan therefore holds them *sealed*: as a function object that the generated code calls, with the columns it
reads as a row. In large runs its own code is generated too (emulator/compiled_functions.py); where most of a round is functions,
Java's compilers give up on so much code, and what has functions is interpreted with its guards.

Uses internals of Spark 4.1, which is why other versions are refused (engine/expressions_engine.py); they are used here, in
fused_rounds.py and in compiled_functions.py only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import groupby
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from emulator.compiled_functions import CompiledFunctions, companion
from emulator.fused_rounds import FusedRounds
from emulator.session import settings_held

PROJECTIONS_PER_STAGE = 3
"""Fewer copy each row more often; more make methods that Java's compiler gives up on, and then interprets."""

PROJECTIONS_AROUND_FUNCTIONS = 6
"""The same where stages only call what has functions."""

LARGE = 8
"""Leaves of an expression from which on an interpreted projection has it sealed."""

_SETTINGS = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.maxFields": "100000",
    "spark.sql.adaptive.enabled": "false",
}


class Compiling(Enum):
    """What of a round has code of its own; what has none is interpreted."""

    NOTHING = 0
    STAGES = 1
    FUNCTIONS = 2
    """Stages, and the higher-order functions that they call."""
    AROUND_FUNCTIONS = 3
    """Stages without the expressions that have higher-order functions, which are interpreted with their guards and all."""


Cut = Callable[[DataFrame], DataFrame]


def uncut(frame: DataFrame) -> DataFrame:
    """The Cut of a round that is planned as a whole."""
    return frame


class PlannedRound:
    """One round of a protocol as a chain of evaluators over an RDD of rows."""

    def __init__(
        self,
        spark: SparkSession,
        empty: DataFrame,
        one_round: Callable[[DataFrame, Cut], DataFrame],
        compiling: Compiling = Compiling.FUNCTIONS,
        kept: Sequence[str] = (),
        tasks: int | None = None,
    ) -> None:
        """Plan `one_round` over `empty`: a checkpointed frame with the state's columns, partitioning and order.

        The round may give what it has so far to its Cut, and goes on with what that returns. Where everything is interpreted,
        the round is planned in parts, as it is cut: Spark's analysis takes nearly twice as long over the whole. Elsewhere it
        stays one plan, in which Spark leaves out the columns that nothing reads any more.

        `kept`: the columns that `run` gives, by default all of them. `tasks`: the partitions of `empty`, if known.
        """
        self._spark = spark
        self.plans: list[Any] = []

        def planned_so_far(frame: DataFrame) -> DataFrame:
            self.plans.append(frame._jdf.queryExecution().executedPlan())
            return frame.localCheckpoint(eager=False)

        planned = one_round(empty, planned_so_far if compiling is Compiling.NOTHING else uncut)
        self.plans.append(planned._jdf.queryExecution().executedPlan())
        evaluators = _Evaluators(spark, compiling)
        of_round = [evaluator for plan in self.plans for evaluator in evaluators.of(plan)]
        at_end = []
        if kept:
            planned = planned.localCheckpoint(eager=False).select(*kept)
            at_end = evaluators.of(planned._jdf.queryExecution().executedPlan())
        self._schema: Any = planned._jdf.schema()
        self._fused = FusedRounds(spark, of_round, at_end, tasks == 1)

    def run(self, state: DataFrame, rounds: int) -> DataFrame:
        """The state after so many rounds, not yet computed; `state` must be laid out like `empty`."""
        any_class = self._spark._jvm.scala.reflect.ClassTag.Any()  # type: ignore[union-attr]
        rdd = state._jdf.queryExecution().toRdd().mapPartitionsWithEvaluator(self._fused.evaluator(rounds), any_class)
        frame = self._spark._jsparkSession.internalCreateDataFrame(rdd, self._schema, False)
        return DataFrame(frame, self._spark)


class _Evaluators:
    """Makes Spark's evaluators of a physical plan that is a chain of projections and windows over one scan."""

    def __init__(self, spark: SparkSession, compiling: Compiling) -> None:
        self._spark = spark
        self._compiling = compiling
        jvm: Any = spark._jvm
        self._seq = jvm.PythonUtils.toSeq
        self._sql = jvm.org.apache.spark.sql
        self._catalyst = jvm.org.apache.spark.sql.catalyst.expressions
        self._right = jvm.scala.util.Right
        self._any_class = jvm.scala.reflect.ClassTag.Any()
        class_named = jvm.java.lang.Class.forName
        self._fallback = class_named("org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback")
        self._leaf = class_named("org.apache.spark.sql.catalyst.expressions.LeafExpression")
        self._higher_order = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.HIGH_ORDER_FUNCTION()
        self._binder = companion(self._catalyst, "BindReferences")
        self._attributes = getattr(self._catalyst, "package$AttributeSeq")
        self._functions = CompiledFunctions(spark) if compiling is Compiling.FUNCTIONS else None
        self._expression = self._sql.types.ObjectType(class_named("org.apache.spark.sql.catalyst.expressions.Expression"))
        self._nested = [class_named(f"org.apache.spark.sql.types.{name}Type") for name in ("Struct", "Array")]
        self._bytes = companion(self._sql.types, "BinaryType")

    def of(self, plan: Any) -> list[Any]:
        """The evaluators, in the order in which rows go through them."""
        chain = []
        while plan.children().size():
            chain.append(plan)
            plan = plan.child()
        chain.reverse()
        evaluators = []
        for kind, operators in groupby(chain, _name):
            if kind == "WindowExec":
                evaluators += [self._window(operator) for operator in operators]
            elif self._compiling is Compiling.NOTHING:
                evaluators += [self._interpreted(operator) for operator in operators]
            else:
                projections = list(operators)
                around = self._compiling is Compiling.AROUND_FUNCTIONS
                at_once = PROJECTIONS_AROUND_FUNCTIONS if around else PROJECTIONS_PER_STAGE
                with settings_held(self._spark, _SETTINGS):
                    for at in range(0, len(projections), at_once):
                        evaluators += self._compiled(plan, projections[at : at + at_once])
        return evaluators

    def _window(self, operator: Any) -> Any:
        columns = operator.child().output()
        if self._compiling is Compiling.NOTHING:
            columns = self._seq([self._as_bytes(columns.apply(i)) for i in range(columns.size())])
        return self._sql.execution.window.WindowEvaluatorFactory(
            operator.windowExpression(),
            operator.partitionSpec(),
            operator.orderSpec(),
            columns,
            operator.longMetric("spillSize"),
        )

    def _projection(self, operator: Any) -> Any:
        return self._sql.execution.ProjectEvaluatorFactory(operator.projectList(), operator.child().output())

    def _interpreted(self, operator: Any) -> Any:
        """An interpreted projection: every task binds it anew for each of its rounds, so what is large in it is bound here."""
        columns, listed = operator.child().output(), operator.projectList()
        sealed = [self._handed_on_or_sealed(listed.apply(i)) for i in range(listed.size())]
        bound = self._binder.bindReferences(self._seq(sealed), self._attributes(columns))
        return self._sql.execution.ProjectEvaluatorFactory(bound, columns)

    def _handed_on_or_sealed(self, named: Any) -> Any:
        """A column of an interpreted projection: handed on as it is, or an expression, sealed if it is large."""
        if self._leaf.isInstance(named):
            return self._as_bytes(named)
        expression = named.child()
        return self._sealed(expression) if expression.collectLeaves().size() > LARGE else expression

    def _as_bytes(self, column: Any) -> Any:
        """A column that is handed on as it is; a nested one as bytes, which it is in Spark's rows: its fields need no writers."""
        nested = any(kind.isInstance(column.dataType()) for kind in self._nested)
        return column.withDataType(self._bytes) if nested else column

    def _compiled(self, scan: Any, projections: list[Any]) -> list[Any]:
        """One stage; where its code is too large for Java, one of each half, at last the projection by itself."""
        try:
            return [self._stage(scan, projections)]
        except Py4JJavaError:
            if len(projections) == 1:
                return [self._projection(projections[0])]
            half = len(projections) // 2
            return self._compiled(scan, projections[:half]) + self._compiled(scan, projections[half:])

    def _stage(self, scan: Any, projections: list[Any]) -> Any:
        columns = projections[0].child().output()
        stage = scan.copy(columns, scan.rdd(), scan.name(), scan.outputPartitioning(), scan.outputOrdering(), scan.stream())
        for projection in projections:
            listed = projection.projectList()
            sealed = [self._sealed_for_stage(listed.apply(i)) for i in range(listed.size())]
            stage = projection.copy(self._seq(sealed), stage)
        execution = companion(self._sql.execution, "QueryExecution")
        stage = execution.prepareExecutedPlan(self._spark._jsparkSession, stage)
        generated = stage.doCodeGen()
        context, code = generated._1(), generated._2()
        # Compiled here and now, so that code too large for Java is known; the class is kept for the tasks of this process.
        companion(self._catalyst.codegen, "CodeGenerator").compile(code)
        references = context.references().toArray(self._any_class)
        pipeline_time = stage.longMetric("pipelineTime")
        return self._sql.execution.WholeStageCodegenEvaluatorFactory(self._right(code), pipeline_time, references)

    def _sealed_for_stage(self, named: Any) -> Any:
        """A column of a stage: with its functions sealed, or sealed as a whole."""
        if self._compiling is Compiling.AROUND_FUNCTIONS and not self._leaf.isInstance(named):
            expression = named.child()
            if expression.containsPattern(self._higher_order) and expression.collectLeaves().size() > LARGE:
                return named.withNewChildren(self._seq([self._sealed(expression)]))
        return self._sealed_within(named)

    def _sealed_within(self, expression: Any) -> Any:
        """The expression with every outermost higher-order function in it sealed."""
        if self._fallback.isInstance(expression) and not self._leaf.isInstance(expression):
            return self._sealed(expression)
        children = expression.children()
        before = [children.apply(i) for i in range(children.size())]
        after = [self._sealed_within(child) for child in before]
        if all(old is new for old, new in zip(before, after, strict=True)):
            return expression
        return expression.withNewChildren(self._seq(after))

    def _sealed(self, expression: Any) -> Any:
        read = expression.references().toSeq()
        bound = self._binder.bindReference(expression, self._attributes(read), False)
        literal = companion(self._catalyst, "Literal")
        fields = [field for i in range(read.size()) for field in (literal.apply(f"c{i}"), read.apply(i))]
        row = self._catalyst.CreateNamedStruct(self._seq(fields))
        arguments, no_types = self._seq([row]), self._seq([])
        target, method = self._compiled_function(bound) or (self._catalyst.Literal(bound, self._expression), "eval")
        return self._catalyst.objects.Invoke(target, method, expression.dataType(), arguments, no_types, False, True, True)

    def _compiled_function(self, bound: Any) -> tuple[Any, str] | None:
        """The object and its method; none if functions are not compiled, or this one is too large for Java."""
        if self._functions is None:
            return None
        try:
            return self._catalyst.Literal(self._functions.of(bound), self._functions.type), "apply"
        except Py4JJavaError:
            return None


def _name(operator: Any) -> str:
    return str(operator.getClass().getSimpleName())


def release_all(checkpointed: list[DataFrame]) -> None:
    """Free the blocks of all of these, and empty the list."""
    while checkpointed:
        release(checkpointed.pop())


def release(checkpointed: DataFrame) -> None:
    """Free the blocks of a frame that `localCheckpoint` returned, once nothing reads it any more."""
    checkpointed._jdf.queryExecution().analyzed().rdd().unpersist(False)
