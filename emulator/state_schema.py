"""What the engine has to know of a system's state: its columns, which stand together, and which of them a leap multiplies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

LARGEST_SUM = 2**63 - 1


def added(total: str, value: str) -> str:
    """SQL: a column of `StateSchema.sums` and what a round adds to it."""
    return f"coalesce(try_add({total}, {value}), {LARGEST_SUM}L)"


@dataclass(frozen=True)
class NestedCounters:
    """How the counters within a column move in a leap: SQL texts of the column now, before the round, and so on.

    `alike` (now, before): whether nothing else changed. `drift` (now, before): by how much they moved. `moved` (column, rounds,
    drift): the column so many rounds later, or before.
    """

    alike: Callable[[str, str], str]
    drift: Callable[[str, str], str]
    moved: Callable[[str, str, str], str]


@dataclass(frozen=True)
class Calm:
    """Changes over which leaps go on: what they change decides nothing but what `horizon` and the other horizons foresee.

    `columns`: those that may change. `horizon`: SQL, the first round in which that may happen, null: none is foreseen; a leap may
    end in it. `condition`: SQL that must hold on every row after such a round.
    """

    columns: tuple[str, ...] = ()
    horizon: str = "CAST(null AS BIGINT)"
    condition: str = "false"


@dataclass(frozen=True, eq=False)
class StateSchema:
    """The state of one system while rounds run: a row has `columns`, by name with (DDL type, meaning).

    `world`, `feed`: fields (DDL) of the two inputs in force. `nullable`: columns, and fields of the inputs, that may be null.
    `groups`: columns that stand in one struct while rounds run; `optional_groups`: those that are null where one column of
    theirs is. `counters`: columns that move by a constant amount a round while nothing happens, what a leap multiplies;
    `counters_of_rounds`: those of them that count rounds, as INT. `nested_drifts`: columns that have such within -> DDL of by how
    much a round moves them. `samples`: columns that take a counter's value at the end of
    rounds divisible by a period (0: never): column -> (counter, period). `sums`: columns to which the end of every round adds a
    counter: column -> counter; they stop at LARGEST_SUM. `resets`: counters that jump in rounds which change another column, and
    then go on moving as before: counter -> (that column, the counter whose drift it has; null: it stays). `constants`: columns
    that no round changes.
    `dense_arrays`: arrays of structs without nulls. `has_buckets`: rows count broker traffic by time buckets.
    """

    columns: Mapping[str, tuple[str, str]]
    world: str
    feed: str
    nullable: Collection[str]
    counters: tuple[str, ...]
    constants: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional_groups: Mapping[str, str] = field(default_factory=dict)
    counters_of_rounds: tuple[str, ...] = ()
    nested_drifts: Mapping[str, str] = field(default_factory=dict)
    samples: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)
    resets: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    dense_arrays: Collection[str] = ()
    has_buckets: bool = False

    @cached_property
    def ddl(self) -> str:
        """The columns as DDL."""
        return ", ".join(f"{name} {kind}" for name, (kind, _) in self.columns.items())

    @cached_property
    def group_of(self) -> dict[str, str]:
        """Column -> group, of the columns that stand in one."""
        return {column: group for group, columns in self.groups.items() for column in columns}

    @cached_property
    def paths(self) -> dict[str, str]:
        """Column -> its path in the packed state, of the same."""
        return {column: f"{group}.{column}" for column, group in self.group_of.items()}

    @cached_property
    def packed_columns(self) -> list[str]:
        """The columns of the state while rounds run."""
        return list(dict.fromkeys(self.group_of.get(name, name) for name in self.columns))

    def state_type(self) -> StructType:
        """The state's columns, with what is never null marked so: code that need not look for nulls is half as long.

        World and feed are null until round 0 has put them in force, and nothing reads them before.
        """
        fields = []
        for column in cast(StructType, StructType.fromDDL(self.ddl)).fields:
            kind = column.dataType
            if isinstance(kind, ArrayType) and column.name in self.dense_arrays:
                kind = ArrayType(self.never_null(cast(StructType, kind.elementType)))
            elif isinstance(kind, StructType):
                kind = self.never_null(kind)
            fields.append(StructField(column.name, kind, column.name in self.nullable))
        return StructType(fields)

    def never_null(self, kind: StructType) -> StructType:
        """The struct, no field of which is null but `nullable` ones."""
        return StructType([StructField(f.name, f.dataType, f.name in self.nullable) for f in kind.fields])

    def changes_type(self, kind: str) -> ArrayType:
        """The type of what begins for a world or a feed (`kind`): [(from_round, value)]."""
        ddl = self.world if kind == "world" else self.feed
        value = self.never_null(cast(StructType, StructType.fromDDL(ddl)))
        from_round = StructField("from_round", IntegerType(), False)
        return ArrayType(StructType([from_round, StructField("value", value, False)]), False)
