"""Arrow types of what changes from outside: the tables that the engine joins to its state."""

from __future__ import annotations

import pyarrow as pa

from emulator.expressions.kafka.state import FEED, WORLD

_NUMBERS_AND_FLAGS = {"INT": pa.int32(), "BIGINT": pa.int64(), "BOOLEAN": pa.bool_()}


def arrow_fields(ddl: str) -> list[pa.Field]:
    """The fields of a text such as schema.WORLD: "name: TYPE, ...", named as Spark names them."""
    texts, depth = [""], 0
    for character in ddl:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            texts.append("")
        else:
            texts[-1] += character
    pairs = [text.split(":", 1) for text in texts]
    return [pa.field(name.strip(), arrow_type(kind.strip())) for name, kind in pairs]


def arrow_type(ddl: str) -> pa.DataType:
    """The type of a text such as "ARRAY<STRUCT<name: INT>>"."""
    if ddl.startswith("ARRAY<"):
        return pa.list_(pa.field("element", arrow_type(ddl[len("ARRAY<") : -1])))
    if ddl.startswith("STRUCT<"):
        return pa.struct(arrow_fields(ddl[len("STRUCT<") : -1]))
    return _NUMBERS_AND_FLAGS[ddl]


def changes_schema(key: str, value: str) -> pa.Schema:
    """The Arrow schema of what begins for a world or a feed: its key, and DDL fields of its values."""
    return pa.schema(arrow_fields(f"{key}, changes: ARRAY<STRUCT<from_round: INT, value: STRUCT<{value}>>>"))


WORLD_KEY, FEED_KEY = "world_id: INT", "feed_id: BIGINT"
WORLD_CHANGES: pa.Schema = changes_schema(WORLD_KEY, WORLD)
FEED_CHANGES: pa.Schema = changes_schema(FEED_KEY, FEED)
"""A row per world or feed for which something begins, with the values and from which round on, in their order."""

WORLD_CHANGE: pa.StructType = WORLD_CHANGES.field("changes").type.value_type
WORLD_VALUE: pa.StructType = WORLD_CHANGE.field("value").type
