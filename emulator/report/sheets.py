"""The sheets that a run may have: tiering, quorums, and placement with the picture of what must not fail together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from emulator.graphs.copysets import copysets, loss_probability
from emulator.graphs.picture import svg
from emulator.graphs.placed import NOBODY, Placed, padded, placed
from emulator.outcomes.ask import Asker
from emulator.outcomes.placement_report import emulated_trials
from emulator.outcomes.quorum_report import quorum_report_sql
from emulator.outcomes.tiering_picture import OVER_TIME, tiering_figure
from emulator.outcomes.tiering_report import tiering_report_sql
from emulator.report import questions
from emulator.report.chart import chart
from emulator.report.markup import Column, Row, inline, paragraph, percent, section, table, turned
from emulator.scenario.protocols import LEDGER_PROTOCOLS

if TYPE_CHECKING:
    from emulator.outcomes.prices import PricesShape

MOST_SCENARIOS = 12
"""Scenarios that a sheet, and the picture of tiering, has beside each other."""

MOST_DRAWN_PARTITIONS = 200_000
"""Partitions whose placement is drawn."""

FAILURES = (1, 2, 3, 4, 6)
"""Brokers that fail at once, whose chance to take a whole partition is told."""

_MORE = "More: emulator compare --report placement, emulator graph (docs/placements.md, docs/graphs.md)."
_CHANCES = (
    Column("brokers that fail for good at once, at random", "failures"),
    Column("chance that some partition is lost", "probability", percent),
    Column("at least", "low", percent),
    Column("at most", "high", percent),
)
_TRIALS = (
    Column("placement of scenario", "scenario"),
    Column("copysets", "copysets"),
    Column("brokers that fail", "failures"),
    Column("chance, from the replica sets", "loss_probability", percent),
    Column("trials", "trials"),
    Column("that lost records", "lost_trials"),
    Column("share", "emulated", percent),
    Column("at least", "emulated_low", percent),
    Column("at most", "emulated_high", percent),
    Column("agrees", "agree", lambda agrees: "yes" if agrees else "no"),
    Column("partitions lost in the mean", "lost_partitions"),
)


def sheets(tables: Asker, scenarios: Sequence[Row], scenario: Row, prices: PricesShape) -> dict[str, str]:
    """Returns sections of the page by id, those that the run has something for."""
    found = {}
    if tables.rows(questions.TIERED)[0]["segments"]:
        found["tiering"] = _tiering(tables, prices)
    if any(each["protocol"] in LEDGER_PROTOCOLS for each in scenarios):
        found["quorums"] = _quorums(tables)
    if scenario["protocol"] not in LEDGER_PROTOCOLS:
        found["placement"] = _placement(tables, scenario)
    return found


def _tiering(tables: Asker, prices: PricesShape) -> str:
    columns, answered = tables.ask(tiering_report_sql(), prices)
    rows = list(answered)
    named = [dict(zip(columns, row, strict=True)) for row in rows[:MOST_SCENARIOS]]
    names = {row["scenario"] for row in named}
    time_columns, points = tables.ask(OVER_TIME, prices)
    over_time = [dict(zip(time_columns, point, strict=True)) for point in points]
    drawn = tiering_figure(named, [point for point in over_time if point["scenario"] in names])
    return section(
        "tiering",
        "Tiering: what it holds, risks and costs",
        chart(drawn, "bills", "Bills, bytes over time and risks of each scenario"),
        _some(rows),
        turned("tiering-sheet", columns, rows[:MOST_SCENARIOS]),
        paragraph("Its columns: docs/tiering_costs.md. Bytes are decimal; costs are a month's unless they say run.", "soft"),
    )


def _quorums(tables: Asker) -> str:
    columns, answered = tables.ask(quorum_report_sql())
    rows = list(answered)
    note = paragraph("Its columns: docs/quorums_and_isr.md.", "soft")
    return section("quorums", "Quorums and ISRs", _some(rows), turned("quorum-sheet", columns, rows[:MOST_SCENARIOS]), note)


def _placement(tables: Asker, scenario: Row) -> str:
    title = "Placement: how likely failures lose data"
    cluster = _at_the_end(tables, scenario)
    if cluster is None:
        return section("placement", title, paragraph("Too many partitions to draw; emulator compare --report placement tells."))
    sets = copysets([np.where(cluster.replicas >= 0, cluster.brokers[cluster.replicas], NOBODY)])
    rows = []
    for failures in FAILURES:
        if failures <= len(cluster.brokers):
            chance = loss_probability(sets, cluster.brokers.tolist(), failures)
            rows.append({"failures": failures, **{name: getattr(chance, name) for name in ("probability", "low", "high")}})
    return section(
        "placement",
        title,
        f'<div class="drawing whole">{inline(svg(cluster, scenario["name"]))}</div>',
        table("placement-sheet", _CHANCES, rows),
        paragraph(f"Of {len(sets):,} sets of brokers that hold all replicas of a partition at the end. {_MORE}", "soft"),
        _trials(tables),
    )


def _trials(tables: Asker) -> str:
    rows = emulated_trials(tables)
    if not rows:
        return ""
    note = (
        "Scenarios of the run whose only faults take brokers for good: if who fails was drawn at random, their share agrees with"
    )
    note += " the chance, but for one row in 20."
    more = f" The first {MOST_SCENARIOS} of {len(rows):,} rows; emulator compare has all." if len(rows) > MOST_SCENARIOS else ""
    return "<h3>As emulated</h3>" + table("trials-table", _TRIALS, rows[:MOST_SCENARIOS]) + paragraph(note + more, "soft")


def _some(rows: Sequence[Any]) -> str:
    if len(rows) <= MOST_SCENARIOS:
        return ""
    return paragraph(f"The first {MOST_SCENARIOS} of {len(rows)}; emulator compare has all.", "soft")


def _at_the_end(tables: Asker, scenario: Row) -> Placed | None:
    """Where the scenario's partitions lie; None for too many to draw, and none."""
    number = scenario["scenario_id"]
    of_scenario = f"FROM partitions WHERE scenario_id = {number}"
    if not 0 < tables.rows(f"SELECT count(*) AS partitions {of_scenario}")[0]["partitions"] <= MOST_DRAWN_PARTITIONS:
        return None
    rows = tables.rows(questions.PLACED.format(s=number))
    brokers = tables.rows(f"SELECT broker, rack FROM brokers WHERE scenario_id = {number}")

    def lists(name: str) -> np.ndarray:
        return padded(pa.array([row[name] for row in rows], pa.list_(pa.int32())))

    return placed(
        number,
        [(row["broker"], row["rack"]) for row in brokers],
        lists("replicas"),
        np.array([row["min_isr"] for row in rows]),
        lists("isr"),
        np.array([row["leader"] for row in rows]),
    )
