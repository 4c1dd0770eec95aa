"""Higher-order functions as generated code give what Spark's own give, nulls, indices and nesting included."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.compiled_functions import CompiledFunctions
from emulator.expressions.columns import let
from emulator.expressions.loop import codegen_settings
from emulator.planned import PlannedRound
from emulator.session import engine_settings

ROWS = [
    (1, [1, 2, 3], None, ["a"]),
    (2, [], 5, []),
    (3, None, 7, [None, "b"]),
    (4, [1, None, 9, 4], None, None),
    (5, [None], 0, ["c", "b"]),
]

TEXTS = {
    "transformed": "transform(b, x -> x + a)",
    "null_elements": "transform(b, x -> IF(x > 1, null, x))",
    "with_index": "transform(b, (x, i) -> x + 10 * i)",
    "nested_indices": "transform(b, (x, i) -> transform(b, (y, j) -> 100 * i + 10 * j + coalesce(x, 0)))",
    "kept": "filter(b, x -> x > a)",
    "kept_by_index": "filter(b, (x, i) -> i > 0)",
    "kept_twice": "filter(filter(b, (x, i) -> i < 3), (x, i) -> i != 1)",
    "kept_texts": "filter(d, x -> x = 'b' OR x IS NULL)",
    "exists": "exists(b, x -> x > 3)",
    "for_all": "forall(b, x -> x > 0)",
    "exists_within": "filter(b, x -> exists(b, y -> y > x))",
    "sum": "aggregate(b, 0, (s, x) -> s + coalesce(x, 100), s -> 2 * s)",
    "last": "aggregate(b, CAST(null AS INT), (s, x) -> x)",
    "struct_of_fold": "aggregate(b, named_struct('n', 0, 'm', c), (s, x) -> named_struct('n', s.n + 1, 'm', x), s -> s.m + s.n)",
    "fold_within": "transform(b, x -> aggregate(b, 0, (s, y) -> s + IF(y < x, 1, 0)))",
    "named_null": let("w", "c", "coalesce(w, -1)"),
    "named_struct_read": let(
        "w", "named_struct('u', c, 'v', a + 1)", "w.u + w.v + size(filter(coalesce(b, array()), x -> x > w.v))"
    ),
    "names_within": let("v", "a + 1", let("w", "v * 2", "filter(array(v, w, a), x -> x > 3 AND x < w + v)")),
    "struct": let("w", "array_max(b)", "named_struct('most', w, 'rest', filter(b, x -> x != w))"),
    "interpreted_within": "transform(b, x -> zip_with(b, b, (y, z) -> x + y + z))",
    "sorted": "array_sort(transform(b, x -> -x))",
    "guarded": "IF(c IS NULL, null, transform(b, x -> x + c))",
}


def test_as_interpreted(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    of = CompiledFunctions.of
    monkeypatch.setattr(CompiledFunctions, "of", lambda self, bound: made.append(of(self, bound)) or made[-1])

    def one_round(state: DataFrame) -> DataFrame:
        return state.select("a", "b", "c", "d", *(F.expr(text).alias(name) for name, text in TEXTS.items()))

    with engine_settings(spark, 1, codegen_settings(1_000_000)):
        rows = spark.createDataFrame(ROWS, "a INT, b ARRAY<INT>, c INT, d ARRAY<STRING>").coalesce(1).localCheckpoint()
        expected = one_round(rows).collect()
        seen = PlannedRound(spark, rows, lambda state, cut: one_round(state)).run(rows, 1).collect()
    assert len(made) == len(TEXTS), "one was too large"
    assert seen == expected
