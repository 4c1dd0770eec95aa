"""`emulator check` and `emulator explain-round`: what a check compares and finds, and the page of queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.errors import InputError
from emulator.inputs.arrays.rules import CORE_RULES
from emulator.rounds.relational.check import Checked, Difference, check_run, compare
from emulator.rounds.relational.kafka_round import VERBS
from emulator.rounds.relational.page.explain import BEHIND, ONLY, SENTENCES, page, verbs
from tests.engine_helpers import emulate

DOCS = Path(__file__).parents[1] / "docs"
PLACE = {"scenario_id": 0, "topic": "t", "partition": 0}


def traced(round_: int, broker: int, **values: Any) -> dict[str, Any]:
    """A row of the table `trace`."""
    numbers = ("leader_epoch", "log_start_offset", "local_log_start_offset", "leo", "hw", "remote_leo")
    more = ("role", "in_isr", "fetch_state", "epochs", "local_segments", "local_bytes", "highest_remote_offset")
    offsets = ("latest", "earliest", "max_timestamp", "earliest_local", "latest_tiered", "earliest_pending_upload")
    row: dict[str, Any] = dict.fromkeys((*numbers, *more, *(f"{name}_offset" for name in offsets)), None)
    return {**PLACE, "round": round_, "broker": broker, **row, "epochs": [], **values}


def test_equal_rows_have_no_difference() -> None:
    rows = [traced(0, 1, leo=3), traced(1, 1, leo=4)]
    cells, found = compare("trace", rows, list(reversed(rows)), ("round", "broker"))
    assert found == []
    assert cells == 2 * (len(rows[0]) - len(PLACE))


def test_a_cell_that_differs_is_told_with_its_round() -> None:
    _, found = compare("trace", [traced(7, 2, hw=5)], [traced(7, 2, hw=6)], ("round", "broker"))
    assert found == [Difference("trace", (0, "t", 0), 7, "hw broker 2", 5, 6)]
    line = Checked(1, 20, found, ["scenario b: consumers"]).lines()
    assert line[0] == "left out: scenario b: consumers"
    assert line[-1] == "trace: t:0 of scenario 0 in round 7, hw broker 2: 5 in the run, 6 in relational rounds"


def test_a_row_that_only_one_has_is_told() -> None:
    _, found = compare("trace", [traced(7, 2)], [], ("round", "broker"))
    assert [(d.round, d.what, d.of_run, d.relational) for d in found] == [(7, "broker 2", "a row", "no row")]


def test_events_count_as_often_as_they_are_there() -> None:
    event = {**PLACE, "round": 3, "kind": "election", "broker": 1, "leader_epoch": 2, "from_offset": 5, "to_offset": None}
    rows = [{**event, "cause": None, "ledger": None, "records": None}] * 2
    _, found = compare("events", rows, rows[:1], None)
    assert [(d.round, d.of_run, d.relational) for d in found] == [(3, "2 times", "1 times")]
    assert compare("events", rows, rows, None)[1] == []


SAMPLE = 200
FLEET = """
rounds = 8
round_ms = 500
mode = "plain"
events = ["election", "isr_shrink", "unfenced"]
[cluster]
brokers = 6
session_timeout_rounds = 2
[[topics]]
name = "two"
partitions = 500
replication_factor = 3
config = { "min.insync.replicas" = 2 }
[[topics]]
name = "one"
partitions = 500
replication_factor = 3
[[workload]]
topic = "*"
records_per_round = 3
acks = "1"
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 2
to_round = 8
[[faults]]
kind = "broker_crash"
broker = 3
from_round = 2
to_round = 8
"""


def test_a_wrong_rule_of_the_default_engine_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1,000 partitions, by the sample that is drawn by default: the high watermark rises though the ISR is below the minimum.

    Where the minimum is one replica that is no difference, nor are events that the run did not write.
    """
    monkeypatch.setitem(cast(dict[str, int], CORE_RULES["kafka"]), "hold_below_min_isr", 0)
    emulate(spark, FLEET, tmp_path / "run", trace="none")
    found = check_run(str(tmp_path / "run"), spark, SAMPLE)
    assert found.partitions == SAMPLE
    left_out = "scenario base: events that the run did not write: unclean_election, leader_lost, isr_expand, truncate"
    assert [line[: len(left_out)] for line in found.left_out] == [left_out]
    assert {d.place[1] for d in found.differences} == {"two"}
    assert "hw" in {d.what for d in found.differences if d.table == "outcomes"}


TWO = """
rounds = 3
mode = "plain"
[cluster]
brokers = 3
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
[[workload]]
topic = "t"
records_per_round = 2
"""

SYSTEMS = (
    TWO
    + """
[[variants]]
name = "as ledgers"
protocol = "bookkeeper"
topics = [{ name = "t", partitions = 2, config = { ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2 } }]
[[variants]]
name = "as groups"
protocol = "raft"
[[variants]]
name = "read"
consumers = [{ group = "g", topic = "t" }]
[[variants]]
name = "read by two"
consumers = [{ group = "g", topic = "t" }, { group = "h", topic = "t" }]
"""
)


