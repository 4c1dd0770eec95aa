"""Groups from the scenario file to the tables, as the reference has them: every key, fault and command gets to the rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from emulator.scenario.protocols import GROUP_PROTOCOLS
from emulator.scenario.quorum_configs import GROUP_KEYS
from tests.group_scenarios import load, tables_of
from tests.reference.quorums.cases import Case, Event
from tests.reference.quorums.play import outcomes, played
from tests.reference.quorums.schedules import random_case, wider_case

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
        *([f"racks = {len(set(case.racks))}"] if case.racks else []),
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
        lines += [f'rack = "{fault.rack}"'] if fault.rack is not None else []
        lines += [f"power = {str(fault.power).lower()}"] if fault.kind == "rack_loss" else []
        lines += [f"clients = {str(fault.clients).lower()}"] if fault.kind in ("isolation", "rack_isolation") else []
    return "\n".join(lines)


@pytest.mark.parametrize("protocol", [name for name, guard in GROUP_PROTOCOLS.items() if guard is None])
def test_scenarios_as_the_reference(tmp_path: Path, protocol: str) -> None:
    """Settings, faults and workload of a scenario file get to the rounds: outcomes, events and the state at the end."""
    for seed in range(3000, 3014):
        drawn = (random_case if seed < 3012 else wider_case)(protocol, seed, rounds=45, disks=0.3)
        case = replace(drawn, number=0, timeout_rounds=max(2, drawn.timeout_rounds))
        group, seen = played(case)
        tables = tables_of(load(tmp_path, scenario_text(case, protocol)))
        own = tables["outcomes"][0]
        counted = outcomes(group)
        assert {name: own[name] for name in counted if name in own} == {n: v for n, v in counted.items() if n in own}
        events = [
            Event(e["round"], e["kind"], e["broker"], e["leader_epoch"], e["from_offset"], e["to_offset"], e["cause"])
            for e in tables["events"]
        ]
        assert events == group.events, f"{protocol} {seed}"
        found = [(v["round"], v["invariant"]) for v in tables["violations"]]
        assert found == [(v.round, v.invariant) for v in group.violations]
        term, last, _ = group.elections[-1]
        end = seen[-1][last]
        assert (own["leader_epoch"], own["hw"], own["leo"]) == (term, end["commit"], len(end["log"]))
        assert own["leader"] == (-1 if group.served is None else group.served)
        members = end["voters"][1] if end["voters"] else range(case.copies)
        has_all = [n for n, row in enumerate(seen[-1]) if n in members and len(row["log"]) >= end["commit"]]
        assert own["isr"] == (sorted(group.members) if protocol == "pacifica" else has_all)
        (row,) = tables["groups"]
        waited = {one["rounds"]: one["records"] for one in row["latencies"]}
        assert waited == group.latencies
        assert sum(waited.values()) == own["acked"]
        assert (row["copies"], row["sent_entries"]) == (len(members), counted["sent_entries"])
        changes = sum(event.kind == "configuration" for event in events)
        assert row["written_entries"] == counted["sent_entries"] + counted["appended"] + counted["elections"] + changes
        assert row["record_bytes"] == (record_bytes_of(case) if any(records for _, records in case.workload) else None)
        needed = {"quorum": case.acks, "primary-backup-sync": case.copies, "primary-backup-async": 1}
        needed["pacifica"] = len(group.members)
        assert row["acks_needed"] == needed.get(protocol, len(members) // 2 + 1)
        assert tables["partitions"][0]["replicas"] == list(range(case.first_members or case.copies))


def test_every_key_is_played() -> None:
    assert set(CONFIG_OF_CASE) == set(GROUP_KEYS)
