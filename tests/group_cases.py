"""A case of the reference of groups as a scenario file."""

from __future__ import annotations

from tests.reference.quorums.cases import Case

ROUND_MS = 500
CONFIG_OF_CASE = {
    "acks.to.commit": lambda case: min(case.acks, case.first_members or case.copies),
    "logs.compared": lambda case: min(case.compared, case.first_members or case.copies),
    "election.timeout.ms": lambda case: case.timeout_rounds * ROUND_MS,
    "election.jitter.ms": lambda case: case.jitter_rounds * ROUND_MS,
    "pre.vote": lambda case: str(case.pre_vote).lower(),
    "check.quorum": lambda case: str(case.check_quorum).lower(),
    "max.entries.per.append": lambda case: case.max_entries or 10**6,
    "flush": lambda case: {1: '"every-write"', 0: '"never"'}.get(case.flush_rounds, '"interval"'),
    "flush.interval.ms": lambda case: int(max(1, case.flush_rounds) * ROUND_MS),
    "lease.period.ms": lambda case: max(1, case.lease_rounds or case.timeout_rounds) * ROUND_MS,
    "log.roll.period.ms": lambda case: case.roll_rounds * ROUND_MS,
    "ha.health-monitor.check-interval.ms": lambda case: case.health_rounds * ROUND_MS,
    "ha.failover-controller.graceful-fence.rpc-timeout.ms": lambda case: case.fence_rounds * ROUND_MS,
    "ipc.client.connect.timeout": lambda case: case.connect_rounds * ROUND_MS,
    "ipc.client.rpc-timeout.ms": lambda case: case.answer_rounds * ROUND_MS,
    "dfs.qjournal.queued-edits.limit.mb": lambda case: 1,
    "dfs.qjournal.write-txns.timeout.ms": lambda case: case.write_rounds * ROUND_MS,
    "fsync.ms": lambda case: case.fsync_rounds * ROUND_MS,
    "records.per.fsync": lambda case: (case.records_limit or 10**6) * max(1, case.fsync_rounds),
    "delay.ms": lambda case: case.delay_rounds * ROUND_MS,
    "delay.jitter.percent": lambda case: case.delay_percent,
    "delay.distribution": lambda case: f'"{case.delay_shape}"',
    "members.change": lambda case: '"one-at-a-time"' if case.one_at_a_time else '"joint"',
}


def record_bytes_of(case: Case) -> int:
    """Bytes of a record of which a queue of 1 MB holds as many as the case says."""
    return 1_048_576 // case.queue_limit


def scenario_text(case: Case, protocol: str) -> str:
    """A case as a scenario file: its group is partition 0 of topic t."""
    config = ", ".join(f'"{key}" = {value(case)}' for key, value in CONFIG_OF_CASE.items())
    lines = [
        f'protocol = "{protocol}"\nrounds = {case.rounds}\nround_ms = {ROUND_MS}\nseed = {case.seed}',
        f"[cluster]\nbrokers = {case.copies}\nfirst_broker_id = 0",
        f'[[topics]]\nname = "t"\nassignment = [{list(range(case.first_members or case.copies))}]\nconfig = {{ {config} }}',
    ]
    ends = [first for first, _ in case.workload[1:]] + [case.rounds]
    for (first, records), end in zip(case.workload, ends, strict=True):
        lines.append(f'[[workload]]\ntopic = "t"\nrecords_per_round = {records}\nfrom_round = {first}\nto_round = {end}')
        lines.append(f"record_bytes = {record_bytes_of(case)}")
    behind_the_end = ((case.rounds, range(case.copies)),) if case.changes else ()  # so that all are servers of the group
    for round_, members in (*case.changes, *behind_the_end):
        lines.append(f'[[commands]]\nkind = "reassign"\ntopic = "t"\npartition = 0\nround = {round_}\nreplicas = {list(members)}')
    for round_ in case.transfers:
        lines.append(f'[[commands]]\nkind = "preferred_leader_election"\ntopic = "t"\npartition = 0\nround = {round_}')
    for fault in case.faults:
        rows = {"broker": fault.broker, "peer": fault.peer, "from_round": fault.from_round, "to_round": fault.to_round}
        lines.append(f'[[faults]]\nkind = "{fault.kind}"')
        lines += [f"{key} = {value}" for key, value in rows.items() if value is not None]
        lines += [f'direction = "{fault.direction}"'] if fault.kind in ("link_cut", "slow_link") else []
        lines += [f"round_trip_ms = {max(1, fault.rounds * ROUND_MS)}"] if fault.kind == "slow_link" else []
        lines += [f"clients = {str(fault.clients).lower()}"] if fault.kind == "isolation" else []
    return "\n".join(lines)
