"""What rounds tell of (records.Event), as users call it; numba is not needed to know it."""

from __future__ import annotations

EVENT_KINDS = (
    "election", "unclean_election", "leader_lost", "isr_shrink", "isr_expand", "truncate", "refused", "segment_roll",
    "records_deleted", "log_damaged", "reassignment_completed", "acked_lost", "committed_lost", "local_delete",
    "copy_started", "copy_finished", "copy_failed", "remote_delete", "aux_state_built", "topic_deleted",
    "unacknowledged_lost",
)  # fmt: skip
"""By the numbers that constants.py has for them."""
