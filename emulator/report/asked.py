"""The report's section on what was asked: the scenario in words, its topics, its faults, and its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from emulator.progress import counted
from emulator.report.markup import Column, Row, bullets, paragraph, seconds, section, table
from emulator.scenario.protocols import LEDGER_PROTOCOLS

MOST_FAULTS, MOST_TOPICS = 40, 30
"""Rows of the tables; the costliest faults, and the topics that fared worst."""

LONGEST_FILE_CHARS = 60_000
"""Of the scenario file that is shown."""


def asked(
    scenario: Row, scenarios: Sequence[Row], size: Row, topics: Sequence[Row], faults: Sequence[Row], run: Row | None
) -> str:
    """Returns the section. `size`: of RACKS; `topics`, `faults`: of TOPICS and FAULTS in questions.py; `run`: of table runs."""
    there = [fault for fault in faults if fault["fault_id"] is not None]
    is_ledgers = scenario["protocol"] in LEDGER_PROTOCOLS
    return section(
        "asked",
        "What was asked",
        bullets(_words(scenario, scenarios, size, topics, there)),
        "<h3>Topics</h3>",
        _some(topics, MOST_TOPICS, "topics, those that fared worst"),
        table("topics", _LEDGER_COLUMNS if is_ledgers else _TOPIC_COLUMNS, topics[:MOST_TOPICS]),
        "<h3>Faults</h3>" if there else "",
        _some(there, MOST_FAULTS, "faults, the costliest"),
        table("faults", _FAULT_COLUMNS, there[:MOST_FAULTS]) if there else "",
        _file(run),
    )


def _words(scenario: Row, scenarios: Sequence[Row], size: Row, topics: Sequence[Row], faults: Sequence[Row]) -> Iterator[str]:
    rounds, each = scenario["rounds"], scenario["round_ms"] / 1000
    yield f"{rounds:,} rounds of {seconds(each)}, {seconds(rounds * each)} in all, of the protocol {scenario['protocol']}"
    racks = f" in {counted(size['racks'], 'rack')}" if size["racks"] else ", none in a rack"
    who, what, most = "broker", "partition", sum(topic["partitions"] for topic in topics)
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        who, what, most = "bookie", "ledger", sum(topic["ledgers"] or 0 for topic in topics)
    yield f"{counted(size['brokers'], who)}{racks}; {counted(most, what)} of {counted(len(topics), 'topic')}"
    kinds: dict[str, int] = {}
    for fault in faults:
        kinds[fault["kind"]] = kinds.get(fault["kind"], 0) + 1
    listed = ", ".join(f"{kind} ({count:,})" if count > 1 else kind for kind, count in sorted(kinds.items()))
    yield f"{counted(len(faults), 'fault')}: {listed}" if faults else "No faults"
    if scenario["overrides"]:
        yield "This variant sets " + ", ".join(f"{key} = {value}" for key, value in sorted(scenario["overrides"].items()))
    if len(scenarios) > 1:
        others = [each["name"] for each in scenarios if each["scenario_id"] != scenario["scenario_id"]]
        shown = ", ".join(others[:8]) + (f" and {len(others) - 8:,} more" if len(others) > 8 else "")
        yield f"This page is about scenario {scenario['name']}; beside it there are {shown}"


def _some(rows: Sequence[Row], most: int, what: str) -> str:
    return "" if len(rows) <= most else paragraph(f"{most} of {len(rows):,} {what} first.", "soft")


def _file(run: Row | None) -> str:
    if run is None or not run["scenario_text"]:
        return ""
    text = str(run["scenario_text"])
    cut = "" if len(text) <= LONGEST_FILE_CHARS else paragraph(f"Its first {LONGEST_FILE_CHARS:,} characters.", "soft")
    shown = escape(text[:LONGEST_FILE_CHARS])
    return f"<details><summary>The scenario file, {escape(str(run['scenario_path']))}</summary>{cut}<pre>{shown}</pre></details>"


_TOPIC_COLUMNS = (
    Column("topic", "topic"),
    Column("partitions", "partitions"),
    Column("fewest replicas", "least_replicas"),
    Column("most replicas", "most_replicas"),
    Column("least min.insync.replicas", "min_isr"),
)
_LEDGER_COLUMNS = (
    Column("topic", "topic"),
    Column("partitions", "partitions"),
    Column("ledgers", "ledgers"),
    Column("ensemble / write quorum / ack quorum", "quorums"),
)
_FAULT_COLUMNS = (
    Column("fault", "fault_id"),
    Column("kind", "kind"),
    Column("struck", "struck"),
    Column("name", "name"),
    Column("from round", "from_round"),
    Column("to round", "to_round"),
    Column("from", "from_seconds", seconds),
    Column("to", "to_seconds", seconds),
)
