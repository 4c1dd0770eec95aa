"""What remote reads ask for and get at quota edges: by hand, against sums reader by reader, in several blocks, without leaps."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.all_budgets import AllDemands, AllFlows, AllShares, all_flows_of, all_shares_of
from emulator.engine.budgets.edges import first_edge
from emulator.engine.budgets.read_demands import ReadFlows
from emulator.engine.budgets.read_shares import read_shares_of
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.engine.budgets.steps import FLOW_TABLES, Step, flows_from, play_step
from emulator.engine.rows import BETWEEN_SCHEMA, READ_FLOWS_SCHEMA, STEP_TABLES, TABLES, unpacked
from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.inputs.arrays.shared_reads import BY_ITSELF, ReadLimits
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.list_records import Run
from emulator.rounds.kafka.reading.records import EARLIEST, NO_CAUSE, NO_POSITION, Reader
from emulator.rounds.packed import entries_of
from emulator.scenario import Scenario, load_run
from tests.engine.budgets import test_copies_against_reference as against
from tests.engine.budgets.random_reads import reads_text
from tests.engine.budgets.test_play_shared import played, texts

SEEDS = tuple(range(6))

Asked = dict[tuple[int, int], tuple[int, int, int, int]]
"""By place of partition and reader who asks for something: (place of broker, fetch, demand, most)."""


def flows(*rows: tuple[int, int, int, int, int, int]) -> ReadFlows:
    """Rows of ReadFlows."""
    return ReadFlows(*np.array(rows, np.int64).reshape(-1, 6).T)


def shares(limits: ReadLimits, round_: int, *rows: tuple[int, int, int, int, int, int]) -> dict[tuple[int, int], Any]:
    """(broker, fetch) -> (turn, quota) of those that get less."""
    found = read_shares_of(flows(*rows), limits, round_)
    pairs = zip(found.broker.tolist(), found.fetch.tolist(), strict=True)
    return dict(zip(pairs, zip(found.turn.tolist(), found.quota.tolist(), strict=True), strict=True))


def test_parts() -> None:
    """Two brokers with three threads, of a read a round each, and 8,000 bytes; from round 10 on the first has one and 4,000."""
    limits = ReadLimits(
        np.array([0, 10]), np.array([[8e3, 8e3], [4e3, 8e3]]), np.array([[3.0, 3.0], [1.0, 3.0]]), np.array([[9, 9]] * 2), {}
    )
    most = 10**6

    def part(round_: int, broker: int, *row: int) -> Any:
        demand, own_most, readers, partitions = row
        return shares(limits, round_, (broker, BY_ITSELF, demand, own_most, readers, partitions)).get((broker, BY_ITSELF))

    assert part(0, 0, 8_000, most, 3, 3) is None
    assert part(0, 0, 16_000, most, 3, 3) == (1, 0.5)
    assert part(0, 0, 8_000, most, 12, 12) == (0.25, 1)
    assert part(0, 0, 16_000, 48_000, 12, 12) == (0.25, pytest.approx(2 / 3))
    assert part(10, 0, 8_000, most, 3, 3) == (pytest.approx(1 / 3), 0.5)
    assert part(10, 1, 8_000, most, 3, 3) is None
    assert part(0, 0, 16_000, most, 9, 1) is None  # its own readers only: the round's own rules
    # Three readers of one fetch make one read. Who comes to read from a broker whose quota is short gets less, too.
    assert shares(limits, 0, (0, 7, 9_000, 12_000, 3, 3)) == {(0, 7): (1 / 3, 1)}
    assert shares(limits, 0, (0, 7, 30_000, 48_000, 3, 3)) == {(0, 7): (1 / 3, 0.5), (0, BY_ITSELF): (1, 0.5)}
    both = ((0, BY_ITSELF, 12_000, 20_000, 2, 2), (0, 7, 9_000, 12_000, 3, 3))
    assert shares(limits, 0, *both) == {(0, 7): (1 / 3, 0.5), (0, BY_ITSELF): (1, 0.5)}


def scenario_of(seed: int, folder: Path) -> Scenario:
    (folder / f"{seed}.toml").write_text(reads_text(seed))
    return load_run(str(folder / f"{seed}.toml")).scenarios[0]


def log_bytes_below(block: SharedBlock, replica: int, offset: int) -> int:
    """Bytes below an offset of a log, record by record of its runs' patterns; the first run goes on below its start."""
    state, inputs = block.stretches.state, block.block.inputs
    first, end = state.runs.offsets[2 * replica], state.runs.offsets[2 * replica + 1]
    runs = entries_of(Run, state.runs)[first:end]
    if not len(runs):
        return 0
    run = [*runs[:1], *(run for run in runs if run.start_offset <= offset)][-1]
    pattern = inputs.patterns[run.pattern]
    sizes: list[int] = []
    begin, begin_bytes = 0, 0
    for place in range(pattern.first_batch, pattern.first_batch + pattern.batch_count):
        batch = inputs.batches[place]
        sizes += [(batch.end_bytes - begin_bytes) // (batch.end - begin)] * (batch.end - begin)
        begin, begin_bytes = batch.end, batch.end_bytes
    behind = sum(sizes[(run.phase + n) % pattern.records] for n in range(offset - run.start_offset))
    return (
        int(run.start_bytes)
        + behind
        - sum(sizes[(run.phase - n) % pattern.records] for n in range(1, run.start_offset - offset + 1))
    )


def asked_for(block: SharedBlock, scenario: Scenario, round_: int) -> Asked:
    """What the page says that readers ask for, one by one."""
    state, inputs = block.stretches.state, block.block.inputs
    limits, found = block.shared.reads, {}
    assert limits is not None
    for number in range(len(state.partitions)):
        part = state.partitions[number]
        readers = entries_of(Reader, state.readers)[state.readers.offsets[number] : state.readers.offsets[number + 1]]
        for reader in readers:
            want, settings = at(inputs.wants, reader.want, round_), at(inputs.settings, part.settings, round_)
            slot = max(part.client_leader, 0) if reader.asked == NOBODY else reader.asked
            replica = state.replicas[part.first_replica + slot]
            position = reader.position
            if position == NO_POSITION:
                position = replica.log_start if want.begins_at == EARLIEST else want.begins_at
            if not want.in_force or not settings.tiered or reader.stopped != NO_CAUSE or position < 0:
                continue
            position = max(position, replica.log_start)
            if position >= replica.local_start:
                continue

            def size(end: int, replica: int = part.first_replica + slot, begin: int = position) -> int:
                return log_bytes_below(block, replica, end) - log_bytes_below(block, replica, begin)

            count = replica.local_start if want.records_per_round == UNKNOWN else position + want.records_per_round
            rate = at(inputs.store, state.tier[number].store, round_).read_bytes
            most = min(want.remote_bytes, size(min(replica.local_start, count)), *([] if rate == UNKNOWN else [rate]))
            pattern = at(inputs.workload, part.workload, round_).pattern
            appended = 0 if pattern == UNKNOWN else int(inputs.patterns[pattern].size_bytes)
            demand = min(most, math.ceil(size(replica.local_start) / scenario.quota_window_rounds) + appended)
            fetch = limits.fetches.get(int(want.group), np.full(len(state.partitions), BY_ITSELF))[number]
            if demand > 0:
                found[number, int(reader.number)] = (
                    scenario.brokers.index(broker_of(scenario, replica)),
                    int(fetch),
                    demand,
                    most,
                )
    return found


def broker_of(scenario: Scenario, replica: Any) -> Any:
    return next(broker for broker in scenario.brokers if broker.id == replica.broker)


def at(rows: Any, place: int, round_: int) -> Any:
    """The span in force."""
    while rows[place + 1].from_round <= round_:
        place += 1
    return rows[place]


def bytes_of(asked: Asked, limits: ReadLimits, round_: int) -> dict[tuple[int, int], int | None]:
    """The share of each who asks, as the page says; None: any."""
    quotas, reads = limits.at(round_)
    by_broker: dict[int, Asked] = defaultdict(dict)
    for who, one in asked.items():
        by_broker[one[0]][who] = one
    found: dict[tuple[int, int], int | None] = {}
    for broker, own in by_broker.items():
        of_fetch = defaultdict(list)
        for who, (_, fetch, *_) in own.items():
            of_fetch[who if fetch == BY_ITSELF else fetch].append(who)
        served = min(1.0, reads[broker] / len(of_fetch))
        turns = {who: served / len(readers) for readers in of_fetch.values() for who in readers}
        # Of each fetch, and of all others together, the least of two sums.
        together = defaultdict(list)
        for who, (_, fetch, *_) in own.items():
            together[fetch].append(who)
        sums = [
            (sum(own[who][2] for who in those), sum(turns[who] * own[who][3] for who in those)) for those in together.values()
        ]
        wanted = sum(map(min, sums))
        part = min(1.0, quotas[broker] / wanted)
        for who, (_, _, demand, most) in own.items():
            is_less = len({partition for partition, _ in own}) > 1 and (turns[who] < 1 or part < 1)
            share = min(demand, turns[who] * most) * part if part < 1 else turns[who] * most
            found[who] = max(1, math.floor(share + 1e-6)) if is_less else None
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_are_those_of_the_page(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every edge; no share is more than a byte off, as parts of whole numbers may be."""
    scenario, edges, seen = scenario_of(seed, tmp_path), list[int](), Counter[str]()
    limit = SharedBlock.limit

    def noted(flows: AllFlows, shared: SharedBudgets, round_: int) -> AllShares:
        edges.append(round_)
        return all_shares_of(flows, shared, round_)

    def limited(block: SharedBlock, asked: AllDemands, got: AllShares) -> None:
        expected = asked_for(block, scenario, edges[-1])
        limit(block, asked, got)
        assert block.shared.reads is not None and asked.reads is not None
        state = block.stretches.state
        for (number, reader), share in bytes_of(expected, block.shared.reads, edges[-1]).items():
            own = entries_of(Reader, state.readers)[state.readers.offsets[number] + reader]
            seen["any" if share is None else "a part"] += 1
            assert (share is None) == (own.share_bytes == UNKNOWN), edges[-1]
            assert share is None or abs(share - own.share_bytes) <= 1, edges[-1]
        assert np.count_nonzero(asked.reads.demand) == len(expected)

    monkeypatch.setattr(against, "all_shares_of", noted)
    monkeypatch.setattr(SharedBlock, "limit", limited)
    against.played_in_steps(scenario, sum(topic.partitions for topic in scenario.topics))
    assert seen["a part"] > 10, seen


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(seed, tmp_path)
    whole = texts(played(scenario))
    assert any("remote_requests" in row for row in whole["consumer_groups"])
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, leaps=False))


def test_steps_share_out_the_same(tmp_path: Path) -> None:
    """What blocks that are played apart, from edge to edge, tell of reads adds up to what one block asks for."""
    scenario = scenario_of(SEEDS[1], tmp_path)
    prepared = prepare([scenario], {}, True, 25)
    places = np.arange(prepared.partition_count)
    shared, _ = prepared.shared_of(0)
    payloads = block_payloads(prepared, 0, np.array_split(places, 3))
    whole = SharedBlock(block_payloads(prepared, 0, [places])[0], ())
    states: list[bytes | None] = [None] * len(payloads)
    edge, step, told = first_edge(shared), Step(0, 0, None, False), 0
    while True:
        reads = []
        for number, payload in enumerate(payloads):
            row = pa.RecordBatch.from_arrays(
                [
                    pa.array([value], field.type)
                    for value, field in zip((number, payload, states[number]), BETWEEN_SCHEMA, strict=True)
                ],
                schema=BETWEEN_SCHEMA,
            )
            batches = list(play_step(step, (), tuple(STEP_TABLES), [row]))
            reads.append(unpacked(batches, "read_flows"))
            states[number] = unpacked(batches, "between").column("state")[0].as_py()
        whole.play_to(step.to_round)
        asked = whole.demands(edge.round)
        own = all_flows_of(asked)
        empty = {name: TABLES[name].empty_table() for name in FLOW_TABLES}
        joined = flows_from({**empty, "read_flows": pa.concat_tables(reads)}, shared)
        assert own.reads is not None and joined.reads is not None
        for name in READ_FLOWS_SCHEMA.names:
            assert getattr(own.reads, name).tolist() == getattr(joined.reads, name).tolist(), (edge, name)
        told += len(own.reads.broker)
        found = all_shares_of(own, shared, edge.round)
        whole.limit(asked, found)
        following = edge.following(shared, found.is_short)
        if following is None:
            break
        step = Step(edge.round, following.round, found, False)
        edge = following
    assert told > 10
