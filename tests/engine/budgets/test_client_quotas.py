"""Quotas of clients (KIP-13) by hand: whoever writes a topic, and each group, has its quota at every broker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.bandwidth.client_quotas import NO_CLIENT, client_quotas
from emulator.engine.budgets.all_budgets import all_flows_of
from emulator.engine.budgets.client_demands import PARTIES, party_rows
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.engine.budgets.steps import flow_rows, flows_from
from emulator.engine.rows import STEP_TABLES
from emulator.inputs.arrays import prepare
from emulator.scenario import load_run
from emulator.scenario.notes import notes_of
from tests.engine.budgets.test_one_budget import CONSUMER, SCENARIO, sums_of
from tests.engine.budgets.test_play_shared import played, texts
from tests.rounds.kafka.compared import scenarios_of

WIDE = 10**9


def rate(bytes_per_second: int) -> str:
    """What follows the other keys of the topic."""
    return f', "producer_byte_rate" = {bytes_per_second}'


@pytest.mark.parametrize("leaps", [True, False])
def test_who_writes_a_topic_has_a_quota_at_each_broker(tmp_path: Path, leaps: bool) -> None:
    """Two partitions of 4,000 bytes a round share 6,000 on broker 1: three rounds of four are sent. One on broker 2 has all."""
    given = {"NETWORK": WIDE, "ASSIGNMENT": "[[1], [1], [2]]", "WRITTEN": "0-2", "TOPIC": rate(6000)}
    sums = sums_of(tmp_path, leaps=leaps, **given)
    assert np.cumsum(sums.bytes_produced).tolist() == [2 * 4000 * (3000 * end // 4000) for end in (25, 50)]
    assert sums.bytes_waiting.tolist() == [2 * 4000 * (end - 3000 * end // 4000) for end in (25, 50)]
    assert sums.producers_held_rounds.tolist() == [25, 25] and not sums.network_in_saturated_rounds.any()
    alone = sums_of(tmp_path, leaps=leaps, place=1, **given)
    assert alone.bytes_produced.tolist() == [100_000, 100_000] and not alone.producers_held_rounds.any()


def test_what_waits_is_sent_when_the_quota_is_raised(tmp_path: Path) -> None:
    """Half of 30 rounds waits; from the edge at round 30 on 8,000 bytes a round may be sent."""
    raised = '[[commands]]\nkind = "alter_config"\nround = 30\ntopic = "t"\nconfig = { "producer_byte_rate" = 8000 }\n'
    sums = sums_of(tmp_path, 100, rest=raised, NETWORK=WIDE, ASSIGNMENT="[[1]]", TOPIC=rate(2000))
    assert sums.bytes_produced[0] == 4000 * (2000 * 25 // 4000)
    assert sums.bytes_produced.sum() == 4000 * 100 and sums.bytes_waiting[-1] == 0
    # At 30 they ask for 60,000 / 10 + 4,000 a round, at 40 for 20,000 / 10 + 4,000.
    assert sums.producers_held_rounds.tolist() == [25, 15, 0, 0]


def test_leaps_end_where_the_oldest_records_that_wait_are_more(tmp_path: Path) -> None:
    """Of 20.25 records a second one round in 20 has five, the others have four, as the quota has: those of five wait, and are
    the oldest some rounds after they were sent.
    """
    text = """
        rounds = 474
        round_ms = 200
        [cluster]
        brokers = 1
        [[topics]]
        name = "t"
        partitions = 1
        replication_factor = 1
        config = { "producer_byte_rate" = 2000 }
        [[workload]]
        topic = "t"
        records_per_second = 20.25
        record_bytes = 100
    """
    [scenario] = scenarios_of(text, tmp_path).scenarios
    plain = played(scenario, leaps=False)
    assert texts(played(scenario)) == texts(plain)
    # Whole rounds of 4 and 5 records, in their order, of 400 bytes a round.
    sent = np.cumsum([81 * at // 20 - 81 * (at - 1) // 20 for at in range(1, 475)]) * 100
    allowed = 400 * 474
    assert plain["outcomes"].column("appended").to_pylist() == [int(sent[sent <= allowed][-1]) // 100]


@pytest.mark.parametrize("leaps", [True, False])
def test_a_group_has_a_quota_at_each_broker(tmp_path: Path, leaps: bool) -> None:
    """Two partitions of 4,000 bytes a round: group g reads 3,000 of both together, g2, by the quota of all groups, 2,000."""
    groups = CONSUMER + 'config = { "consumer_byte_rate" = 3000 }\n' + CONSUMER.replace('"g"', '"g2"')
    more = 'config = { "consumer_byte_rate" = 2000 }'
    given = {"NETWORK": WIDE, "ASSIGNMENT": "[[1], [1]]", "WRITTEN": "0-1"}
    sums = sums_of(tmp_path, leaps=leaps, more=more, rest=groups, **given)
    # In round 0 nothing is committed yet; whole records of two readers each.
    assert abs(int(sums.bytes_consumed.sum()) - 49 * (3000 + 2000)) <= 4 * 1000
    assert sums.consumers_held_rounds.tolist() == [25, 25] and not sums.network_out_saturated_rounds.any()


def test_a_quota_is_a_part_of_the_brokers_network(tmp_path: Path) -> None:
    """Two topics of 4,000 and 8,000 bytes a round, of 10,000: the first has its quota of 3,000, the second the other 7,000."""
    second = '[[topics]]\nname = "u"\nassignment = [[1]]\n[[workload]]\ntopic = "u"\nrecords_per_round = 8\nacks = "1"\n'
    sums = sums_of(tmp_path, rest=second, NETWORK=10_000, ASSIGNMENT="[[1]]", TOPIC=rate(3000))
    sent = [4000 * (3000 * end // 4000) + 8000 * (7000 * end // 8000) for end in (25, 50)]
    assert np.cumsum(sums.bytes_produced).tolist() == sent
    assert sums.network_in_saturated_rounds.tolist() == [25, 25]


def written(folder: Path, config: str, rest: str = "") -> str:
    """The path of a scenario with two topics, of two and one partitions."""
    text = SCENARIO.replace("MORE", config) + '[[topics]]\nname = "u"\nassignment = [[1]]\n' + rest
    for name, value in {"ROUNDS": 50, "NETWORK": WIDE, "ASSIGNMENT": "[[1], [2]]", "WRITTEN": 0, "RECORD": 1000}.items():
        text = text.replace(name, str(value))
    path = folder / "s.toml"
    path.write_text(text.replace("TOPIC", rate(500)))
    return str(path)


def test_clients_are_numbered(tmp_path: Path) -> None:
    """Topic t has a quota, u from round 20 on; group g has its own, h none, but is not the only group. A group alone is none."""
    altered = '[[commands]]\nkind = "alter_config"\nround = 20\nconfig = { "producer_byte_rate" = 700 }\n'
    own = CONSUMER.replace('"g"', '"h"') + CONSUMER + 'config = { "consumer_byte_rate" = 900 }\n'
    found = client_quotas(load_run(written(tmp_path, "", altered + own)).scenarios[0], np.array([2, 1]))
    assert found.from_round.tolist() == [0, 20]
    assert found.quotas.tolist() == [[500, np.inf, np.inf, 900], [500, 700, np.inf, 900]] and found.at(19)[1] == np.inf
    assert (found.producers, found.groups, found.are_limits) == (2, 2, True)
    assert found.writer.tolist() == [0, 0, 1] and found.of(np.array([2, 0])).writer.tolist() == [1, 0]
    assert found.reader.tolist() == [2, 3]
    rows = party_rows(found)
    more = [PARTIES.index(name) for name in ("producers", "consumers", "downloads", "disk_reads") for _ in range(2)]
    assert rows.party.tolist() == [0, 1, 2, 3, 4, *more] and rows.client.tolist() == [NO_CLIENT] * 5 + [0, 1, 2, 3, 2, 3, 2, 3]
    assert rows.of("producers", np.array([1, NO_CLIENT])).tolist() == [6, 0]
    assert rows.of("downloads", np.array([2, NO_CLIENT])).tolist() == [9, 3]
    alone = client_quotas(load_run(written(tmp_path, "", CONSUMER)).scenarios[0], np.array([2, 1]))
    assert (alone.reader.tolist(), alone.groups) == ([NO_CLIENT], 0)


def test_what_clients_ask_for_goes_from_step_to_step(tmp_path: Path) -> None:
    """As rows, and back."""
    path = written(tmp_path, "", CONSUMER + 'config = { "consumer_byte_rate" = 900 }\n')
    prepared = prepare([load_run(path).scenarios[0]], {}, True, 25)
    block = SharedBlock(block_payloads(prepared, 0, [np.array([2, 0, 1])])[0], ())
    block.play_to(10)
    flows = all_flows_of(block.demands(10))
    rows = {name: schema.empty_table() for name, schema in STEP_TABLES.items()} | flow_rows(flows)
    found = flows_from(rows, block.shared)
    assert flows.clients is not None and found.clients is not None
    assert found.clients.demand.tolist() == flows.clients.demand.tolist()
    assert found.clients.connections.tolist() == flows.clients.connections.tolist()
    assert [place for place in np.flatnonzero(flows.clients.demand).tolist() if place >= 3 * len(PARTIES)] == [15, 18]


def test_a_quota_of_nobody_is_told(tmp_path: Path) -> None:
    """Nobody reads: a note says so."""
    found = notes_of(load_run(written(tmp_path, 'config = { "consumer_byte_rate" = 900 }')))
    assert "consumer_byte_rate limits nothing: nobody reads" in found
