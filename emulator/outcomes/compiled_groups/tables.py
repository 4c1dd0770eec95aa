"""All tables of a block of groups that commit by quorums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import lists_of, nullable, table_of, texts_at
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.rounds.packed import entries_of
from emulator.rounds.quorums.constants import EVENT_KINDS, INVARIANTS, MAX_SERVERS, NO_ENTRY, NO_FAULT, NO_TERM, NOBODY
from emulator.rounds.quorums.play_block import Told
from emulator.rounds.quorums.protocols import PROTOCOLS, WITH_LEASES
from emulator.rounds.quorums.records import Latency, Leadership
from emulator.rounds.quorums.state import State
from emulator.table_columns.arrow_columns import arrow_schema

TABLES = ("partitions", "outcomes", "events", "violations", "groups")
"""Output tables whose rows a block has."""

BLOCK_TABLES: dict[str, pa.Schema] = {name: arrow_schema(name) for name in TABLES}
"""By name the columns of what a block gives."""

COUNTED = (
    "appended", "acked", "refused", "acked_lost", "committed_lost", "truncated", "elections", "leaderless_rounds",
    "unwritable_rounds", "unacked_rounds", "isr_shrinks", "isr_expands", "under_replicated_rounds",
)  # fmt: skip
"""Columns of `outcomes` that are fields of Group."""


def group_block_tables(names: LedgerNames, state: State, told: Told) -> dict[str, pa.Table]:
    """The rows of TABLES; `names`: of the block's groups."""
    groups: Any = state.groups
    servers: Any = state.servers
    count = len(groups)
    every = np.arange(count)
    schema = arrow_schema("outcomes")
    leaders = servers[last_leaders(state)]
    holders, counts = holders_of(state, np.asarray(leaders.commit))
    columns = names.at(every) | {name: groups[name] for name in COUNTED}
    columns |= {
        "leader": np.where(groups.served == NOBODY, NOBODY, leaders_at(state, np.asarray(groups.served))),
        "leader_epoch": leaders_terms(state),
        "isr": lists_of(counts, holders, schema.field("isr").type),
        "elr": lists_of(np.zeros(count, np.int64), np.zeros(0, np.int32), schema.field("elr").type),
        "hw": leaders.commit,
        "leo": leaders.end,
    }
    kind = arrow_schema("partitions").field("replicas").type
    at_start = in_masks(state, np.asarray(groups.initial))
    replicas = lists_of(sizes_of(np.asarray(groups.initial)), np.asarray(servers.broker)[at_start], kind)
    first_leaders = np.asarray(servers.broker)[np.asarray(groups.first_server)]
    return {
        "partitions": table_of("partitions", count, names.at(every) | {"replicas": replicas, "first_leader": first_leaders}),
        "outcomes": table_of("outcomes", count, columns),
        "events": event_rows(names, told),
        "violations": violation_rows(names, told),
        "groups": table_of("groups", count, names.at(every) | group_columns(state)),
    }


def group_columns(state: State) -> dict[str, Any]:
    """Columns of `groups` by name."""
    groups: Any = state.groups
    waits, counts = entries_of(Latency, state.latencies), np.diff(state.latencies.offsets)
    order = np.lexsort((np.asarray(waits["rounds"]), np.repeat(np.arange(len(groups)), counts)))
    kind = arrow_schema("groups").field("latencies").type
    fields = [kind.value_type.field(at) for at in range(2)]
    of_waits = [pa.array(np.asarray(waits[field.name])[order]).cast(field.type) for field in fields]
    members, voters = sizes_of(np.asarray(groups.members)), sizes_of(np.asarray(groups.voters))
    needed = np.zeros(len(groups), np.int64)
    for own in PROTOCOLS.values():
        np.copyto(needed, own.acks_of(voters, groups.acks, members), where=groups.protocol == own.number)
    configurations = np.diff(state.configurations.offsets)
    workload = np.asarray(groups.workload_records)
    mean = np.asarray(groups.workload_bytes) / np.maximum(workload, 1)
    return {
        "copies": voters,
        "acks_needed": needed,
        "record_bytes": pa.array(mean, pa.float64(), mask=workload == 0),
        "sent_entries": groups.sent_entries,
        "written_entries": groups.appended + groups.elections + configurations + groups.sent_entries,
        "latencies": lists_of(counts, pa.StructArray.from_arrays(of_waits, fields=fields), kind),
    }


