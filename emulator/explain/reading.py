"""Reads one partition's rows from the tables of a run; filtered in SQL, as the tables may be huge."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.explain.rows import PartitionRows, Row
from emulator.outcomes.ask import Asker

_TRACE = "round, broker, role, leader_epoch, leo, hw, remote_leo, fetch_state, try_element_at(epochs, -1).epoch AS log_epoch"
_CONTROLLERS = "round, leader, leader_epoch, isr, elr"
MOST_SCENARIOS = 10
"""That a message says may be chosen."""


@dataclass(frozen=True)
class Subject:
    """The partition, or ledger, of a scenario that is told of, and the first and the last round."""

    scenario: Row
    topic: str
    partition: int
    first: int
    last: int

    @property
    def in_scenario(self) -> str:
        """SQL: whether a row is of the scenario."""
        return f"scenario_id = {self.scenario['scenario_id']}"

    @property
    def here(self) -> str:
        """SQL: whether a row is of the partition."""
        return f"{self.in_scenario} AND topic = {literal(self.topic)} AND partition = {self.partition}"


def find_subject(tables: Asker, topic: str, partition: int, scenario: str | None, rounds: tuple[int, int] | None) -> Subject:
    """Returns what is to be told of; raises InputError for what the run does not have.

    `scenario`: name or id, None for the only one or base; `rounds`: first and last, None for all.
    """
    chosen = choose_scenario(tables.rows("SELECT * FROM scenarios ORDER BY scenario_id"), scenario)
    subject = Subject(chosen, topic, partition, *choose_rounds(chosen, rounds))
    of_scenario = f"FROM partitions WHERE {subject.in_scenario}"
    topics = f"SELECT topic, max(partition) AS last {of_scenario} GROUP BY topic ORDER BY topic"
    check_partition(tables.rows(topics), topic, partition)
    return subject


def read_partition(tables: Asker, subject: Subject) -> tuple[PartitionRows, int, int]:
    """Returns the rows of a partition, and the first and the last round to tell of.

    Of the trace the rows of these rounds and of the one before are read. Raises InputError for what the run does not have.
    """
    return read_partitions(tables, [subject])[0]


def read_partitions(tables: Asker, subjects: Sequence[Subject]) -> list[tuple[PartitionRows, int, int]]:
    """Likewise of several partitions of one scenario: a query for each table, whatever their number."""

    def rows(table: str, columns: str = "", order: str = "", in_rounds: bool = False) -> list[list[Row]]:
        """Of each subject its rows of a table, with these columns and its names; without columns with all."""
        wanted = [f"({one.here}{f' AND round BETWEEN {one.first - 1} AND {one.last}' if in_rounds else ''})" for one in subjects]
        chosen = f"topic, partition, {columns}" if columns else "*"
        found = tables.rows(f"SELECT {chosen} FROM {table} WHERE {' OR '.join(wanted)}{order and f' ORDER BY {order}'}")
        by_name: dict[tuple[str, int], list[Row]] = {(one.topic, one.partition): [] for one in subjects}
        for row in found:
            by_name[row["topic"], row["partition"]].append(row)
        return list(by_name.values())

    places, outcomes = rows("partitions"), rows("outcomes")
    for one, place, outcome in zip(subjects, places, outcomes, strict=True):
        if not place or not outcome:
            name = f"{one.topic}:{one.partition}"
            raise InputError(f"{tables.uri}: the tables partitions and outcomes have no row of {name}; run it again")
    others = {
        "ends": rows("replicas"),
        "leader_epochs": rows("leader_epochs"),
        "events": rows("events"),
        "violations": rows("violations", order="round NULLS LAST, invariant"),
        "trace": rows("trace", _TRACE, "round, broker", in_rounds=True),
        "controllers": rows("trace_partitions", _CONTROLLERS, "round", in_rounds=True),
    }
    told = []
    for at, one in enumerate(subjects):
        own = {name: of_all[at] for name, of_all in others.items()}
        found = PartitionRows(one.scenario, one.topic, one.partition, places[at][0]["replicas"], outcome=outcomes[at][0], **own)
        racks, ordered = read_faults(tables, one, found.columns)
        told.append((replace(found, brokers=racks, faults=ordered), one.first, one.last))
    return told


def read_run(tables: Asker) -> Row | None:
    """Returns the row of table `runs`; None where there is none."""
    try:
        found = tables.rows("SELECT * FROM runs")
    except InputError:
        return None
    return found[0] if found else None


def _told(name: str) -> str:
    return quoted(name) if "," in name else name


def choose_scenario(scenarios: Sequence[Row], wanted: str | None) -> Row:
    """Returns the scenario of a name or, failing that, of an id; None: the only one, or else base."""
    names = [str(row["name"]) for row in scenarios]
    for row in scenarios:
        if row["name"] == wanted or (wanted is None and (row["scenario_id"] == 0 or len(scenarios) == 1)):
            return row
    for row in scenarios:
        if str(row["scenario_id"]) == wanted:
            return row
    problem = "no scenario is chosen" if wanted is None else f"no scenario is called {quoted(wanted)}"
    shown = [f"{_told(str(row['name']))} ({row['scenario_id']})" for row in scenarios[:MOST_SCENARIOS]]
    more = f" and {len(scenarios) - MOST_SCENARIOS} more" if len(scenarios) > MOST_SCENARIOS else ""
    allowed = f"{listing(shown)}{more}"
    raise InputError(f"--scenario: {problem}{did_you_mean(wanted or '', names)}; allowed: {allowed}")


def choose_rounds(scenario: Row, wanted: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the rounds to tell of; raises InputError for some that were not emulated."""
    end = int(scenario["rounds"]) - 1
    if wanted is None:
        return 0, end
    if wanted[1] > end:
        problem = f"round {wanted[1]} was not emulated in scenario {scenario['name']}"
        raise InputError(f"--rounds: {problem}; allowed: 0 to {end}")
    return wanted


