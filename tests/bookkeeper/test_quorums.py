"""The SQL of quorums: covered ensembles, and what a recovery concludes from the answers to one read."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import COLUMNS, READ, RECOVERY_FIELDS
from emulator.expressions.bookkeeper.take_recoveries import read_verdicts
from emulator.expressions.bookkeeper.texts import covered, struct

COVERAGE = {(3, 2, 2): (4, 2), (3, 3, 2): (4, 2), (3, 3, 3): (7, 1), (2, 2, 2): (3, 1), (5, 5, 3): (16, 3)}
"""E, Qw, Qa -> how many subsets of the ensemble are covered, and the size of the smallest of them."""

ANSWERS = ("found", "no", "unknown")
BOOKIES = (1, 2, 3)


def feed(ensemble: int, write: int, ack: int) -> str:
    """SQL of a feed with these sizes."""
    return struct({"ensemble_size": str(ensemble), "write_quorum": str(write), "ack_quorum": str(ack)})


@pytest.mark.parametrize("shape", COVERAGE)
def test_covered_subsets(spark: SparkSession, shape: tuple[int, int, int]) -> None:
    ensemble, write, ack = shape
    subsets = spark.range(1 << ensemble).withColumn("feed", F.expr(feed(*shape))).withColumn("mask", F.col("id").cast("int"))
    found = subsets.filter(covered("mask", str(write - ack + 1))).collect()
    assert (len(found), min(row["mask"].bit_count() for row in found)) == COVERAGE[shape]


def verdict(spark: SparkSession, answers: tuple[str, ...]) -> tuple[int, list[int]]:
    """The verdict (1 recovered, 0 end, -1 retry) on entry 0 of a 3/3/2 ledger, and the bookies that were asked and heard it."""
    stored = [f"named_struct('bookie', {b}, 'entry', 0L, 'lac', -1L, 'flushed', false)" for b in _with("found", answers)]
    recovery = dict.fromkeys(RECOVERY_FIELDS, "0") | {
        "phase": str(READ),
        "lac": "-1",
        "fragments": "array(named_struct('first_entry', 0L, 'ensemble', array(1, 2, 3)))",
        **dict.fromkeys(("changes", "ensemble", "adds", "failed_later"), "array()"),
    }
    recovery = {name: f"CAST({text} AS {RECOVERY_FIELDS[name]})" for name, text in recovery.items()}
    silent = ", ".join(map(str, _with("unknown", answers)))
    values = {
        "feed": feed(3, 3, 2),
        "world": f"named_struct('dead', CAST(array() AS ARRAY<INT>), 'silent', CAST(array({silent}) AS ARRAY<INT>))",
        "stored": f"CAST(array({', '.join(stored)}) AS {COLUMNS['stored'][0]})",
        **{name: f"CAST(array() AS {COLUMNS[name][0]})" for name in ("runs", "lost")},
        **dict.fromkeys(("recoveries", "before"), f"array({struct(recovery)})"),
    }
    frame = spark.range(1).withColumns({name: F.expr(text) for name, text in values.items()})
    (read,) = frame.select(F.expr(read_verdicts(LedgerRules())["reads"]).alias("reads")).collect()[0]["reads"]
    return read["verdict"], list(read["fenced"])


def _with(answer: str, answers: tuple[str, ...]) -> list[int]:
    return [bookie for bookie, one in zip(BOOKIES, answers, strict=True) if one == answer]


def test_verdicts_on_all_triples_of_answers(spark: SparkSession) -> None:
    verdicts = {answers: verdict(spark, answers) for answers in product(ANSWERS, repeat=3)}
    assert Counter(one for one, _ in verdicts.values()) == {1: 18, 0: 5, -1: 4}
    assert verdicts["no", "no", "found"] == (0, [1, 2])
    assert verdicts["no", "no", "unknown"] == (0, [1, 2])
    assert verdicts["no", "unknown", "unknown"] == (-1, [1])
    assert verdicts["unknown", "found", "no"] == (1, [2])
