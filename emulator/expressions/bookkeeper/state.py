"""The state of ledgers: one row each. What stands in arrays is small; a steady ledger only moves counters.

A ledger's clients and its metadata are one state machine, which every bookie's row would have to compute alike, and any bookie
of the cluster may come into its ensembles: so a ledger is one row, bookies stand in it by id, and a round looks at no other row
but those of the same topic's list, if it is in one (topics/columns.py).
"""

from __future__ import annotations

from emulator.expressions.bookkeeper.topics.columns import MANAGED, TOPIC_COLUMNS
from emulator.state_schema import StateSchema

OPEN, IN_RECOVERY, CLOSED = range(3)
STATES = ("OPEN", "IN_RECOVERY", "CLOSED")
"""Of the metadata, by number."""

WRITING, CLOSING, SHUT, FENCED_OFF, CRASHED = range(5)
WRITER_STATES = ("writing", "closing", "shut", "fenced off", "crashed")
"""Of the writer. Closing: it wants to close the ledger; shut: it has, or found it closed; fenced off: it knows of a recovery."""

MARK, FENCE, READ, WRITE, CLOSE, DONE, FAILED = range(7)
PHASES = ("mark", "fence", "read", "write", "close", "done", "failed")
"""Of a recovery."""

PENDING = -1
"""The error of what has no answer yet."""
ERRORS = (
    "OK",
    "LedgerFencedException",
    "LedgerClosedException",
    "BKNotEnoughBookiesException",
    "BKMetadataVersionException",
    "ReadException",
    "UnexpectedConditionException",
)
"""As the API names them, by number."""
OK, LEDGER_FENCED, LEDGER_CLOSED, NOT_ENOUGH_BOOKIES, METADATA_VERSION, READ_EXCEPTION, UNEXPECTED_CONDITION = range(7)

NO_LAC = -1
NOT_CLOSED = -2
"""The last entry of a ledger that is not closed; who closed it is nobody then, too."""
WRITER = -1
"""The writer's number among the clients; recoveries count from 0."""

BY_COMMAND, BY_WORKER = -1, -2
"""Who started a recovery, if not a bookie, or a topic's owner (topics/columns.py)."""

EVENT_KINDS = (
    *("ensemble_change", "recovery_started", "ledger_closed", "fence", "entries_lost", "add_failed"),
    *("underreplicated", "copied", "rereplicated", "filled", "limbo_entered", "limbo_left"),
    *("ledger_created", "ledger_rolled_over", "ledger_deleted", "take_over"),
    *("offload_started", "offload_failed", "offloaded", "bookies_freed"),
)

FRAGMENT = "STRUCT<first_entry: BIGINT, ensemble: ARRAY<INT>>"
AT_INDEX = "STRUCT<index: INT, bookie: INT>"
ADD_FIELDS = {
    "entry": "BIGINT",
    "lac": "BIGINT",
    "waiting": "ARRAY<STRUCT<index: INT, round: INT>>",
    "acked": "INT",
    "failed": "INT",
    "completed": "BOOLEAN",
    "acknowledged": "BOOLEAN",
}
ADD = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in ADD_FIELDS.items()) + ">"
"""An add of a client: its header's LAC, the indices it waits for and since when they were asked, masks of those that acked and
failed. Acknowledged ones are kept while answers are awaited; they come first."""

MESSAGE_FIELDS = {
    "recovery": "BOOLEAN",
    "sent_round": "INT",
    "entry": "BIGINT",
    "index": "INT",
    "bookie": "INT",
    "lac": "BIGINT",
    "client": "INT",
    "attempt": "INT",
}
MESSAGE = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in MESSAGE_FIELDS.items()) + ">"
"""An add on its way to a bookie; their order is that in which a bookie takes them."""

