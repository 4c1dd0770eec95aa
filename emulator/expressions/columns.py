"""Phases as steps of named SQL expressions, parsed once, over the packed state.

A step is a dict name -> SQL text over the columns of the state; its expressions all see the values before the step.
A phase adds its steps with `withColumns`. Two things keep a round cheap (docs/design_notes.md):

* *Rare steps*, which hardly any row needs (a fault, an election, a truncation), are folded into a single expression
  behind a guard: Spark evaluates them only where the guard holds, and the plan of a round stays small.
* *Groups*: columns that few rounds write stand in structs (`STATE_GROUPS` in expressions/kafka/state.py), which a projection
  copies as a whole. Steps name the columns as if they stood alone; `built_once` puts the paths in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import ParamSpec

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from emulator.expressions.kafka.state import KAFKA_STATE
from emulator.state_schema import StateSchema

P = ParamSpec("P")
Step = dict[str, str]

_NAME = re.compile(r"'[^']*'|(?<![.\w])[a-z_]\w*(?!\w*[(:])")
PATHS, PACKED_COLUMNS = KAFKA_STATE.paths, KAFKA_STATE.packed_columns


def pack(state: DataFrame, schema: StateSchema = KAFKA_STATE) -> DataFrame:
    """The state with its groups as structs."""
    return state.select(*(_group(schema, n).alias(n) if n in schema.groups else F.col(n) for n in schema.packed_columns))


def _group(schema: StateSchema, name: str) -> Column:
    group = F.struct(*schema.groups[name])
    optional = schema.optional_groups
    return F.when(F.col(optional[name]).isNotNull(), group) if name in optional else group


def typed(rows: DataFrame, schema: StateSchema = KAFKA_STATE) -> DataFrame:
    """The columns of the schema out of rows that have them all, in its types."""
    # The keys stay bare: an alias, once optimised away, would hide the partitioning from the checkpointed frame.
    keys = ("scenario_id", "partition_id")
    # Texts: a Column object costs the driver ten calls of Java.
    return rows.selectExpr(*(n if n in keys else f"CAST({n} AS {kind}) AS {n}" for n, (kind, _) in schema.columns.items()))


def unpack(state: DataFrame, schema: StateSchema = KAFKA_STATE) -> DataFrame:
    """The packed state with every column of the schema by itself again."""
    return state.selectExpr(*(schema.paths.get(name, name) for name in schema.columns))


@cache
def named(*names: str) -> tuple[Column, ...]:
    """The columns of these names, made once: each takes four calls of Java, and a job selects a hundred."""
    return tuple(F.col(name) for name in names)


def columns_of(step: Step, schema: StateSchema) -> dict[str, Column]:
    """A step as `Column`s over the packed state."""
    return {name: F.expr(text) for name, text in _packed(step, schema).items()}


def built_once(build: Callable[P, Step], schema: StateSchema = KAFKA_STATE) -> Callable[P, dict[str, Column]]:
    """Turn a function that returns a step into one that returns `Column`s over the packed state, parsed once."""

    @cache
    def parsed(*args: object) -> dict[str, Column]:
        return columns_of(build(*args), schema)  # type: ignore[arg-type, call-arg]

    @wraps(build)
    def columns(*args: P.args, **kwargs: P.kwargs) -> dict[str, Column]:
        return parsed(*args)

    return columns


def renamed(text: str, names: dict[str, str]) -> str:
    """SQL text with column names replaced; quoted text, fields behind a dot, fields of types and functions stay."""
    return _NAME.sub(lambda found: names.get(found.group(), found.group()), text)


def let(name: str, value: str, body: str) -> str:
    """SQL text: the body with a name for a value that it reads more than once, evaluated once.

    An aggregate over nothing, whose finish is the body: of all higher-order functions that can name a value this one never asks
    for its own type while it runs. `transform(array(value), name -> body)[0]` does at every evaluation, and each level asks the
    next one twice: fourteen steps within each other took 2^14 such questions.
    """
    return f"aggregate(array(), {value}, (a_, x_) -> a_, {name} -> {body})"


def struct(values: Mapping[str, str]) -> str:
    """A struct of these texts."""
    return "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in values.items()) + ")"


def texts(values: Iterable[str]) -> str:
    """An array of texts, which have no quotes in them."""
    return "array(" + ", ".join(f"'{value}'" for value in values) + ")"


def with_changes(source: str, fields: Mapping[str, str], **changes: str) -> str:
    """The struct `source` with some of its `fields` (name -> type) changed."""
    return struct(
        {name: f"CAST({changes[name]} AS {kind})" if name in changes else f"{source}.{name}" for name, kind in fields.items()}
    )


def folded(steps: list[Step], outputs: list[str], schema: StateSchema = KAFKA_STATE) -> str:
    """One expression that runs steps after each other and gives a struct of the outputs.

    Each step becomes a name s1, s2, ... that the later ones read (`let`).
    """
    names: dict[str, str] = {}
    opened: list[tuple[str, str]] = []
    for number, step in enumerate(steps, 1):
        fields = ", ".join(f"'{name}', {renamed(text, names)}" for name, text in step.items())
        opened.append((f"s{number}", f"named_struct({fields})"))
        names = {**names, **{name: f"s{number}.{name}" for name in step}}
    result = ", ".join(f"'{name}', {names.get(name) or _group_or_column(name, names, schema)}" for name in outputs)
    text = f"named_struct({result})"
    for name, value in reversed(opened):
        text = let(name, value, text)
    return text


def inlined(*steps: Step) -> Step:
    """Steps as one: each later step has the texts of the earlier ones in place of their names. For short steps."""
    known: Step = {}
    for step in steps:
        known = {**known, **{name: renamed(text, {n: f"({t})" for n, t in known.items()}) for name, text in step.items()}}
    return known


def decided(name: str, guard: str, steps: list[Step], outputs: Step, schema: StateSchema = KAFKA_STATE) -> Step:
    """The column `name`: the struct of outputs (groups as structs) where the guard holds, else null."""
    return {name: f"IF({guard}, {folded(steps, _in_groups(outputs, schema), schema)}, null)"}


def applied(name: str, outputs: Step, schema: StateSchema = KAFKA_STATE) -> Step:
    """Every output: from the struct `name` where there is one, else its default. Columns of a group change only there."""
    assert all(outputs[column] == column for column in outputs if column in schema.group_of), outputs
    # Written with coalesce where the column is never null, so that Spark knows that it is not.
    form = "coalesce({1}.{2}, {0})", "IF({1} IS NULL, {0}, {1}.{2})"
    columns = _in_groups(outputs, schema)
    return {output: form[output in schema.nullable].format(outputs.get(output, output), name, output) for output in columns}


def where(guard: str, step: Step) -> Step:
    """A step that writes columns of groups only where the guard holds; elsewhere each group stays as it is."""
    return {group: f"IF({guard}, {struct}, {group})" for group, struct in _structs(step, KAFKA_STATE).items()}


def unchanged(*names: str) -> Step:
    """Outputs whose default is the column as it is."""
    return {name: name for name in names}


def _packed(step: Step, schema: StateSchema) -> Step:
    alone = {name: text for name, text in step.items() if name not in schema.group_of}
    grouped = _structs({name: text for name, text in step.items() if name in schema.group_of}, schema)
    return {name: renamed(text, schema.paths) for name, text in {**alone, **grouped}.items()}


def _structs(step: Step, schema: StateSchema) -> Step:
    groups = dict.fromkeys(schema.group_of[name] for name in step)
    return {group: _group_or_column(group, step, schema) for group in groups}


def _group_or_column(name: str, values: dict[str, str], schema: StateSchema) -> str:
    if name not in schema.groups:
        return name
    return "named_struct(" + ", ".join(f"'{field}', {values.get(field, field)}" for field in schema.groups[name]) + ")"


def _in_groups(names: Step, schema: StateSchema) -> list[str]:
    return list(dict.fromkeys(schema.group_of.get(name, name) for name in names))
