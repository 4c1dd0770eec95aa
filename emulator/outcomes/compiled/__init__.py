"""From what compiled rounds leave of a block to rows of the contract's tables; no Spark here, tasks and driver call the same."""

from emulator.outcomes.compiled.event_counts import event_counts, is_written, no_events
from emulator.outcomes.compiled.events import fence_events
from emulator.outcomes.compiled.names import Names
from emulator.outcomes.compiled.replica_states import replica_state_rows
from emulator.outcomes.compiled.tables import BLOCK_TABLES, block_tables, end_tables, told_tables
from emulator.outcomes.compiled.traffic import BrokersOf, broker_round_rows, bucket_edges

__all__ = [
    "BLOCK_TABLES",
    "BrokersOf",
    "Names",
    "block_tables",
    "broker_round_rows",
    "bucket_edges",
    "end_tables",
    "event_counts",
    "fence_events",
    "is_written",
    "no_events",
    "replica_state_rows",
    "told_tables",
]
