"""Runs random cases through the reference alone and prints which branches they reached.

python -m reference.random_summary [CASES]     (from the tests folder)
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from .kafka import simulate
from .random_scenarios import random_case

RARE_BRANCHES = (
    "answer_above_leo", "answer_below_log_start", "answer_diverging", "answer_lost", "clean_stop", "delete_records",
    "disk_loss", "fenced_or_unknown_epoch", "fetch_size_limited", "follower_hw_down", "follower_log_start_up",
    "hw_held_by_min_isr", "hw_held_by_outsider", "joined_and_shrunk", "joined_below_leo", "lag_shrink", "late_leader",
    "leader_lost", "pending_join", "pending_join_confirmed", "pending_shrink", "pending_shrink_confirmed", "change_refused",
    "power_loss_cut", "preferred_election", "reassign_completed", "reassign_kept_leader", "reassign_moved_leader",
    "returning", "returning_considered", "segment_roll", "slow_limited", "superseded_leader_served",
    "truncate_below_log_start", "truncate_cache_only", "truncate_to_0", "unclean_election", "untold_leader",
    "zombie_append_isolated", "zombie_append_waking", "zombie_append_without_leader", "zombie_stepped_down",
)  # fmt: skip


LATE_NEWS_BRANCHES = (
    "late_leader_by_late_news", "late_news", "superseded_leader_by_late_news", "superseded_leader_served",
)  # fmt: skip
ELR_BRANCHES = (
    "balanced_recovery_waits", "elected_from_elr", "elected_last_known_leader", "elr_cleared", "elr_grew",
    "isr_became_empty", "recovered", "recovery_answer_aggressive", "recovery_answer_balanced", "unclean_left_elr",
)  # fmt: skip


def summarise(reached: Mapping[str, int], branches: Sequence[str] = RARE_BRANCHES) -> str:
    """A line per rare branch: its name and how often it was reached."""
    return "\n".join(f"{branch:34}{reached.get(branch, 0):9}" for branch in branches)


def main() -> None:
    """Print the table for the number of cases given, 3000 if none."""
    reached: Counter[str] = Counter()
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3000):
        reached.update(simulate(random_case(seed)).coverage)
    print(summarise(reached))


if __name__ == "__main__":
    main()