def check_partition(topics: Sequence[Row], topic: str, partition: int) -> None:
    """Raises InputError for a topic or partition that is not among `topics`: rows of topic and last partition."""
    ends = {str(row["topic"]): int(row["last"]) for row in topics}
    if topic not in ends:
        problem = f"no topic is called {quoted(topic)}{did_you_mean(topic, ends)}"
        raise InputError(f"--topic: {problem}; allowed: {listing(ends)}")
    if not 0 <= partition <= ends[topic]:
        problem = f"{partition} is not a partition of {topic}"
        raise InputError(f"--partition: {problem}; allowed: 0 to {ends[topic]}")


def read_faults(tables: Asker, subject: Subject, brokers: Collection[int]) -> tuple[list[Row], list[Row]]:
    """Returns the racks of these brokers, and the faults that concern the subject, which lies on them, in their order."""
    ids = ", ".join(map(str, brokers)) or "-1"
    racks = tables.rows(f"SELECT broker, rack FROM brokers WHERE {subject.in_scenario} AND broker IN ({ids})")
    concerns = _concerns(subject.topic, subject.partition, brokers, racks)
    return racks, tables.rows(f"SELECT * FROM faults WHERE {subject.in_scenario} AND {concerns} ORDER BY fault_id")


def _concerns(topic: str, partition: int, brokers: Collection[int], racks: Sequence[Row]) -> str:
    """SQL text: whether a fault concerns a partition, which has replicas on these brokers."""
    ids = ", ".join(map(str, brokers)) or "-1"
    names = ", ".join(literal(rack) for rack in sorted({row["rack"] for row in racks} - {None}))
    return " AND ".join(
        [
            *(f"({end} IS NULL OR {end} IN ({ids}))" for end in ("broker", "peer")),
            f"(rack IS NULL OR rack IN ({names}))" if names else "rack IS NULL",
            f"(topic IS NULL OR topic = {literal(topic)})",
            f"(partition IS NULL OR partition = {partition})",
        ]
    )


def literal(text: str) -> str:
    """A text as SQL has it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
