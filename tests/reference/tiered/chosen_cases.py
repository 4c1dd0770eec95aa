"""Cases made for mutants of the tiered round that random schedules seldom or never catch."""

from __future__ import annotations

from typing import Any

from .cases import RECORD_BYTES, alter, fault, given_log, produce, shorter_follower, tiered_case


def _unclean() -> dict[str, Any]:
    """The leader is cut off, the other one leads without what only the first has; local segments go soon."""
    return shorter_follower(
        {"local.retention.bytes": 20 * RECORD_BYTES},
        rounds=30,
        config={"replica.fetch.max.bytes": 20 * RECORD_BYTES},
        faults=[fault("isolation", 1, 10, broker=1), fault("link_cut", 0, 1, broker=2, peer=1)],
    )


def _old_leader_cut_back() -> dict[str, Any]:
    """The old leader comes back without a restart; nothing can be copied any more."""
    case = _unclean()
    return {**case, "faults": [*case["faults"], fault("remote_storage_outage", 5)]}


def _copy_that_outlives_its_segment() -> dict[str, Any]:
    """A leader goes on with a copy after it was replaced, while the new one expires the segment."""
    return tiered_case(
        topic_config={"segment.bytes": 5 * RECORD_BYTES, "retention.ms": 1500},
        initial={"leader": 2, "leader_epoch": 0, "isr": [1, 2], "replicas": {1: given_log(0, []), 2: given_log(0, [])}},
        remote_storage={"copy_bytes_per_second": RECORD_BYTES, "on_leadership_lost": "finish"},
        workload=[produce(0, 4, 5)],
        commands=[{"round": 2, "kind": "preferred_leader_election"}],
    )


def _leads_as_it_returns() -> dict[str, Any]:
    """The only replica returns and leads in the round in which it does, and the limit is lower from then on."""
    return tiered_case(
        replicas=[1],
        topic_config={"segment.bytes": 5 * RECORD_BYTES, "retention.bytes": 30 * RECORD_BYTES},
        workload=[produce(0, 5, 5)],
        faults=[fault("broker_crash", 8, 9, broker=1)],
        commands=[alter(9, retention_bytes=20 * RECORD_BYTES)],
    )


CAUGHT_BY_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "resume-after-any-epoch": ("NoLocalDeleteBeforeCopy", _unclean()),
    "lookup-without-epoch": ("RemoteServesLineage", _unclean()),
    "remote-offset-kept-on-truncation": ("NoLocalDeleteBeforeCopy", _old_leader_cut_back()),
    "any-transition": ("RemoteStateMachine", _copy_that_outlives_its_segment()),
    "size-before-remote-offset": ("RetainedLogIsKept", _leads_as_it_returns()),
}
"""An invariant that the mutant breaks, and the case in which it does."""


def stale_log_start() -> dict[str, Any]:
    """2 is elected before it hears that 1 expired 0-3, and tells its log start to 3, whose epochs begin with 4."""
    return tiered_case(
        rounds=40,
        session_timeout_rounds=4,
        config={
            "replica.lag.time.max.ms": 2000,
            "replica.fetch.max.bytes": 800,
            "log.retention.check.interval.ms": 1500,
            "replica.fetch.backoff.ms": 1000,
            "follower.fetch.last.tiered.offset.enable": True,
        },
        topic_config={"segment.bytes": 400, "local.retention.bytes": 0, "retention.ms": 7500},
        remote_storage={"metadata": "list"},
        replicas=[2, 1],
        faults=[
            fault("broker_pause", 17, 29, broker=1),
            fault("broker_pause", 6, 12, broker=2),
            fault("remote_storage_outage", 18, 30),
        ],
        commands=[{"round": 17, "kind": "reassign", "replicas": [3, 2]}],
        workload=[produce(0, 33, 2), produce(9, 10, 3)],
    )


def copy_deleted_under_way() -> dict[str, Any]:
    """2 leads by an unclean election and is replaced by 1, by another; isolated, it deletes what 1 is copying."""
    return tiered_case(
        rounds=36,
        session_timeout_rounds=4,
        config={
            "replica.lag.time.max.ms": 1000,
            "remote.log.manager.task.interval.ms": 1000,
            "replica.high.watermark.checkpoint.interval.ms": 2000,
        },
        topic_config={
            "segment.bytes": 400,
            "local.retention.bytes": 0,
            "retention.ms": 7500,
            "unclean.leader.election.enable": True,
        },
        remote_storage={"metadata": "list"},
        faults=[
            fault("isolation", 20, 32, broker=2),
            fault("slow_remote_storage", 20, 32, bytes_per_second=0),
            fault("link_cut", 4, 20, broker=1, peer=2),
            fault("broker_crash", 12, 19, broker=1),
        ],
        workload=[produce(0, 18, 2, "1"), produce(20, 21, 6, "1"), produce(26, 27, 1, "1")],
    )