def test_what_else_a_run_has_is_left_out_by_name(spark: SparkSession, tmp_path: Path) -> None:
    emulate(spark, SYSTEMS, tmp_path / "run", trace="none")
    found = check_run(str(tmp_path / "run"), spark, 20)
    assert (found.partitions, found.differences) == (2, [])
    assert found.left_out == [
        "scenario as ledgers: protocol bookkeeper", "scenario as groups: protocol raft", "scenarios read, read by two: consumers"
    ]  # fmt: skip
    only = SYSTEMS.replace("rounds = 3", 'rounds = 3\nprotocol = "raft"').split("[[variants]]")[0]
    emulate(spark, only, tmp_path / "only", trace="none")
    told = "nothing of this run can be replayed in relational rounds: scenario base: protocol raft; allowed: a run with a "
    with pytest.raises(InputError, match=told):
        check_run(str(tmp_path / "only"), spark, 20)


@cache
def whole_page() -> str:
    """Making it takes seconds."""
    return page()


def test_every_verb_has_a_sentence_of_the_rules() -> None:
    rules = " ".join(" ".join((DOCS / page).read_text().split()) for page in ("kafka_rounds.md", "tiered_rounds.md"))
    assert {verb.__name__ for verb in verbs()} == SENTENCES.keys()
    assert [name for name, (_, sentence) in SENTENCES.items() if " ".join(sentence.split()) not in rules] == []


def test_the_page_shows_the_round_at_a_glance() -> None:
    """In its order, with where tables are settled; what does nothing in most rounds stands behind the rest."""
    glance, _, rest = whole_page().partition("## The round at a glance")[2].partition("## begin_round")
    rows = [line.split(" | ")[1].split("]")[0].strip("[") for line in glance.splitlines() if "](#" in line]
    assert rows == [verb.__name__ for verb in VERBS if not isinstance(verb, str)]
    assert glance.count("*settled*") == len(VERBS) - len(rows)
    behind = re.findall("^## (\\w+)", rest.partition(BEHIND)[2], re.MULTILINE)
    assert behind == [*(name for name in rows if name in ONLY), "What"]
    for name in ONLY:
        assert re.search(r"^    if .*:\n        return now$", page(name), re.MULTILINE), name


def test_the_page_of_queries_is_current() -> None:
    assert (DOCS / "kafka_queries.md").read_text() == whole_page()


def test_the_page_has_all_that_verbs_are_made_of_once() -> None:
    defined = re.findall(r"^(?:def (\w+)\(|(\w+)(?:: [^=]+)? = )", whole_page(), re.MULTILINE)
    names = [function or constant for function, constant in defined]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert {verb.__name__ for verb in verbs()} | {"begin_round", "epoch_ends", "BY_START", "over", "SERVES", "in_bins"} <= {
        *names
    }
    assert "def epoch_ends" in page("answer_fetches")


def test_verbs_are_joins_windows_and_groups() -> None:
    """There are no lists, no higher-order functions, and a round brings nothing to the driver."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", whole_page(), re.DOTALL))
    for name in ("collect_list", "aggregate(", "transform(", "filter(", "reduce(", "udf", ".rows()", ".arrow(", "toArrow"):
        assert name not in code, name
    assert ("collect()" in code, "._j" in code) == (False, False)


def test_a_verb_by_a_part_of_its_name() -> None:
    assert [line for line in page("fetch").splitlines() if line.startswith("## ")] == [
        "## request_fetch, step 4",
        "## answer_fetches, step 4",
        "## note_fetches, step 4",
        "## append_fetched, step 7",
    ]
    with pytest.raises(InputError, match="no verb has 'flush' in its name.*allowed: append_last_moments, take_inputs"):
        page("flush")


def test_the_command_line_prints_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain-round", "kafka", "--verb", "advance_high_watermark", "--verbose"]) == 0
    assert ".group_by(" in capsys.readouterr().out


def test_the_command_line_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plain.toml"
    path.write_text('rounds = 3\n[cluster]\nbrokers = 3\n[[topics]]\nname = "t"\npartitions = 2\nreplication_factor = 2\n')
    asked = ["run", str(path), "--out", str(tmp_path / "out"), "--engine", "relational", "--mode", "leap"]
    assert main(asked) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].endswith("allowed: --engine compiled, which has")


@pytest.mark.parametrize(("differences", "status"), [([], 0), (["leo of t:0 in round 3"], 1)])
def test_the_check_command_hands_everything_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], differences: list[str], status: int
) -> None:
    calls: list[Any] = []
    found = SimpleNamespace(differences=differences, lines=lambda: ["cells compared: 7"])

    @contextmanager
    def session(master: str | None, conf: Any, name: str) -> Iterator[Any]:
        yield master, dict(conf), name

    monkeypatch.setattr("emulator.cli.sessions.session", session)
    monkeypatch.setattr("emulator.rounds.relational.check.check_run", lambda *given: calls.append(given) or found)
    asked = ["--sample", "5", "--seed", "3", "--master", "local[1]", "--conf", "spark.a=b", "--verbose"]
    assert main(["check", str(tmp_path), *asked]) == status
    assert calls == [(str(tmp_path), ("local[1]", {"spark.a": "b"}, "emulator check"), 5, 3)]
    assert capsys.readouterr().out == "cells compared: 7\n"
