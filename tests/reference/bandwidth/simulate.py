"""Whole runs: the partitions of a scenario side by side, round by round, and what they share from edge to edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from emulator.scenario.model import Run, Scenario

from ..consumers.sources import page_cache_shares
from ..fetching import full_fetches
from ..kafka import Result, outcomes, partition_row, play_after_inputs, take_inputs, trace_row
from ..log import bytes_of
from ..partition import Partition
from ..scenario_cases import cases_of_run
from ..truncation import start_truncating
from .clients import WaitingClients
from .edges import Edges
from .sharing import Follower, Limits, Producers, Shares, share

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
PRODUCER_RATE = "producer_byte_rate"
LEADER_LIST, FOLLOWER_LIST = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"

FOLLOWERS, PRODUCERS = "followers", "producers"


@dataclass
class Edge:
    """What was asked for and given at an edge; `of` are (place, broker) of the followers, `asked` by place that is written what
    its producers ask for, and may send in a round, None: anything.
    """

    round: int
    of: list[tuple[str, int]]
    followers: list[Follower]
    producers: list[Producers]
    shares: Shares
    asked: dict[str, tuple[int, int | None]]

    @property
    def held(self) -> set[tuple[str, int]]:
        """Budgets that are used up, and of which brokers followers and producers get less than they ask for."""
        short = {(FOLLOWERS, one.broker) for one, part in zip(self.followers, self.shares.of_followers, strict=True) if part < 1}
        short |= {(PRODUCERS, one.broker) for one, part in zip(self.producers, self.shares.parts, strict=True) if part < 1}
        return self.shares.used_up | short


@dataclass
class SharedResult:
    """By place what happened, and what was shared out."""

    results: dict[str, Result] = field(default_factory=dict)
    partitions: dict[str, Partition] = field(default_factory=dict)
    clients: dict[str, WaitingClients] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    log_bytes: dict[str, dict[int, int]] = field(default_factory=dict)
    """By place and broker how large logs were before the round; what damage takes in it is not known yet."""


def simulate_shared(scenario: Scenario, cases: Mapping[str, Mapping[str, Any]]) -> SharedResult:
    """Plays the cases (by place, of one partition each) of a scenario."""
    found = SharedResult()
    for place, case in cases.items():
        partition = Partition(case)
        start_truncating(partition)
        found.partitions[place] = partition
        partition.clients = found.clients[place] = WaitingClients(partition)
        found.results[place] = Result([], [], {}, partition.ledger.events, partition.coverage, [], {})
    edges = Edges(scenario.quota_window_rounds, changes_of(scenario, found.partitions.values()))
    for now in range(scenario.rounds):
        for place, partition in found.partitions.items():
            partition.now = now
            found.log_bytes[place] = {broker: bytes_of(one.log.records) for broker, one in partition.replicas.items()}
            take_inputs(partition)
        if now == edges.next:
            found.edges.append(share_out(scenario, found, now))
            edges.passed(found.edges[-1].shares.is_short)
        for place, partition in found.partitions.items():
            play_after_inputs(partition)
            result = found.results[place]
            result.trace.extend(trace_row(partition, partition.replicas[broker]) for broker in sorted(partition.replicas))
            result.trace_partitions.append(partition_row(partition))
    for place, partition in found.partitions.items():
        found.results[place].outcomes = outcomes(partition)
    return found


def changes_of(scenario: Scenario, partitions: Iterable[Partition]) -> set[int]:
    """Rounds in which any input changes, or what faults say of a broker that has replicas."""
    rows = scenario.workload.to_pylist() + scenario.faults.to_pylist()
    found = {row[key] for row in rows for key in ("from_round", "to_round") if row[key] is not None}
    found |= {command.round for command in scenario.commands}
    found |= {command.round + 1 for command in scenario.commands if command.kind != "alter_config" or command.broker is None}
    for partition in partitions:
        for broker in replicas_of(partition, -1):
            history = partition.history[broker]
            rounds = range(1, len(history))
            found |= {now for now in rounds if history[now] != history[now - 1]}
            found |= {now + 1 for now in rounds if history[now].fenced != history[now - 1].fenced}
    return found


def share_out(scenario: Scenario, run: SharedResult, now: int) -> Edge:
    """One edge: who asks for what, what each gets, and all of them are told."""
    window = scenario.quota_window_rounds
    of: list[tuple[str, int]] = []
    followers: list[Follower] = []
    quotas: dict[str, Fraction | None] = {}
    shares_of_memory = memory_of(scenario, run)
    written: dict[tuple[int, str], list[tuple[str, int]]] = {}
    for place, partition in run.partitions.items():
        clients = run.clients[place]
        clients.allowance = None
        partition.quotas = {}
        if partition.leadership is None:
            continue
        leader = partition.leadership.broker
        for broker in replicas_of(partition, leader):
            of.append((place, broker))
            memory = shares_of_memory[place][leader]
            followers.append(
                Follower(
                    leader,
                    broker,
                    demand_of(partition, clients, run.log_bytes[place], broker, window),
                    broker in partition.isr_known_to(partition.leadership),
                    is_listed(scenario, place, LEADER_LIST, leader, now),
                    is_listed(scenario, place, FOLLOWER_LIST, broker, now),
                    memory is not None and lacking(run.log_bytes[place], leader, broker) > memory,
                )
            )
        serves = partition.working_leader() is not None and not partition.status(leader).clients_cut
        demand = 0
        if serves or clients.waiting:
            demand = clients.bytes_of(clients.due(now)) - (-clients.bytes_waiting(now) // window)
        topic, _ = parts_of(place)
        quotas[topic] = quota_at(scenario, topic, now)
        written.setdefault((leader, "" if quotas[topic] is None else topic), []).append((place, demand))
    producers = [
        Producers(broker, sum(demand for _, demand in asking), sum(demand > 0 for _, demand in asking), quotas.get(client))
        for (broker, client), asking in written.items()
    ]
    fetchers = int(scenario.config.get("num.replica.fetchers", 1))
    shares = share(limits_at(scenario, now), followers, producers, fetchers)
    for (place, broker), quota in zip(of, shares.quotas, strict=True):
        if quota is not None:
            run.partitions[place].quotas[broker] = quota
    for (one, part), asking in zip(zip(producers, shares.parts, strict=True), written.values(), strict=True):
        for place, demand in asking:
            if part < 1 or run.clients[place].waiting:
                run.clients[place].allowance = int(part * demand)
            elif one.quota is not None:
                run.clients[place].allowance = int(one.quota)
    asked = {place: (demand, run.clients[place].allowance) for asking in written.values() for place, demand in asking}
    return Edge(now, of, followers, producers, shares, asked)


def replicas_of(partition: Partition, leader: int) -> list[int]:
    """Those that follow, or may: whoever is a replica in some round of the run."""
    named = [broker for command in partition.case["commands"] for broker in command.get("replicas") or ()]
    return sorted({*partition.case["replicas"], *named} - {leader})


def demand_of(partition: Partition, clients: WaitingClients, log_bytes: Mapping[int, int], broker: int, window: int) -> int:
    """What a follower asks for, bytes a round."""
    working = partition.working_leader()
    if working is None or not partition.status(broker).running or broker not in partition.controller.replicas:
        return 0
    lacks = lacking(log_bytes, working[1].broker, broker)
    due = clients.due(partition.now)
    asked = -(-lacks // window) + (0 if partition.status(working[1].broker).clients_cut else clients.bytes_of(due))
    largest = max((count * row["record_bytes"] for count, row in zip(due, clients.rows, strict=True)), default=0)
    limit = max(partition.settings.fetch_limit(broker), largest)
    return min(asked, full_fetches(partition.case, partition.case["round_ms"], limit) * limit)


def lacking(log_bytes: Mapping[int, int], leader: int, broker: int) -> int:
    """Bytes of the leader's log beyond the follower's."""
    return max(log_bytes.get(leader, 0) - log_bytes.get(broker, 0), 0)


def memory_of(scenario: Scenario, run: SharedResult) -> dict[str, dict[int, int | None]]:
    """By place and broker the share of the page cache; as far as the scenario has one for all brokers."""
    caches = {broker.page_cache_bytes for broker in scenario.brokers}
    assert len(caches) == 1
    cases = [{**partition.case, "page_cache_bytes": min(caches)} for partition in run.partitions.values()]
    return {place: page_cache_shares(cases, number) for number, place in enumerate(run.partitions)}


def quota_at(scenario: Scenario, topic: str, now: int) -> Fraction | None:
    """What those who write a topic may send to each broker in a round, None: any number."""
    own = next(one for one in scenario.topics if one.name == topic).config
    rate = own.get(PRODUCER_RATE, scenario.config.get(PRODUCER_RATE))
    for command in scenario.commands:
        if command.kind == "alter_config" and command.round <= now and command.topic == topic:
            rate = (command.config or {}).get(PRODUCER_RATE, rate)
    return None if rate is None else int(rate) * Fraction(scenario.round_ms, 1000)


def limits_at(scenario: Scenario, now: int) -> Limits:
    """What there is of every budget in a round."""
    of_round = Fraction(scenario.round_ms, 1000)
    network = {b.id: b.network_bytes_per_second * of_round for b in scenario.brokers if b.network_bytes_per_second is not None}
    disk = {b.id: b.disk_bytes_per_second * of_round for b in scenario.brokers if b.disk_bytes_per_second is not None}
    throttles = []
    for key in (LEADER_RATE, FOLLOWER_RATE):
        rates = {b.id: scenario.config[key] for b in scenario.brokers if key in scenario.config}
        for command in scenario.commands:
            if command.kind == "alter_config" and command.round <= now and command.broker is not None:
                assert command.config is not None
                if key in command.config:
                    rates[command.broker] = command.config[key]
        throttles.append({broker: int(rate) * of_round for broker, rate in rates.items()})
    return Limits(network, disk, *throttles)


def is_listed(scenario: Scenario, place: str, key: str, broker: int, now: int) -> bool:
    """Whether the topic's list has its partition at a broker."""
    topic, number = parts_of(place)
    listed = next(one for one in scenario.topics if one.name == topic).config.get(key, scenario.config.get(key, ""))
    for command in scenario.commands:
        if command.kind == "alter_config" and command.round <= now and command.topic == topic and key in (command.config or {}):
            assert command.config is not None
            listed = command.config[key]
    return listed == "*" or f"{number}:{broker}" in str(listed).split(",")


