"""Random schedules that begin with a state: what they meet in the reference, for others to be compared with."""

from __future__ import annotations

from collections import Counter

from .given_states import given_schedule
from .simulate import simulate

SCHEDULES = range(60)


def test_a_schedule_is_what_its_seed_says() -> None:
    assert given_schedule(3) == given_schedule(3)
    assert given_schedule(3) != given_schedule(4)


def test_schedules_meet_what_they_are_for() -> None:
    met: Counter[str] = Counter()
    for seed in SCHEDULES:
        case = given_schedule(seed)
        result = simulate(case)
        met.update({event.kind for event in result.events} | {str(row["fetch_state"]) for row in result.trace})
        met.update({f"given {row.get('state', 'COPY_FINISHED')}" for row in case["initial"]["remote_segments"]})
        met["gap"] += any(log["local_log_start_offset"] > log["log_start_offset"] for log in case["initial"]["replicas"].values())
        met["disabled"] += result.coverage["disabled"] > 0
        met["out of lineage"] += any(not row["in_lineage"] for row in result.remote_segments)
    for kind in (
        *("gap", "disabled", "out of lineage", "given COPY_STARTED", "given COPY_FINISHED", "given DELETE_STARTED"),
        *("given DELETE_FINISHED", "aux_state_built", "building_remote_log_aux", "out_of_range", "copy_failed", "remote_delete"),
        *("local_delete", "truncate", "unclean_election", "topic_deleted"),
    ):
        assert met[kind] > 0, kind
