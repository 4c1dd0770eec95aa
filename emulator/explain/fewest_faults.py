"""Which of a run's faults suffice for what a partition went through: it is played again with fewer and fewer of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import InputError
from emulator.explain.replay import play_again, stored_scenario, traced_rows
from emulator.explain.rows import PartitionRows, Row
from emulator.inputs.arrays.shared import shares_budgets
from emulator.progress import Progress
from emulator.scenario import Scenario
from emulator.scenario.protocols import PARTITIONS, system_of

SYMPTOMS = {
    "acked_lost": "acknowledged records lost",
    "committed_lost": "committed records lost",
    "unacknowledged_lost": "records of acks=0 lost",
    "leaderless_rounds": "time without a leader",
    "refused": "records refused",
    "under_min_isr_rounds": "time under min.insync.replicas",
}
"""By column of `outcomes`, the gravest first; a violated invariant is graver."""

Tables = Mapping[str, pa.Table]


def with_fewest_faults(rows: PartitionRows, run: Row, first: int, last: int, progress: Progress) -> tuple[PartitionRows, str]:
    """Returns the rows as they are, with a trace, when none but the fewest faults happen, and in a line what these suffice for.

    None of them can be left out; another set as small may do as well. `run`: the row of table `runs`. Raises InputError for a
    partition that nothing happened to, and where partitions share what their brokers have, or are none of Kafka's.
    """
    scenario = replace(stored_scenario(run, [rows]), events=None)
    if system_of(scenario.protocol) != PARTITIONS:
        raise InputError(f"--fewest-faults: protocol {scenario.protocol}; allowed: partitions of Kafka's protocols")
    if shares_budgets(scenario):
        problem = "partitions share what their brokers have, and all would have to be played for each set of faults"
        raise InputError(f"--fewest-faults: {problem}; allowed: a run without such limits")
    place = (rows.topic, rows.partition)

    def played(kept: list[int], is_traced: bool = False) -> Tables:
        return play_again(_with_faults(scenario, kept), [place], progress, is_traced)[0]

    count = scenario.faults.num_rows
    symptoms = list(_symptoms(played(list(range(count)))))
    if not symptoms:
        raise InputError(
            f"--fewest-faults: nothing befell {place[0]}:{place[1]}; allowed: a partition that lost records or had outages"
        )
    wanted = symptoms[0]
    kept = fewest(count, lambda some: wanted in _symptoms(played(some)))
    tables = played(kept, is_traced=True)
    ids = set(kept)
    found = replace(
        traced_rows(rows, tables, first, last),
        outcome=tables["outcomes"].to_pylist()[0],
        ends=tables["replicas"].to_pylist(),
        leader_epochs=tables["leader_epochs"].to_pylist(),
        events=tables["events"].to_pylist(),
        violations=tables["violations"].to_pylist(),
        faults=[fault for fault in rows.faults if fault["fault_id"] in ids],
    )
    return found, f"{len(kept)} of the scenario's {count} faults suffice for this: {wanted}. The story with no others:"


def fewest(count: int, happens: Callable[[list[int]], bool]) -> list[int]:
    """Numbers below `count` with which it happens, and with none of which left out it does; all of them together do.

    Halves are left out first, then ever smaller parts (Zeller and Hildebrandt 2002, delta debugging).
    """
    kept, size = list(range(count)), max(1, count // 2)
    while True:
        at, is_smaller = 0, False
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if happens(fewer):
                kept, is_smaller = fewer, True
            else:
                at += size
        if size == 1 and not is_smaller:
            return kept
        size = max(1, size // 2)


def _symptoms(tables: Tables) -> Iterator[str]:
    """What a partition went through, the gravest first."""
    broken = tables["violations"].filter(pc.equal(tables["violations"]["kind"], "violation"))
    yield from (f"{name} violated" for name in sorted(set(broken["invariant"].to_pylist())))
    outcome = tables["outcomes"].to_pylist()[0]
    yield from (words for column, words in SYMPTOMS.items() if outcome[column] > 0)


def _with_faults(scenario: Scenario, kept: list[int]) -> Scenario:
    """The scenario without the others of its faults: they come when it is over, so that fault_ids stay."""
    faults = scenario.faults
    lacks = np.ones(faults.num_rows, bool)
    lacks[kept] = False
    for name, late in (("from_round", scenario.rounds), ("to_round", scenario.rounds + 1)):
        column = pc.if_else(pa.array(lacks), pa.scalar(late, pa.int64()), faults.column(name))
        faults = faults.set_column(faults.column_names.index(name), faults.schema.field(name), column)
    return replace(scenario, faults=faults)
