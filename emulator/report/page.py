"""The report of a run as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.errors import InputError
from emulator.explain.reading import choose_scenario, read_run
from emulator.outcomes.ask import Asker
from emulator.progress import Progress
from emulator.report import charts, questions
from emulator.report.asked import asked
from emulator.report.chart import drawing
from emulator.report.columns import (
    ALIKE,
    BY_BROKER,
    BY_FAULT,
    BY_TOPIC,
    OF_BROKERS,
    OF_SCENARIOS,
    OF_VIOLATIONS,
    OF_WORST,
    of_ledgers,
    of_partitions,
)
from emulator.report.limits import limits
from emulator.report.markup import Column, Row, bullets, number, paragraph, seconds, section, table
from emulator.report.sheets import sheets
from emulator.report.stories import legend_list, stories
from emulator.report.style import style
from emulator.scenario import Run
from emulator.scenario.event_kinds import unwritten_kinds
from emulator.scenario.notes import notes_of
from emulator.scenario.protocols import LEDGER_PROTOCOLS
from emulator.scenario.stored import load_stored
from emulator.storage.written_file import writing

if TYPE_CHECKING:
    from emulator.outcomes.prices import PricesShape

Rows = Callable[[str], list[Row]]
"""Asks a question of report/questions.py."""

MOST_SCENARIOS, MOST_BROKERS, MOST_WORST = 40, 20, 20
"""Rows of the tables of scenarios, brokers and worst partitions."""

SUSPECTS = "Rows of kind suspect count as no violation: something excuses them, for which no rule of the real system is known."


def write_report(tables: Asker, path: str, progress: Progress, scenario: str | None, told: int, prices: PricesShape) -> None:
    """Writes the report of a run.

    `scenario`: name or id of the one that it tells of, None: base or the only one; `told`: so many of the worst partitions have
    their story. Raises InputError for what the run does not have, and if the file cannot be written.
    """
    text = page(tables, progress, scenario, told, prices)
    with writing("--html", path):
        Path(path).write_text(text, "utf-8")


def page(tables: Asker, progress: Progress, wanted: str | None, told: int, prices: PricesShape) -> str:
    """Returns the report of a run; as `write_report` has it."""
    scenarios = tables.rows("SELECT * FROM scenarios ORDER BY scenario_id")
    scenario = choose_scenario(scenarios, wanted)
    run, stored, problem = read_run(tables), None, "the run keeps no scenario"
    if run is not None:
        try:
            stored = load_stored(run)
        except InputError as error:
            problem = str(error)
    of = scenario["scenario_id"]

    def rows(query: str) -> list[Row]:
        return tables.rows(query.format(s=of, rows=max(told, MOST_WORST)))

    topics, faults, came_to = rows(questions.TOPICS), rows(questions.FAULTS), rows(questions.SCENARIOS)
    worst = rows(questions.WORST)
    with drawing():
        parts = {
            "asked": asked(scenario, scenarios, rows(questions.RACKS)[0], topics, faults, run),
            "lost": _lost(scenario, topics, faults, rows(questions.STRUCK), rows(questions.VIOLATIONS)),
            "time": _time(scenario, rows, faults),
            "brokers": _brokers(scenario, rows),
            "worst": _worst(scenario, worst, told),
            **sheets(tables, scenarios, scenario, prices),
        }
    if len(scenarios) > 1:
        parts = {"scenarios": _side_by_side(came_to), **parts}
    if worst and told:
        legend = "" if scenario["protocol"] in LEDGER_PROTOCOLS else legend_list()
        parts["stories"] = section("stories", "Stories", legend, *stories(tables, scenario, run, stored, worst[:told], progress))
    parts["limits"] = _limits(scenario, faults, stored, problem)
    own = next((row for row in came_to if row["scenario_id"] == of), None)
    return _document(scenario, run, own, parts)


_TITLES = {
    "asked": "What was asked",
    "scenarios": "Scenarios",
    "lost": "Losses",
    "time": "Over time",
    "brokers": "Brokers",
    "worst": "Worst partitions",
    "tiering": "Tiering",
    "quorums": "Quorums",
    "placement": "Placement",
    "stories": "Stories",
    "limits": "Limits",
}


OF_ELECTIONS = (
    "An election that loses records made a broker leader whose log is shorter: an unclean one took a replica outside the ISR;"
    " at any other the records were not replicated yet (acks 0 or 1), or a fault took them from the log."
)
OF_LEDGERS = (
    "An acknowledged entry is lost when no bookie has it any more, or when its ledger was closed below it; the fault is that of"
    " the bookie which had the last copy, or for which the ledger was closed there."
)
"""Why something was lost."""
COME_BACK = "Records that an election lost can come back with a later one: elections may sum to more than topics."


def _document(scenario: Row, run: Row | None, own: Row | None, parts: dict[str, str]) -> str:
    name = str(scenario["name"] if run is None else run["name"])
    title = name if scenario["scenario_id"] == 0 else f"{name}: {scenario['name']}"
    when = ""
    if run is not None and run["started_at"] is not None and run["seconds"] is not None:
        when = f"Run of {run['started_at']:%Y-%m-%d %H:%M} UTC, {seconds(run['seconds'])}"
        when += f": {run['replica_rounds'] or 0:,} replica-rounds"
    links = "".join(f'<a href="#{part}">{_TITLES[part]}</a>' for part in parts)
    body = [
        f"<header>\n<h1>{escape(title)}</h1>",
        paragraph(when, "soft"),
        _cards(own),
        f"<nav>{links}</nav>\n</header>",
        *parts.values(),
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title>\n<style>\n{style()}\n</style>"
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body>\n</html>\n"


def _cards(own: Row | None) -> str:
    """What the scenario came to, at a glance."""
    if own is None:
        return ""
    gone = "unwritable" if own["protocol"] in LEDGER_PROTOCOLS else "without a leader"
    cards = [
        ("acknowledged records lost", number(own["acked_lost"]), own["acked_lost"] > 0),
        ("partitions that lost some", f"{own['partitions_with_loss']:,} of {own['partitions']:,}", False),
        ("records acknowledged", number(own["acked"]), False),
        ("records refused", number(own["refused"]), False),
        *([("records that producers gave up", number(own["given_up"]), True)] if own["given_up"] else []),
        (f"longest {gone}", seconds(own["longest_leaderless_seconds"]), False),
        (f"{gone}, over all partitions", seconds(own["leaderless_seconds"]), False),
    ]
    if own["protocol"] not in LEDGER_PROTOCOLS:
        cards += [
            ("under min.insync.replicas, likewise", seconds(own["under_min_isr_seconds"]), False),
            ("under-replicated, likewise", seconds(own["under_replicated_seconds"]), False),
        ]
    else:
        cards[1:1] = [("acknowledged, out of reach at the end", number(own["acked_unreadable"]), own["acked_unreadable"] > 0)]
        cards += [
            ("acknowledged, with too few copies at the end", number(own["acked_under_replicated"]), False),
            ("adds that failed", number(own["failed_adds"]), False),
        ]
    items = (f"<li{' class=bad' if bad else ''}><b>{value}</b><span>{what}</span></li>" for what, value, bad in cards)
    return f'<ul class="cards">{"".join(items)}</ul>'


def _side_by_side(came_to: Sequence[Row]) -> str:
    shown = list(came_to)
    of_both, are_ledgers = OF_SCENARIOS, {row["protocol"] in LEDGER_PROTOCOLS for row in came_to}
    columns = of_both if len(are_ledgers) > 1 else of_ledgers(of_both) if True in are_ledgers else of_partitions(of_both)
    note = ""
    if len(shown) > MOST_SCENARIOS:
        shown = sorted(shown, key=lambda row: (-row["acked_lost"], -row["unwritable_seconds"], row["scenario_id"]))
        shown = shown[:MOST_SCENARIOS]
        note = paragraph(f"The worst {MOST_SCENARIOS} of {len(came_to):,}; emulator compare has all.", "soft")
    return section("scenarios", "Scenarios side by side", note, table("scenario-table", columns, shown))


def _lost(scenario: Row, topics: Sequence[Row], faults: Sequence[Row], struck: Sequence[Row], violations: Sequence[Row]) -> str:
    blamed = [row for row in faults if row["lost_at_elections"] or row["unacknowledged_lost"] or row["leaderless_seconds"]]
    is_ledgers = scenario["protocol"] in LEDGER_PROTOCOLS
    why = OF_LEDGERS if is_ledgers else OF_ELECTIONS
    kinds = {row["kind"] for row in violations}
    lacking = _unwritten(scenario, ("acked_lost", "unacknowledged_lost", "election", "unclean_election", "leader_lost"))
    return section(
        "lost",
        "What was lost, and why",
        paragraph(why) if any(row["lost_at_elections"] or row["unacknowledged_lost"] for row in blamed) else "",
        lacking,
        "<h3>By topic</h3>",
        *_worst_of("by-topic", _in_words(scenario, BY_TOPIC), topics),
        "<h3>By fault</h3>" if blamed else "",
        *(_worst_of("by-fault", _in_words(scenario, BY_FAULT), blamed) if blamed else ()),
        "<h3>By broker or rack that was struck</h3>" if struck else "",
        *(_worst_of("by-broker", _in_words(scenario, BY_BROKER), struck) if struck else ()),
        "" if is_ledgers else paragraph(COME_BACK, "soft"),
        "<h3>Invariants that were violated</h3>" if "violation" in kinds else paragraph("No invariant was violated."),
        paragraph(SUSPECTS, "soft") if "suspect" in kinds else "",
        table("violations", OF_VIOLATIONS, violations) if violations else "",
    )


def _in_words(scenario: Row, columns: Sequence[Column]) -> Sequence[Column]:
    return of_ledgers(columns) if scenario["protocol"] in LEDGER_PROTOCOLS else of_partitions(columns)


def _worst_of(name: str, columns: Sequence[Column], rows: Sequence[Row]) -> tuple[str, str]:
    """The table of rows that are ordered by how much they cost, and how many there are if not all are in it."""
    note = "" if len(rows) <= MOST_WORST else paragraph(f"The worst {MOST_WORST} of {len(rows):,}.", "soft")
    return note, table(name, columns, rows[:MOST_WORST])


def _time(scenario: Row, rows: Rows, faults: Sequence[Row]) -> str:
    there = [fault for fault in faults if fault["fault_id"] is not None]
    drawn = charts.timeline(scenario, charts.panels(scenario, rows), there)
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        note = "By round, over all ledgers. For how long nothing could be written is in the tables by topic and in the stories."
        lacking = _unwritten(scenario, [kind for kind, *_ in charts.OF_LEDGERS])
        return section("time", "Over time", drawn, lacking, paragraph(note, "soft"))
    note = "From the events: a leader is missed from its fault on, and an isolated one that serves some clients is not."
    note += " A partition that began under-replicated is not counted until it changes."
    lacking = _unwritten(scenario, ("acked_lost", "election", "unclean_election", "leader_lost", "isr_shrink", "isr_expand"))
    return section("time", "Unavailable and under-replicated", drawn, lacking, paragraph(note, "soft"))


def _brokers(scenario: Row, rows: Rows) -> str:
    over_time, brokers = rows(questions.BROKER_ROUNDS), rows(questions.BROKERS)
    if not over_time:
        return section("brokers", "Traffic and saturation by broker", paragraph("The run has no table of brokers over time."))
    saturated, is_ledgers = charts.saturation(scenario, over_time), scenario["protocol"] in LEDGER_PROTOCOLS
    many = f"The first {MOST_BROKERS} of {len(brokers):,}, those that were held back most, then those with the highest peaks."
    return section(
        "brokers",
        f"Traffic and saturation by {'bookie' if is_ledgers else 'broker'}",
        charts.traffic(scenario, over_time),
        saturated or ("" if is_ledgers else paragraph("No budget of a broker, and no throttle, held replication back.")),
        paragraph(many, "soft") if len(brokers) > MOST_BROKERS else "",
        table("broker-table", _in_words(scenario, OF_BROKERS), brokers[:MOST_BROKERS]),
    )


def _worst(scenario: Row, worst: Sequence[Row], told: int) -> str:
    if not worst:
        return section("worst", "The worst partitions", paragraph("No partition was in trouble."))
    named = [{**row, "name": (row["topic"], row["partition"], place < told)} for place, row in enumerate(worst)]
    return section(
        "worst", "The worst partitions", table("worst-table", _in_words(scenario, OF_WORST), named), paragraph(ALIKE, "soft")
    )


def _limits(scenario: Row, faults: Sequence[Row], stored: Run | None, problem: str) -> str:
    notes = notes_of(stored) if stored is not None else [f"the scenario's notes are not known any more: {problem}"]
    return section(
        "limits",
        "The limits that apply",
        bullets(limits(scenario, faults, stored)),
        "<h3>Notes of the run</h3>" if notes else "",
        bullets(notes),
    )


def _unwritten(scenario: Row, kinds: Sequence[str]) -> str:
    lacking = [kind for kind in unwritten_kinds(scenario["protocol"], scenario["event_kinds"]) if kind in kinds]
    return (
        paragraph(f"The run did not write events of these kinds, which this lacks: {', '.join(lacking)}", "bad")
        if lacking
        else ""
    )
