"""The columns of the report's tables: what each is called on the page, and how its values read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from emulator.progress import size
from emulator.report.markup import Column, rate, seconds
from emulator.report.stories import story_id


def _linked(name: tuple[str, int, bool]) -> str:
    topic, partition, has_story = name
    text = escape(f"{topic}:{partition}")
    return f'<a href="#{escape(story_id(topic, partition))}">{text}</a>' if has_story else text


ALIKE = "A row stands for all partitions of its topic with the same replicas that went through the same; alike: how many."
_AVAILABILITY = (
    Column("without a leader", "leaderless_seconds", seconds, bar=True),
    Column("unwritable", "unwritable_seconds", seconds, bar=True),
    Column("under min ISR", "under_min_isr_seconds", seconds, bar=True),
)
_OF_ENTRIES = (
    Column("unreadable at the end", "acked_unreadable", bar=True),
    Column("under-replicated at the end", "acked_under_replicated", bar=True),
)
_OF_ADDS = (
    Column("adds that failed", "failed_adds", bar=True),
    Column("waited for, over all entries", "unacked_seconds", seconds, bar=True),
)
_OUTCOMES = (
    Column("acknowledged", "acked"),
    Column("lost", "acked_lost", bar=True),
    Column("of acks=0 lost", "unacknowledged_lost", bar=True),
    *_OF_ENTRIES,
    Column("partitions with loss", "partitions_with_loss"),
    *_OF_ADDS,
    Column("refused", "refused", bar=True),
    Column("given up", "given_up", bar=True),
    *_AVAILABILITY,
)
OF_SCENARIOS = (
    Column("scenario", "name"),
    Column("protocol", "protocol"),
    *_OUTCOMES,
    Column("longest without a leader", "longest_leaderless_seconds", seconds),
    Column("unclean elections", "unclean_elections"),
    Column("replicated", "replicated_bytes", size),
)
BY_TOPIC = (
    Column("topic", "topic"),
    Column("partitions", "partitions"),
    *_OUTCOMES,
    Column("under-replicated", "under_replicated_seconds", seconds, bar=True),
)
BY_FAULT = (
    Column("fault", "fault_id"),
    Column("kind", "kind"),
    Column("struck", "struck"),
    Column("from round", "from_round"),
    Column("from", "from_seconds", seconds),
    Column("to", "to_seconds", seconds),
    Column("lost at elections", "lost_at_elections", bar=True),
    Column("of these at unclean ones", "lost_at_unclean_elections"),
    Column("of acks=0 lost", "unacknowledged_lost", bar=True),
    Column("partitions with loss", "partitions_hit"),
    Column("without a leader", "leaderless_seconds", seconds, bar=True),
    Column("partitions without a leader", "leaderless_partitions"),
)
BY_BROKER = (
    Column("struck", "struck"),
    Column("faults", "faults"),
    Column("lost at elections", "lost_at_elections", bar=True),
    Column("without a leader", "leaderless_seconds", seconds, bar=True),
    Column("partitions hit", "partitions_hit"),
)
OF_VIOLATIONS = (
    Column("invariant", "invariant"),
    Column("kind", "kind"),
    Column("partitions", "partitions"),
    Column("times", "times"),
    Column("first in round", "first_round"),
    Column("witness", "witness"),
)
OF_BROKERS = (
    Column("broker", "broker", str),
    Column("rack", "rack"),
    Column("fetched", "bytes_in", size, bar=True),
    Column("served", "bytes_out", size, bar=True),
    Column("from producers", "bytes_produced", size, bar=True),
    Column("peak fetched", "peak_in", rate),
    Column("peak served", "peak_out", rate),
    Column("most on disk", "most_local_bytes", size),
    Column("down", "down_seconds", seconds, bar=True),
    Column("network in full", "network_in_saturated_seconds", seconds, bar=True),
    Column("network out full", "network_out_saturated_seconds", seconds, bar=True),
    Column("disk full", "disk_saturated_seconds", seconds, bar=True),
    Column("throttled", "throttled_seconds", seconds, bar=True),
)
OF_WORST = (
    Column("partition", "name", _linked),
    Column("alike", "alike"),
    Column("replicas", "replicas"),
    Column("acknowledged", "acked"),
    Column("lost", "acked_lost", bar=True),
    Column("of acks=0 lost", "unacknowledged_lost", bar=True),
    *_OF_ENTRIES,
    *_AVAILABILITY,
    Column("refused", "refused", bar=True),
    Column("given up", "given_up", bar=True),
    Column("cut from logs", "truncated"),
    Column("elections", "elections"),
    Column("unclean ones", "unclean_elections"),
)
_KAFKAS = (
    *("leaderless_seconds", "leaderless_partitions", "longest_leaderless_seconds", "under_min_isr_seconds"),
    *(
        "under_replicated_seconds",
        "lost_at_unclean_elections",
        "unacknowledged_lost",
        "unclean_elections",
        "truncated",
        "given_up",
    ),
    *("network_out_saturated_seconds", "throttled_seconds", "replicated_bytes"),
)
_LEDGERS = ("acked_unreadable", "acked_under_replicated", "failed_adds", "unacked_seconds")
_IN_WORDS_OF_LEDGERS = {
    "lost_at_elections": "lost",
    "elections": "ensemble changes",
    "replicas": "last ensemble",
    "broker": "bookie",
    "bytes_in": "copies taken",
    "bytes_out": "read from it",
    "bytes_produced": "taken from clients",
    "peak_in": "peak of copies",
    "peak_out": "peak read",
}


def of_partitions(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that say something of partitions of Kafka and of groups."""
    return tuple(column for column in columns if column.name not in _LEDGERS)


def of_ledgers(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that say something of ledgers, called what they are there; those of leaders and ISRs go."""
    kept = [column for column in columns if column.name not in _KAFKAS]
    return tuple(replace(column, title=_IN_WORDS_OF_LEDGERS.get(column.name, column.title)) for column in kept)