RECOVERY_FIELDS = {
    "number": "INT",
    "origin": "INT",
    "retry": "BOOLEAN",
    "started_round": "INT",
    "phase": "INT",
    "attempt": "INT",
    "fragments": f"ARRAY<{FRAGMENT}>",
    "changes": f"ARRAY<{FRAGMENT}>",
    "ensemble": "ARRAY<INT>",
    "adds": f"ARRAY<{ADD}>",
    "failed_later": f"ARRAY<{AT_INDEX}>",
    "heard": "INT",
    "since_round": "INT",
    "base_lac": "BIGINT",
    "lac": "BIGINT",
    "error": "INT",
    "fenced_round": "INT",
    "closed_round": "INT",
    "written": "BIGINT",
}
RECOVERY = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in RECOVERY_FIELDS.items()) + ">"
"""A recovering client. `origin`: BY_COMMAND, BY_WORKER, or the damaged bookie that started it. Fragments as it found them, its
own changes on top, the ensemble it writes to, mask of indices that told it their LAC, the round in which it marked the ledger,
the LAC it started from, the last entry it has. `written`: the last entry that Qa bookies had, with all before it, when it was
done fencing."""

VIOLATION = (
    "STRUCT<round: INT, invariant: INT, entry: BIGINT, lac: BIGINT, last_entry: BIGINT, ensemble: ARRAY<INT>,"
    f" fragments: ARRAY<{FRAGMENT}>>"
)
"""An invariant that broke, and the state that shows it; `entry`: one that no bookie of its write set has, -1: not about one."""

OPENING = "STRUCT<round: INT, lac: BIGINT, error: INT>"
STORED_FIELDS = {"bookie": "INT", "entry": "BIGINT", "lac": "BIGINT", "flushed": "BOOLEAN"}
STORED = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in STORED_FIELDS.items()) + ">"
ENTRY_RUN = "STRUCT<from_entry: BIGINT, to_entry: BIGINT, lac: BIGINT, step: INT, ensemble: ARRAY<INT>>"
EVENT = "STRUCT<round: INT, kind: INT, bookie: INT, from_offset: BIGINT, to_offset: BIGINT>"
COPIES_FIELDS = {
    "bookie": "INT",
    "index": "INT",
    "from_entry": "BIGINT",
    "entries": "BIGINT",
    "lac": "BIGINT",
    "flushed": "BIGINT",
}
COPIES = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in COPIES_FIELDS.items()) + ">"
"""What a bookie got as copies, and had not before: so many entries of an index from one on, all with the same header; `flushed`:
how many of them are on disk."""

REPLACEMENT_FIELDS = {
    "first_entry": "BIGINT",
    "index": "INT",
    "lost": "INT",
    "published_round": "INT",
    "target": "INT",
    "entries": "BIGINT",
    "copied_to": "BIGINT",
}
REPLACEMENT = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in REPLACEMENT_FIELDS.items()) + ">"
"""A bookie that is to be replaced in a fragment, by its first entry and index. `target`: by whom, null until one is chosen;
`entries`: how many it was given so far; `copied_to`: the exclusive end, once it was given all."""

OF_SOME_ENTRIES = "ARRAY<STRUCT<bookie: INT, from_entry: BIGINT, to_entry: BIGINT>>"

WORLD = (
    "dead: ARRAY<INT>, silent: ARRAY<INT>, paused: ARRAY<INT>, unregistered: ARRAY<INT>, store_up: BOOLEAN, marks: BOOLEAN,"
    " crashed: ARRAY<INT>, power_lost: ARRAY<INT>, disk_lost: ARRAY<INT>, stopped: ARRAY<INT>,"
    " returned: ARRAY<INT>, decommissioned: ARRAY<INT>, first_bookie: INT, last_bookie: INT, racks: ARRAY<INT>"
)
"""What the faults say of the cluster's bookies, by id, ascending. `marks`: one of the lists of this round only (crashed,
power_lost, disk_lost, stopped, returned) isn't empty; `returned`: they are back after damage, with dataIntegrityCheckingEnabled.
Bookies go from the first to the last id; an id in between that is none is unregistered. `racks`: numbers by place among these,
-1: none; null where no ledger asks for racks."""

