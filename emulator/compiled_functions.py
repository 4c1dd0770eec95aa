"""Higher-order functions as generated code: `filter`, `transform`, `exists`, `forall` and `aggregate` without an interpreter.

Spark interprets higher-order functions, node by node. Here they are put together from expressions that it does generate code
for. A loop is `MapObjects`. A lambda variable is what it is to Spark: a place that is set before the lambda's body is evaluated,
and that the body reads. Functions of other kinds (`array_sort`, `zip_with`) stay, and find their variables in the same places.

Uses internals of Spark 4.1, for emulator/planned.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

_BOXES = {
    "boolean": "Boolean",
    "tinyint": "Byte",
    "smallint": "Short",
    "int": "Integer",
    "bigint": "Long",
    "float": "Float",
    "double": "Double",
}


class CompiledFunctions:
    """Makes a function object of an expression: its `apply(row)` gives the expression's value, by generated code."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._seq = jvm.PythonUtils.toSeq
        self._catalyst = jvm.org.apache.spark.sql.catalyst.expressions
        self._function_class = getattr(jvm.org.apache.spark.sql.catalyst.encoders, "ExpressionEncoder$Deserializer")
        self._class_named = jvm.java.lang.Class.forName
        self._object_type = jvm.org.apache.spark.sql.types.ObjectType
        self._object = self._object_type(self._class_named("java.lang.Object"))
        self._place = self._object_type(self._class_named("java.util.concurrent.atomic.AtomicReference"))
        self._higher_order = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.HIGH_ORDER_FUNCTION()
        self._generator = companion(self._catalyst.codegen, "GenerateSafeProjection")
        self._literal = companion(self._catalyst, "Literal")
        self._ids = companion(self._catalyst, "NamedExpression")
        self._true, self._false = self._literal.apply(True), self._literal.apply(False)
        self._none = companion(jvm.scala, "None")
        self._loops: dict[str, Callable[[Any], Any]] = {
            "ArrayAggregate": self._aggregate,
            "ArrayTransform": self._transform,
            "ArrayFilter": self._filter,
            "ArrayExists": lambda function: self._contains(function, self._true),
            "ArrayForAll": lambda function: self._catalyst.Not(self._contains(function, self._false)),
            "ArraySort": lambda function: function,
            "ZipWith": lambda function: function,
        }

    @property
    def type(self) -> Any:
        """The type of such a function object."""
        return self._object_type(self._class_named("org.apache.spark.sql.catalyst.encoders.ExpressionEncoder$Deserializer"))

    def of(self, bound: Any) -> Any:
        """The function of an expression over the columns of a row; raises Py4JJavaError where its code is too large for Java."""
        # As an object it is handed out as it is; of a struct or an array there would be a copy.
        as_object = self._static("java.util.Objects", self._object, "requireNonNull", self._boxed(self._looped(bound)))
        expressions = self._seq([as_object])
        # Each task generates the code from the expressions. Here it shows whether it can be compiled.
        self._generator.generate(expressions)
        return self._function_class(expressions)

    def _looped(self, expression: Any) -> Any:
        """The expression with loops in place of the higher-order functions."""
        if not expression.containsPattern(self._higher_order):
            return expression
        loop = self._loops.get(expression.getClass().getSimpleName())
        if loop is not None:
            return loop(expression)
        return expression.withNewChildren(self._seq([self._looped(child) for child in _listed(expression.children())]))

    def _aggregate(self, fold: Any) -> Any:
        total, element = _listed(fold.merge().arguments())
        (result,) = _listed(fold.finish().arguments())
        zero, finished = self._looped(fold.zero()), self._looped(fold.finish().function())
        if fold.argument().toString() == "[]":  # `let`: a name for a value, no loop
            return self._with(result, zero, finished)
        merged = self._set(total, self._looped(fold.merge().function()))
        steps = self._map([element], self._catalyst.IsNull(merged), fold.argument())
        # Of no array there are no steps, and no result.
        no_array = self._catalyst.IsNull(steps)
        ended = self._catalyst.If(no_array, self._null_of(finished), self._with(result, total, finished))
        return self._with(total, zero, ended if fold.nullable() else self._catalyst.KnownNotNull(ended))

    def _transform(self, function: Any) -> Any:
        variables, body = self._lambda(function)
        return self._map(variables, body, function.argument())

    def _filter(self, function: Any) -> Any:
        """Of every element an array with it, or an empty one; and these as one."""
        variables, holds = self._lambda(function)
        kept = self._catalyst.CreateArray(self._seq([variables[0]]))
        kept_or_not = self._catalyst.If(holds, kept, self._literal.default(kept.dataType()))
        return self._catalyst.Flatten(self._map(variables, kept_or_not, function.argument()))

    def _contains(self, function: Any, wanted: Any) -> Any:
        """Whether the lambda is `wanted` of an element: null where it is of none, but null of one; so are exists and forall."""
        variables, holds = self._lambda(function)
        return self._catalyst.ArrayContains(self._map(variables, holds, function.argument()), wanted)

    def _lambda(self, function: Any) -> tuple[list[Any], Any]:
        """The variables (the element, and its index if asked for) and the body of a function of one lambda."""
        return _listed(function.function().arguments()), self._looped(function.function().function())

    def _map(self, variables: list[Any], body: Any, array: Any) -> Any:
        """The body for every element of the array, with the element (and its index) at the variables' places."""
        variable, *index = variables
        element_id = self._ids.newExprId().id()
        element = self._catalyst.objects.LambdaVariable("element", variable.dataType(), variable.nullable(), element_id)
        for place in index:
            body = self._with(place, self._catalyst.Add(place, self._literal.apply(1)), body)
        loop = self._catalyst.objects.MapObjects(element, self._with(variable, element, body), self._looped(array), self._none)
        for place in index:
            loop = self._with(place, self._literal.apply(-1), loop)
        return loop

    def _with(self, variable: Any, value: Any, body: Any) -> Any:
        """The body, with the value at the variable's place."""
        return self._after(self._set(variable, value), body)

    def _set(self, variable: Any, value: Any) -> Any:
        place, arguments = self._catalyst.Literal(variable.value(), self._place), self._seq([self._boxed(value)])
        # Not deterministic, so that it is never evaluated once for several places in the text.
        return self._catalyst.objects.Invoke(place, "getAndSet", self._object, arguments, self._seq([]), False, True, False)

    def _after(self, first: Any, second: Any) -> Any:
        """The second, when the first has been evaluated."""
        always = self._catalyst.Or(self._catalyst.IsNull(first), self._true)
        value = self._catalyst.If(always, second, self._null_of(second))
        return value if second.nullable() else self._catalyst.KnownNotNull(value)

    def _null_of(self, expression: Any) -> Any:
        return self._literal.create(None, expression.dataType())

    def _boxed(self, value: Any) -> Any:
        """The value as a Java object: a number or a boolean in its box."""
        box = _BOXES.get(value.dataType().catalogString())
        if box is None:
            return value
        name = f"java.lang.{box}"
        return self._static(name, self._object_type(self._class_named(name)), "valueOf", value)

    def _static(self, class_name: str, result: Any, method: str, argument: Any) -> Any:
        """A call of a static method with one argument; null for null."""
        arguments, no_types = self._seq([argument]), self._seq([])
        static = self._catalyst.objects.StaticInvoke
        return static(self._class_named(class_name), result, method, arguments, no_types, True, True, True, self._none)


def companion(package: Any, name: str) -> Any:
    """The companion object of a Scala class."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def _listed(seq: Any) -> list[Any]:
    return [seq.apply(i) for i in range(seq.size())]
