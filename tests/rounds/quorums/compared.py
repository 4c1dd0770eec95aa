"""Rounds of quorums in the words of the reference: a case as a block of one group, round by round as ordinary Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import FAULT_KINDS, FaultRow
from emulator.inputs.ledger_arrays.gather import RowsOf
from emulator.inputs.quorum_arrays.members import wanted_spans
from emulator.inputs.quorum_arrays.servers import ServerArrays
from emulator.inputs.quorum_arrays.start import start_groups
from emulator.rounds.draws import key_of_seed
from emulator.rounds.lists import every
from emulator.rounds.packed import entries_of
from emulator.rounds.quorums import inputs as records
from emulator.rounds.quorums.constants import (
    EVENT_KINDS,
    FOLLOWER,
    FOREVER,
    GEOMETRIC,
    IN_SYNC,
    INVARIANTS,
    LEADER,
    MAX_SERVERS,
    NEVER,
    NO_ENTRY,
    NO_FAULT,
    NO_LIMIT,
    NO_TERM,
    NOBODY,
    OUT_OF_SYNC,
    ROLES,
    UNIFORM,
    WAITING,
)
from emulator.rounds.quorums.end_round import finish
from emulator.rounds.quorums.hdfs_journal.play_hdfs_journal_round import play_hdfs_journal_round
from emulator.rounds.quorums.kraft.play_kraft_round import play_kraft_round
from emulator.rounds.quorums.pacifica.play_pacifica_round import play_pacifica_round
from emulator.rounds.quorums.play_block import Scratch, play
from emulator.rounds.quorums.play_groups import load_group
from emulator.rounds.quorums.primary_backup.play_primary_backup_round import play_primary_backup_round
from emulator.rounds.quorums.protocols import PROTOCOLS
from emulator.rounds.quorums.quorum.play_quorum_round import play_quorum_round
from emulator.rounds.quorums.raft.play_raft_round import play_raft_round
from emulator.rounds.quorums.records import Group, Latency
from emulator.rounds.quorums.state import State
from emulator.rounds.quorums.viewstamped.play_viewstamped_round import play_viewstamped_round
from emulator.rounds.quorums.zab.play_zab_round import play_zab_round
from emulator.rounds.records import fields_of, rows
from tests.quick_rows import quick
from tests.reference.quorums.cases import Case, Event, Violation
from tests.reference.quorums.group import Group as ReferenceGroup
from tests.reference.quorums.play import outcomes
from tests.reference.quorums.play import played as played_by_reference
from tests.rounds.cells import cells

ROUND_MS = 500
PLAYS = {
    "quorum": play_quorum_round,
    "raft": play_raft_round,
    "primary-backup-sync": play_primary_backup_round,
    "primary-backup-async": play_primary_backup_round,
    "pacifica": play_pacifica_round,
    "zab": play_zab_round,
    "viewstamped": play_viewstamped_round,
    "kraft": play_kraft_round,
    "hdfs-journal": play_hdfs_journal_round,
}


def block_of(cases: Sequence[Case], leaps: bool = False) -> tuple[State, records.Inputs]:
    """Each case as a group of a scenario of its own."""
    gathered = {name: RowsOf(record) for name, record in RECORDS.items()}
    groups = rows(Group, len(cases))
    brokers: list[int] = []
    spans: list[int] = []
    for group, case in zip(groups, cases, strict=True):
        faults = [
            FaultRow(
                number, f.kind, FAULT_KINDS["power_loss" if f.power else f.kind].rank, f.from_round, min(f.to_round, case.rounds),
                f.broker, f.peer, f.direction, f.rack, None, None, None, f.clients, None, power=f.power,
                round_trip_ms=float(f.rounds * ROUND_MS),
            )
            for number, f in enumerate(case.faults)
        ]  # fmt: skip
        of_racks = [(broker, case.rack_of(broker)) for broker in range(case.copies)]
        arrays = ServerArrays(of_racks, faults, case.rounds, ROUND_MS)
        own, rules = PROTOCOLS[case.protocol], tuple(int(name not in case.lacking) for name in fields_of(records.Rules))
        elector = gathered["elector_spans"].put(arrays.elector)
        cuts = gathered["cuts"].put(arrays.cuts) if arrays.cuts else 0
        slow = gathered["slow_links"].put(arrays.slow_links) if arrays.slow_links else 0
        links = (cuts, len(arrays.cuts), slow, len(arrays.slow_links))
        scenario = (gathered["rules"].put((rules,)), int(leaps), key_of_seed(case.seed), *links)
        group.scenario = gathered["scenarios"].add((scenario,))
        settings = (
            own.acks_of(case.copies, case.acks, case.copies), case.compared, case.timeout_rounds,
            case.lease_rounds or case.timeout_rounds, case.jitter_rounds,
            int(case.pre_vote), int(case.check_quorum), NO_LIMIT if case.max_entries is None else case.max_entries,
            ROUND_MS, int(case.flush_rounds * ROUND_MS), case.fsync_rounds if case.flush_rounds == 1 else 0,
            NO_LIMIT if case.records_limit is None else case.records_limit, case.delay_rounds, case.delay_percent,
            GEOMETRIC if case.delay_shape == "geometric" else UNIFORM, case.roll_rounds, case.health_rounds, case.fence_rounds,
            case.connect_rounds, case.answer_rounds, case.write_rounds, int(case.one_at_a_time),
        )  # fmt: skip
        group.settings = gathered["settings"].put((settings,))
        group.workload = gathered["workload"].put((*case.workload, (FOREVER, 0)))
        group.elector_span = elector
        group.changes = bool(case.changes)
        group.initial = (1 << (case.first_members or case.copies)) - 1
        asked = [(at, sum(1 << server for server in members)) for at, members in case.changes]
        group.wanted = gathered["wanted"].put(wanted_spans(int(group.initial), asked, set(case.transfers)))
        group.protocol = own.number
        group.number, group.copies, group.end = case.number, case.copies, case.rounds
        group.queue_limit = case.queue_limit
        brokers += range(case.copies)
        spans += [gathered["server_spans"].add(own) for own in arrays.spans]
    state = start_groups(groups, np.array(brokers), np.array(brokers), np.array(spans))
    return state, records.Inputs(**{name: of_all.records() for name, of_all in gathered.items()})


RECORDS = {
    "scenarios": records.ScenarioRow,
    "rules": records.Rules,
    "server_spans": records.ServerSpan,
    "elector_spans": records.ElectorSpan,
    "cuts": records.LinkCut,
    "slow_links": records.SlowLink,
    "settings": records.Settings,
    "workload": records.WorkloadSpan,
    "wanted": records.WantedSpan,
}


class Game:
    """One case, played round by round in scratch arrays."""

    def __init__(self, case: Case) -> None:
        self.case = case
        state, self.inputs = block_of([case])
        scratch = Scratch(room=256, rows_told=4096)
        words = scratch.words(state, state)
        self.group, self.lists = state.groups[0], scratch.lists
        load_group(state, self.group, 0, self.lists, words, scratch.room)
        self._given = quick(self.lists), quick(self.inputs), quick(state.groups)[0]

    def play_round(self) -> None:
        """The next round, as ordinary Python."""
        play = PLAYS[self.case.protocol]
        getattr(play, "py_func", play)(*self._given)

    def log(self, slot: int) -> list[tuple[int, int]]:
        """(term, number of the leadership) of each entry."""
        log: list[tuple[int, int]] = self.rows()[slot]["log"]
        return log

    def voters(self, slot: int) -> tuple[list[int], list[int]]:
        """(members before, members) by the last configuration in a server's log, of raft."""
        both: tuple[list[int], list[int]] = self.rows()[slot]["voters"]
        return both

    def rows(self) -> list[dict[str, Any]]:
        """Of each server what is so of it."""
        copies, lists = self.case.copies, self.lists
        logs = [_told(lists.runs, server.runs, RUN) for server in lists.servers[:copies]]
        own, peers = list(cells(lists.servers[:copies], *SERVER)), list(cells(lists.peers[: copies * copies], *PEER))
        configurations = _told(lists.configurations, self.group.configurations, CONFIGURATION)
        members = Members(int(self.group.initial), configurations)
        return rows_of(self.case.protocol, own, peers, logs, _told(lists.messages, self.group.messages, MESSAGE), members)

    def outcomes(self) -> dict[str, Any]:
        """What is counted, at the end."""
        finish(self.lists, self.group)
        latencies = (self.lists.latencies[at] for at in every(self.group.latencies))
        waited = {int(latency.rounds): int(latency.records) for latency in latencies}
        return {name: int(self.group[name]) for name in OUTCOMES} | {"latencies": dict(sorted(waited.items()))}


