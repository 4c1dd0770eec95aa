"""A round of one partition with its rows, worked out as the page is made (docs/kafka_queries.md)."""

from __future__ import annotations

from functools import cache
from textwrap import fill

from emulator.rounds.relational.inputs.first_tables import first_tables
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.kafka_round import play_round, tables_after
from emulator.rounds.relational.queries.on_duckdb import OnDuckDB
from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import Round
from emulator.rounds.relational.verbs.logs import epoch_ends
from emulator.scenario import load_run

SCENARIO = """
rounds = 4
round_ms = 500
[cluster]
brokers = 3
config = { "replica.lag.time.max.ms" = 500 }
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = 2
[[faults]]
kind = "isolation"
broker = 3
from_round = 0
to_round = 3
[initial]
partitions = [{ topic = "t", partition = 0, leader = 1, leader_epoch = 2, isr = [1, 2] }]
replicas = [
  { topic = "t", partition = 0, broker = 1, leo = 10, hw = 5, epochs = [[0, 0], [2, 8]] },
  { topic = "t", partition = 0, broker = 2, leo = 8, hw = 5, epochs = [[0, 0]] },
  { topic = "t", partition = 0, broker = 3, leo = 9, hw = 5, epochs = [[0, 0], [1, 6]] },
]
"""

LINE = 108

HEAD = """## One round of one partition

Broker 1 leads, in epoch 2, brokers 1 and 2 are the ISR, and two records are appended in every round. Epoch 0
ended at offset 8, says the leader's log. Broker 3 was the leader of epoch 1 for a while and cut off then: nobody
else has anything of that epoch, its offsets 6 to 8 are other records than the leader's. This is the round in
which it is back. These rows are worked out as the page is made.
"""

TABLES = (
    (
        "keep_segments_of_leaders",
        "The window: where each epoch of a log ends, the start of the next one (`epoch_ends`; null: at the log's end, its `leo`)",
        lambda now: epoch_ends(now.leader_epochs).select("broker", "epoch", "start_offset", "end_offset"),
    ),
    (
        "answer_fetches",
        "The join: followers (`broker`) with the leader that they ask (`source`), and what it answers. It looks up the end of"
        " each follower's `last_epoch`. It has no epoch 1, so it names the one before, 0, and where that ends: beyond what"
        " broker 3 has of epoch 0, which ends at `own_end`. So it is cut to 6, the least of both ends",
        lambda now: now.fetches.select(
            "broker", "source", "leo", "last_epoch", "source_leo", "answer", "answered_epoch", "answered_end", "own_end"
        ),
    ),
    (
        "advance_high_watermark",
        "The group_by: of the followers that are waited for (members of the ISR here) the least `remote_leo`, what the leader"
        " noted at the fetch. Broker 2 has all up to 16, so what is below 16 is committed",
        lambda now: now.replicas.select("broker", "in_isr", "remote_leo", "reached", "hw"),
    ),
    (
        "end_round",
        "At the end broker 2 has all that the leader has, and goes on with the high watermark that came with the data, of the"
        " round's start. Broker 3 is cut, and fetches from 6 on in the next round",
        lambda now: now.replicas.select("broker", "believed_leader", "believed_epoch", "leo", "hw", "in_isr"),
    ),
)
"""After which verb, what is to be seen, and the table."""


@cache
def one_round() -> str:
    """The example as Markdown: the last round of the scenario."""
    engine, found = OnDuckDB(), dict[str, str]()
    shown = {verb: table for verb, _, table in TABLES}

    def look(verb: str, now: Round) -> None:
        if verb in shown:
            found[verb] = _markdown(shown[verb](now))

    inputs = RunInputs(load_run("one round", SCENARIO).scenarios)
    tables = first_tables(engine, inputs)
    for number in range(inputs.rounds):
        tables = tables_after(play_round(tables, inputs.of_round(engine, number, None), look))
    return "\n".join([HEAD, *(f"{fill(says, LINE)}:\n\n{found[verb]}\n" for verb, says, _ in TABLES)])


def _markdown(table: Query) -> str:
    rows = sorted([[row[name] for name in table.columns] for row in table.rows()], key=lambda row: row[:2])
    cells = [[f"`{name}`" for name in table.columns], ["---"] * len(table.columns)]
    cells += [["null" if cell is None else str(cell).lower() for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