FEED = (
    "records: BIGINT, in_flight: INT, protocol: INT, ensemble_size: INT, write_quorum: INT, ack_quorum: INT,"
    " add_timeout: INT, read_timeout: INT, delay_change: BOOLEAN, explicit_lac_rounds: INT,"
    " rack_aware: BOOLEAN, min_racks: INT, enforce_min_racks: BOOLEAN,"
    " journal: BOOLEAN, synced: BOOLEAN, flush_rounds: INT,"
    f" crashed: BOOLEAN, drops: {OF_SOME_ENTRIES}, holds: {OF_SOME_ENTRIES},"
    " marks: BOOLEAN, closes: INT, recoveries: ARRAY<BOOLEAN>, openings: INT, checked: BOOLEAN,"
    " autorecovery: BOOLEAN, lost_rounds: INT, grace_rounds: INT, batch: INT,"
    f" managed: {MANAGED}"
)
"""Workload, settings and commands of a ledger. `in_flight`: null without a workload row in force. `flush_rounds`: 0 where
nothing can be lost by not flushing. `recoveries`: of each that starts now whether it retries. `checked`: a check_ledger is given
now. `lost_rounds`, `grace_rounds`: after them a lost bookie is replaced, and an open ledger recovered for that; `batch`: entries
copied a round. `managed`: of a topic that is a list of ledgers, null for others; it has no `records`, and a crash of its own."""

COLUMNS: dict[str, tuple[str, str]] = {
    "scenario_id": ("INT", "scenario"),
    "partition_id": ("BIGINT", "ledger within the scenario, in topic order"),
    "slot": ("INT", "number of the ledger in its topic's list; 0: of a ledger by itself"),
    "round": ("INT", "round to run next"),
    "traced": ("BOOLEAN", "whether every round is recorded"),
    "members": ("INT", "ledgers that go through the same as this one, it included"),
    "world_id": ("INT", "key of the world changes"),
    "feed_id": ("BIGINT", "which workload, settings and commands it has: key of its feed changes"),
    "first_own_entry": ("BIGINT", "entries below it were there before the run"),
    "given_bytes": ("BIGINT", "bytes of these entries"),
    "world": (f"STRUCT<{WORLD}>", "what the faults say"),
    "feed": (f"STRUCT<{FEED}>", "workload, settings and commands in force"),
    # What the metadata store has
    "ledger_state": ("INT", "OPEN, IN_RECOVERY or CLOSED"),
    "fragments": (f"ARRAY<{FRAGMENT}>", "in the order in which they were added"),
    "last_entry": ("BIGINT", "last entry once closed, else NOT_CLOSED"),
    "closed_by": ("INT", "client that closed it, else NOT_CLOSED"),
    # The writer
    "writer_state": ("INT", "of WRITER_STATES"),
    "ensemble": ("ARRAY<INT>", "the ensemble it writes to"),
    "lac": ("BIGINT", "last entry that it acknowledged, counter"),
    "lac_told": ("BIGINT", "LAC that an add carried last, or that bookies were told, counter"),
    "next_entry": ("BIGINT", "entry to be sent next, counter"),
    "queued": ("BIGINT", "entries that wait to be sent, counter"),
    "window_size": ("INT", "adds that may be unacknowledged"),
    "adds": (f"ARRAY<{ADD}>", "adds in flight, and acknowledged ones with answers to come"),
    "changing": (f"ARRAY<{AT_INDEX}>", "bookies that an ensemble change replaces, null if there is none"),
    "failed_later": (f"ARRAY<{AT_INDEX}>", "bookies to be replaced with the next add"),
    "close_asked": ("INT", "closes that the application waits for"),
    "closes": ("ARRAY<INT>", "what was answered to closes"),
    "error": ("INT", "what the last operation on the ledger came to"),
    # Other clients
    "recoveries": (f"ARRAY<{RECOVERY}>", "in the order of their start"),
    "openings": (f"ARRAY<{OPENING}>", "clients that open without recovery"),
    "network": (f"ARRAY<{MESSAGE}>", "adds on their way"),
    # What bookies have
    "run_from": ("BIGINT", "first entry of the run that steady rounds extend: all of the writer's ensemble have their share"),
    "run_to": ("BIGINT", "its exclusive end, counter; as its start if there is none"),
    "run_lac": ("BIGINT", "LAC in the header of its first entry"),
    "run_step": ("INT", "its entries a round; headers grow by it"),
    "runs": (f"ARRAY<{ENTRY_RUN}>", "earlier runs"),
    "stored": (f"ARRAY<{STORED}>", "entries that a bookie has beside runs"),
    "lost": (OF_SOME_ENTRIES, "entries of runs that a bookie lost"),
    "fenced": ("ARRAY<INT>", "bookies that are fenced"),
    "told": ("ARRAY<STRUCT<bookie: INT, lac: BIGINT>>", "explicit LACs of bookies"),
    "flushes": ("ARRAY<STRUCT<bookie: INT, to_entry: BIGINT, fenced: BOOLEAN>>", "what of runs and fence bookies have on disk"),
    # Repair (null in runs without it)
    "copies": (f"ARRAY<{COPIES}>", "what bookies got as copies"),
    "replacements": (f"ARRAY<{REPLACEMENT}>", "bookies of fragments that are to be replaced, in the order of publication"),
    "filling": ("ARRAY<INT>", "bookies that get what they lack"),
    "missed": ("ARRAY<STRUCT<bookie: INT, since: INT>>", "bookies that the auditor misses, and since when"),
    "limbo": ("ARRAY<INT>", "bookies that don't know what they lost"),
    "entries_copied": ("BIGINT", "entries that replication workers copied, counter"),
    # Of a topic's list (null of other ledgers)
    **TOPIC_COLUMNS,
    # Outcomes
    "refused_fenced": ("BIGINT", "adds answered LedgerFenced without being sent, counter"),
    "refused_closed": ("BIGINT", "adds answered LedgerClosed without being sent, counter"),
    "failed_adds": ("BIGINT", "adds in flight that failed"),
    "unwritable_rounds": ("BIGINT", "rounds with something to write in which nothing was acknowledged, counter"),
    "unacked": ("BIGINT", "entries that wait to be sent or acknowledged, counter"),
    "unacked_rounds": ("BIGINT", "what `unacked` was at the ends of all rounds, summed"),
    "ensemble_changes": ("INT", "changes of the ensemble"),
    "adds_resent": ("BIGINT", "adds in flight that went to bookies which came into the ensemble"),
    "events": (f"ARRAY<{EVENT}>", "what happened"),
    "impaired": ("BOOLEAN", "a bookie lost entries of it, or its fence, to a fault"),
    "broken": ("INT", "mask of invariants that did not hold at the end of the last busy round"),
    "violations": (f"ARRAY<{VIOLATION}>", "invariants that broke, each when it did"),
    "trace": ("ARRAY<INT>", "always null: rounds of ledgers are not recorded yet"),
}