OUTCOMES = (
    "appended", "acked", "truncated", "elections", "campaigns", "leaderless_rounds", "unwritable_rounds", "unacked_rounds",
    "sent_entries", "refused", "committed_lost", "acked_lost", "isr_shrinks", "isr_expands", "under_replicated_rounds",
)  # fmt: skip


SERVER = (
    "role", "term", "members", "joining", "voted_for", "flushed_to", "commit", "heard_round", "heard_leader", "stood", "leader",
    "log_term", "leadership", "end", "segment", "finalized", "accepted", "stage", "chosen",
    "hands_over", "told_term",
)  # fmt: skip
PEER = ("next_entry", "match_to", "answered_round", "in_sync", "took")
RUN = ("first_entry", "leadership", "term")
MESSAGE = ("sender", "receiver", "leadership", "epoch", "given_up", "arrives", "previous", "to_entry", "commit")
CONFIGURATION = ("leadership", "entry", "before", "members")

Numbers = Sequence[tuple[int, ...]]


class Members(NamedTuple):
    """Of a group the mask of its members at the start, and fields CONFIGURATION of what its leaders appended."""

    initial: int
    configurations: Numbers

    def of(self, log: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
        """(members before, members) by the last configuration in a log of (term, leadership)."""
        own = [one for one in self.configurations if one[1] < len(log) and log[one[1]][1] == one[0]]
        before, members = max(own, key=lambda one: one[1])[2:] if own else (self.initial, self.initial)
        return members_of(before), members_of(members)


def is_awaited(servers: Numbers, message: tuple[int, ...]) -> bool:
    """Whether the sender of a request still leads as it did; of a fetch, still follows so."""
    sender, receiver, leadership, epoch, given_up = message[:5]
    role, term, leader, leads_in = (servers[sender][at] for at in (0, 1, 10, 12))
    follows = (role, term, leader) == (FOLLOWER, epoch, receiver)
    return not given_up and (follows if leadership == NOBODY else (role, leads_in) == (LEADER, leadership))


def rows_of(
    protocol: str, servers: Numbers, peers: Numbers, runs: Sequence[Numbers], messages: Numbers, configured: Members
) -> list[dict[str, Any]]:
    """Of each server of a group what is so of it, as tests.reference.quorums.play.row_of.

    What is given are fields SERVER of its servers, PEER of each one's peers, RUN of each one's log, MESSAGE of requests.
    """
    copies, found = len(servers), []
    waited_for = [message for message in messages if is_awaited(servers, message)]
    for slot, server in enumerate(servers):
        role, term, members, joining, vote, flushed, commit, heard, heard_leader, stood, leader, log_term, _, end = server[:14]
        own = peers[slot * copies : (slot + 1) * copies]
        is_leader = role == LEADER
        found.append(
            {
                "role": ROLES[role],
                "term": term,
                "members": members_of(members),
                "joining": members_of(joining),
                "vote": null(vote, NOBODY),
                "log": (log := log_of(runs[slot], end)),
                "flushed": flushed,
                "commit": commit,
                "heard": heard,
                "heard_leader": null(heard_leader, NEVER),
                "stood": stood,
                "leader": null(leader, NOBODY) if protocol in ("zab", "kraft", "hdfs-journal") else None,
                "log_term": log_term if protocol in ("zab", "viewstamped", "hdfs-journal") else None,
                "segment": server[14:17],
                "takes_over": server[17:19],
                "voters": configured.of(log) if protocol in ("raft", "kraft") else None,
                "transfer": (server[19] == 1, null(server[20], 0)),
                "synced": own[slot][1] if is_leader else None,
                "under_way": [(m[1], *m[5:]) for m in waited_for if m[0] == slot],
                "followers": {n: follower_of(protocol, *peer) for n, peer in enumerate(own) if n != slot} if is_leader else None,
            }
        )
    return found


def follower_of(protocol: str, next_entry: int, match: int, answered: int, in_sync: int, took: int) -> tuple[Any, ...]:
    """What a leader knows of another server; a writer of HDFS's journal goes by nothing but match of who is out of sync."""
    if protocol != "hdfs-journal":
        return next_entry, match, null(answered, NEVER), in_sync == 1
    if in_sync == OUT_OF_SYNC:
        return None, match, None, False, False, None
    return next_entry, match, answered, in_sync == IN_SYNC, in_sync == WAITING, took


def log_of(runs: Numbers, end: int) -> list[tuple[int, int]]:
    """(term, number of the leadership) of each entry of a log."""
    log: list[tuple[int, int]] = []
    ends = [first for first, _, _ in runs[1:]] + [end]
    for (first, leadership, term), until in zip(runs, ends, strict=False):
        assert first == len(log)
        log += [(term, leadership)] * (until - first)
    return log


def _told(records: Any, entries: Any, fields: tuple[str, ...]) -> Numbers:
    """The entries of a list in scratch arrays."""
    return list(cells(records[entries.start : entries.start + entries.count], *fields))


def members_of(mask: int) -> list[int]:
    """The slots in a mask."""
    return [slot for slot in range(MAX_SERVERS) if mask >> slot & 1]


def null(value: int, nothing: int) -> int | None:
    """None for what stands for nothing."""
    return None if value == nothing else int(value)


def told_events(rows_told: Any) -> list[Event]:
    """Rows of records.Event as the reference has them."""
    return [
        Event(
            int(e.at_round), EVENT_KINDS[e.kind], int(e.broker), null(e.term, NO_TERM), null(e.from_entry, NO_ENTRY),
            null(e.to_entry, NO_ENTRY), null(e.cause, NO_FAULT),
        )
        for e in rows_told
    ]  # fmt: skip


def told_violations(rows_told: Any) -> list[Violation]:
    """Rows of records.Violation as the reference has them."""
    return [
        Violation(int(v.at_round), INVARIANTS[v.invariant], int(v.broker), null(v.other, NOBODY), null(v.entry, NO_ENTRY))
        for v in rows_told
    ]


def differences(case: Case) -> list[str]:
    """Where rounds and reference differ: the first round's, then what was told and counted. Empty: nowhere."""
    reference, seen = played_by_reference(case)
    game = Game(case)
    for round_, expected in enumerate(seen):
        game.play_round()
        if wrong := unlike(round_, expected, game.rows()):
            return wrong
    spans = game.lists.filled[0]
    events, violations = game.lists.events[: spans.events.count], game.lists.violations[: spans.violations.count]
    return unlike_at_end(reference, events, violations, game.outcomes(), outcomes(reference))


def unlike(round_: int, expected: list[dict[str, Any]], mine: list[dict[str, Any]]) -> list[str]:
    """What is not so of servers after a round."""
    if expected == mine:
        return []
    return [
        f"round {round_}, server {slot}, {column}: {value} by the reference, {own[column]} by the rounds"
        for slot, (row, own) in enumerate(zip(expected, mine, strict=True))
        for column, value in row.items()
        if own[column] != value
    ]


def unlike_at_end(
    reference: ReferenceGroup, events: Any, violations: Any, mine: dict[str, Any], counted: dict[str, Any]
) -> list[str]:
    """What is told and counted otherwise; `events`, `violations` as rows of the rounds."""
    pairs = [*paired(reference.events, told_events(events)), *paired(reference.violations, told_violations(violations))]
    wrong = [f"{a} by the reference, {b} by the rounds" for a, b in pairs if a != b]
    return wrong + [f"{n}: {v} by the reference, {mine[n]} by the rounds" for n, v in counted.items() if mine[n] != v]


def paired(one: Sequence[Any], other: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Rows side by side, None where one has no more."""
    most = max(len(one), len(other))
    return list(zip([*one, *[None] * (most - len(one))], [*other, *[None] * (most - len(other))], strict=True))


def play_block(cases: Sequence[Case], scratch: Scratch | None = None, leaps: bool = False) -> tuple[State, Any]:
    """The cases in one block, by the entry point that runs use."""
    state, inputs = block_of(cases, leaps)
    return play(state, inputs, scratch)


def latencies_of(state: State, place: int) -> dict[int, int]:
    """How many records of a block's group waited how long, at the end."""
    first, last = state.latencies.offsets[place : place + 2]
    waited = {int(one.rounds): int(one.records) for one in entries_of(Latency, state.latencies)[first:last]}
    return dict(sorted(waited.items()))
