"""The state of a topic that is a list of ledgers: each ledger that it has, or may come to have, is a row of the partition.

What is of the topic (the list, who serves it, what is due) stands on all its rows alike: every row works it out of what the rows
tell each other at the end of a round. A row without `created_round` is spare: its ledger isn't there yet.
"""

from __future__ import annotations

RECOVER, WAIT, CREATE, WRITE, CLOSE, STOPPED = range(6)
"""What an owner is about: it reads the list and recovers its end, waits, adds a ledger, writes it, has it closed, is gone."""

ENTRIES, SIZE, AGE, FAILURE = range(1, 5)
ROLLED_OVER_BY = ("entries", "size", "age", "failure")
"""Why a ledger was rolled over, numbered from 1."""

FENCE_LAST = 2
"""Ledgers at the end of the list that a takeover recovers."""

BY_OWNER = -10
"""Owner n's recoveries have the origin BY_OWNER - n."""

OWNER_FIELDS = {
    "phase": "INT",
    "version": "INT",
    "known_parts": "INT",
    "tail": "ARRAY<INT>",
    "part": "INT",
    "from_message": "BIGINT",
    "to_message": "BIGINT",
    "waits_for": "ARRAY<INT>",
    "ready": "BOOLEAN",
}
OWNER = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in OWNER_FIELDS.items()) + ">"
"""A broker that serves, or served, the topic. `version`: that of the list that it knows, which has no ledger from `known_parts`
on, and `tail` at its end. `part`: the ledger that it writes, -1: none. `from_message`: what it hands over next, once it writes a
ledger again; `to_message`: the exclusive end of its messages, null: it gets those to come. `waits_for`: ledgers; `ready`: these
were CLOSED at the end of the round before."""

MANAGED = (
    "STRUCT<messages: BIGINT, take_overs: INT, crash_round: INT, max_ledgers: INT, ensembles: ARRAY<ARRAY<INT>>,"
    " entry_bytes: BIGINT, max_entries: BIGINT, size_entries: BIGINT, min_age_rounds: INT, max_age_rounds: INT,"
    " check_rounds: INT, retention_rounds: INT, retention_bytes: BIGINT, offloads: BOOLEAN, remote_up: BOOLEAN,"
    " copy_bytes: BIGINT, offload_bytes: BIGINT, offload_rounds: INT, lag_rounds: INT>"
)
"""Of a topic: messages due a round; takeovers and the last crash of whoever serves it (-1: none yet); the ensembles that the
policy has for new ledgers, by the first bookie's place (null: none); bytes of an entry; entries, the same by size, and ages at
which a ledger is rolled over; retention (-1: never). Whether closed ledgers are copied to a remote store, whether that is there,
how much of one it takes in a round (null: any); after how many bytes or rounds (-1: never) a ledger is copied, and after how many
more bookies may delete it."""

TOPIC_COLUMNS: dict[str, tuple[str, str]] = {
    # Of the topic, the same on all its rows
    "list_version": ("INT", "how often the list of ledgers was written"),
    "parts": ("INT", "ledgers that were ever added to it"),
    "tail": ("ARRAY<INT>", "the slots of its last two"),
    "owners": (f"ARRAY<{OWNER}>", "who serves the topic, the last one, and who did"),
    "messages": ("BIGINT", "messages that were due so far, counter"),
    "topic_unacked": ("BIGINT", "messages that wait for whoever serves the topic, or in flight, counter"),
    "topic_unacked_rounds": ("BIGINT", "what that was at the ends of all rounds, summed"),
    "topic_unwritable_rounds": ("BIGINT", "rounds at whose end messages wait, and in which none was acknowledged, counter"),
    "offloading": ("INT", "the slot of the ledger that is copied to the remote store, -1: none"),
    "list_full": ("BOOLEAN", "a ledger could not be added for want of a row"),
    "place": ("INT", "number of the bookie from which on its first ledger takes its ensemble"),
    # Of the ledger
    "owner": ("INT", "owner that created it"),
    "first_message": ("BIGINT", "message that is its entry 0"),
    "created_round": ("INT", "round in which it was created, null: not yet"),
    "closed_round": ("INT", "round at whose end it was CLOSED first"),
    "deleted_round": ("INT", "round in which retention deleted it"),
    "copied_bytes": ("BIGINT", "what of it the remote store has, counter"),
    "offload_started_round": ("INT", "round in which its copy was begun last"),
    "offloaded_round": ("INT", "round in which the remote store had all of it"),
    "freed_round": ("INT", "round in which bookies deleted it, since the remote store has it"),
    "dropped_round": ("INT", "round in which a list without it was written over the one that had it"),
    "rolled_over": ("INT", "of ROLLED_OVER_BY, null: not yet"),
}
"""Null of ledgers that are no topic's."""

ON_BOOKIES = "(created_round IS NOT NULL AND deleted_round IS NULL AND freed_round IS NULL)"
"""Whether bookies have the topic's ledger: it is neither spare nor deleted, by retention or since it was offloaded."""

PLAYED = f"(feed.managed IS NULL OR {ON_BOOKIES})"
"""Whether bookies have the ledger, a topic's or one by itself."""

LISTED = "(created_round IS NOT NULL AND deleted_round IS NULL AND dropped_round IS NULL)"
"""Whether it is one of a topic's list."""