LEDGER_STATE = StateSchema(
    columns=COLUMNS,
    world=WORLD,
    feed=FEED,
    nullable={
        *("world", "feed", "racks", "in_flight", "entries_copied", "managed", *TOPIC_COLUMNS),
        *(name for name, (kind, _) in COLUMNS.items() if kind.startswith("ARRAY")),
    },
    groups={
        "repair": ("copies", "replacements", "filling", "missed", "limbo", "entries_copied"),
        "of_topic": tuple(TOPIC_COLUMNS),
    },
    optional_groups={"repair": "entries_copied", "of_topic": "list_version"},
    nested_drifts={"copies": "ARRAY<BIGINT>", "replacements": "ARRAY<BIGINT>"},
    counters=(
        *("lac", "lac_told", "next_entry", "queued", "run_to"),
        *("refused_fenced", "refused_closed", "unwritable_rounds", "unacked", "entries_copied"),
        *("messages", "topic_unacked", "topic_unwritable_rounds", "copied_bytes"),
    ),
    sums={"unacked_rounds": "unacked", "topic_unacked_rounds": "topic_unacked"},
    constants=(
        *("scenario_id", "partition_id", "slot", "traced", "members", "world_id", "feed_id"),
        *("first_own_entry", "given_bytes", "world", "feed"),
    ),
)
"""The state of ledgers."""
