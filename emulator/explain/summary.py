"""What a story begins and ends with: which partition it is of, and how it came out."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.explain.faults import fault_line
from emulator.explain.fetches import offsets
from emulator.explain.layout import violation_words
from emulator.explain.rows import PartitionRows, Row, StoryRows
from emulator.explain.story import Story
from emulator.explain.times import times_of

_COUNTS = ("appended", "acked", "acked_lost", "committed_lost", "refused", "truncated", "elections", "unclean_elections")


def rounds_words(scenario: Row, first: int, last: int) -> str:
    """Returns which rounds a story is of."""
    return f"rounds {first}-{last} of {scenario['rounds']}, {scenario['round_ms']} ms each ({times_of(scenario, first, last)})"


def heading(story: Story) -> Iterator[str]:
    """Yields whose story it is, and of which rounds."""
    rows, scenario = rows_of(story), story.rows.scenario
    yield (
        f"{rows.topic}:{rows.partition} in scenario {scenario['name']} ({scenario['protocol']}), replicas"
        f" {', '.join(map(str, rows.replicas))}; {rounds_words(scenario, story.first, story.last)}"
    )
    first = (
        "who led before the first election is not known" if rows.first_leader is None else "its first server leads at the start"
    )
    yield story.speech.opening if story.traced else f"Not traced: told from events, faults and violations alone; {first}."


def rows_of(story: Story) -> PartitionRows:
    """Returns the rows of a partition's story."""
    assert isinstance(story.rows, PartitionRows)
    return story.rows


def summary(rows: PartitionRows) -> Iterator[str]:
    """Yields how it came out, a line for each fact; those that belong to one above are indented."""
    yield f"At the end of round {rows.scenario['rounds'] - 1}"
    for line in _end_lines(rows):
        yield f"  {line}"
    yield "Outcome"
    yield f"  {', '.join(f'{name} {value}' for name, value in outcome_counts(rows))}"
    yield from faults_and_violations(rows)


def faults_and_violations(rows: StoryRows) -> Iterator[str]:
    """Yields the faults that concern whom the story is of, and what was violated."""
    if rows.faults:
        yield "Faults"
        for fault in rows.faults:
            yield f"  {fault_line(fault, rows.scenario)}"
    yield "Violations" if rows.violations else "Violations: none"
    for violation in rows.violations:
        yield f"  {violation_line(violation)}"


def replica_ends(rows: PartitionRows) -> list[Row]:
    """Returns each replica's state at the end, by broker."""
    return sorted(rows.ends, key=lambda row: row["broker"])


def epochs_of(rows: PartitionRows, end: Row) -> Iterator[str]:
    """Yields the epochs in a replica's cache at the end, with the offsets it has of each."""
    entries = [row for row in rows.leader_epochs if row["broker"] == end["broker"]]
    for entry in sorted(entries, key=lambda row: row["epoch"]):
        to = end["leo"] if entry["end_offset"] is None else entry["end_offset"]
        start = entry["start_offset"]
        yield f"e{entry['epoch']}: {offsets(start, to)}" if to > start else f"e{entry['epoch']}: none yet, from {start}"


def _end_lines(rows: PartitionRows) -> Iterator[str]:
    ends = replica_ends(rows)
    cells = [
        [
            f"broker {end['broker']}",
            end["role"],
            f"leo {end['leo']}",
            f"hw {end['hw']}",
            "in ISR" if end["in_isr"] else "not in ISR",
        ]
        for end in ends
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for end, row in zip(ends, cells, strict=True):
        aligned = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield f"{aligned}  {', '.join(epochs_of(rows, end)) or 'no epochs'}"


def outcome_counts(rows: PartitionRows) -> Iterator[tuple[str, str]]:
    """Yields the counts of `outcomes` that tell how it went, and how long nobody led."""
    for name in _COUNTS:
        yield name, str(rows.outcome[name])
    if rows.outcome.get("sent_unacknowledged"):
        for name in ("sent_unacknowledged", "unacknowledged_lost"):
            yield name, str(rows.outcome[name])
    if rows.outcome.get("given_up"):
        yield "given_up", str(rows.outcome["given_up"])
    yield "leaderless", f"{rows.outcome['leaderless_rounds'] * rows.scenario['round_ms'] / 1000:g} s"


def violation_line(violation: Row) -> str:
    """Returns a violation with where it was seen."""
    where = "final tables" if violation["round"] is None else f"round {violation['round']}"
    suspect = "suspect: " if violation.get("kind") == "suspect" else ""
    return f"{where}: {suspect}{violation_words(violation)}"