def parts_of(place: str) -> tuple[str, int]:
    """The topic and the number of a partition."""
    topic, number = place.rsplit(":", 1)
    return topic, int(number)


def cases_of(run: Run) -> dict[str, dict[str, Any]]:
    """The cases of a run of one scenario, by place: topic:partition, in their order."""
    [scenario] = run.scenarios
    faults = [{key: given for key, given in row.items() if given is not None} for row in scenario.faults.to_pylist()]
    found: dict[str, dict[str, Any]] = {}
    for topic in scenario.topics:
        for number in range(topic.partitions):
            own = replace(
                scenario,
                topics=(replace(topic, assignment=topic.assignment[number : number + 1]),),
                workload=_of_partition(scenario.workload, "partitions", number),
                faults=_of_partition(scenario.faults, "partition", number),
                commands=tuple(one for one in scenario.commands if one.partition in (None, number)),
            )
            [case] = cases_of_run(replace(run, scenarios=(own,))).values()
            found[f"{topic.name}:{number}"] = {**case, "number": len(found), "all_faults": faults}
    return found


def _of_partition(rows: pa.Table, column: str, number: int) -> pa.Table:
    """The rows that say nothing of partitions, or name this one."""
    named = [given is None or number in _numbers(str(given)) for given in rows.column(column).to_pylist()]
    return rows.filter(pa.array(named, pa.bool_()))


def _numbers(given: str) -> set[int]:
    """The partitions that a text like 0-3,7 names."""
    spans = [part.split("-") for part in given.split(",")]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}