def sizes_of(masks: np.ndarray) -> np.ndarray:
    """How many servers are in each mask."""
    return (masks[:, None] >> np.arange(MAX_SERVERS) & 1).sum(axis=1).astype(np.int32)


def last_leadership(state: Any) -> Any:
    """By group the leadership elected last."""
    leaderships: Any = entries_of(Leadership, state.leaderships)
    return leaderships[state.leaderships.offsets[1:] - 1]


def last_leaders(state: Any) -> np.ndarray:
    """By group the place of the server that was elected last."""
    return np.asarray(state.groups.first_server + last_leadership(state).slot)


def leaders_terms(state: Any) -> np.ndarray:
    """By group the term of that election."""
    return np.asarray(last_leadership(state).term)


def leaders_at(state: Any, slots: np.ndarray) -> np.ndarray:
    """By group the broker id of the server with a slot."""
    return np.asarray(state.servers.broker)[np.asarray(state.groups.first_server) + np.maximum(slots, 0)]


def holders_of(state: Any, committed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(broker ids, sorted within each group, of servers whose logs are as long as what is committed; how many each group has).

    Of PacificA: of the replicas of the configuration in force. Of Raft: of the members at the end.
    """
    group, _ = places_of(state)
    servers, groups = state.servers, state.groups
    has = (np.asarray(servers.end) >= committed[group]) & in_masks(state, np.asarray(groups.voters))
    has = np.where(np.isin(groups.protocol, WITH_LEASES)[group], in_masks(state, np.asarray(groups.members)), has)
    order = np.lexsort((state.servers.broker[has], group[has]))
    return np.asarray(state.servers.broker[has])[order], np.bincount(group[has], minlength=len(state.groups))


def places_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """(by server its group, its slot)."""
    groups: Any = state.groups
    group = np.repeat(np.arange(len(groups)), groups.copies)
    return group, np.arange(len(group)) - np.asarray(groups.first_server)[group]


def in_masks(state: State, masks: np.ndarray) -> np.ndarray:
    """By server whether it is in its group's mask."""
    group, slot = places_of(state)
    return masks[group] >> slot & 1 == 1


def event_rows(names: LedgerNames, told: Told) -> pa.Table:
    """The table `events`."""
    events = told.events
    columns = names.at(np.asarray(events.group)) | {
        "round": events.at_round,
        "kind": texts_at(EVENT_KINDS, events.kind),
        "broker": nullable(events.broker, NOBODY),
        "leader_epoch": nullable(events.term, NO_TERM),
        "from_offset": nullable(events.from_entry, NO_ENTRY),
        "to_offset": nullable(events.to_entry, NO_ENTRY),
        "cause": nullable(events.cause, NO_FAULT),
    }
    return table_of("events", len(events), columns)


def violation_rows(names: LedgerNames, told: Told) -> pa.Table:
    """The table `violations`."""
    violations = told.violations
    witnesses = [
        f"server {row.broker} in term {row.term}"
        + ("" if row.other == NOBODY else f", and server {row.other}")
        + ("" if row.entry == NO_ENTRY else f": entry {row.entry}")
        for row in violations
    ]
    columns = names.at(np.asarray(violations.group)) | {
        "round": violations.at_round,
        "invariant": texts_at(INVARIANTS, violations.invariant),
        "witness": pa.array(witnesses, pa.string()),
    }
    return table_of("violations", len(violations), columns)
