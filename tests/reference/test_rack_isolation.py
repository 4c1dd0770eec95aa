"""A rack that is cut off, by hand: brokers 1 and 2 are in rack a, 3 and 4 in b; its brokers have each other, and nobody else.

Each round brings one record of acks=all, with min.insync.replicas 2, if nothing else is said; sessions last five rounds. While
nothing is in the way the leader ends round r with r + 1 records and a high watermark of r.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import pytest

from .broker_status import broker_rounds
from .kafka import Result, simulate
from .partition import Partition
from .random_scenarios import random_batch, random_case, to_toml

RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}
CUT, MENDED, FENCED = 4, 20, 9
RANDOM_CASES = 300


def _fault(kind: str, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "from_round": from_round, "to_round": to_round, **given}


def _cut(rack: str = "a", from_round: int = CUT, to_round: int | None = MENDED, **given: Any) -> dict[str, Any]:
    return _fault("rack_isolation", from_round, to_round, rack=rack, **given)


def _case(*faults: dict[str, Any], replicas: tuple[int, ...] = (1, 2), **given: Any) -> dict[str, Any]:
    row = {"from_round": 0, "records_per_round": 1, "record_bytes": 100, "acks": "all"}
    return {
        "rounds": 25,
        "round_ms": 500,
        "session_timeout_rounds": FENCED - CUT,
        "brokers": list(RACKS),
        "racks": RACKS,
        "config": {},
        "topic_config": {"min.insync.replicas": 2},
        "replicas": list(replicas),
        "workload": [row],
        "faults": list(faults),
        "commands": [],
        **given,
    }


def _of(result: Result, broker: int, name: str, rounds: range) -> list[int]:
    return [row[name] for row in result.trace if row["broker"] == broker and row["round"] in rounds]


def _told(result: Result, *kinds: str) -> list[tuple[Any, ...]]:
    return [(event.round, event.kind, event.broker, event.leader_epoch) for event in result.events if event.kind in kinds]


def test_who_reaches_whom() -> None:
    """Broker 5 is in no rack, and cut off from those that are in one that is."""
    faults = (_cut(to_round=8), _cut("b", 6), _cut("a", 5, 7), _fault("isolation", 7, 8, broker=2))
    partition = Partition(_case(*faults, brokers=[*RACKS, 5]))
    open_in = []
    for partition.now in (3, 4, 5, 6, 7, 8):
        pairs = permutations((1, 2, 3, 4, 5), 2)
        open_in.append({one * 10 + other for one, other in pairs if one < other and partition.message_passes(one, other)})
    b_and_5 = {34, 35, 45}
    assert open_in[0] == {12, 13, 14, 15, 23, 24, 25, *b_and_5}
    assert open_in[1] == open_in[2] == {12, *b_and_5}
    assert open_in[3] == {12, 34}  # two racks at once
    assert open_in[4] == {34}  # 2 is isolated by itself: it reaches nobody
    assert open_in[5] == {12, 15, 25, 34}


def test_who_is_isolated_and_what_clients_reach() -> None:
    faults = [_cut(from_round=4, to_round=6), _cut(from_round=5, to_round=7, clients=True), _cut("b", 2, clients=True)]
    history = broker_rounds(1, "a", faults, 12, 5)
    assert [round_ for round_, status in enumerate(history) if status.isolated] == [4, 5, 6]
    assert [round_ for round_, status in enumerate(history) if status.clients_cut] == [5, 6]
    assert [round_ for round_, status in enumerate(history) if status.waking] == [7]
    assert not any(status.isolated for status in broker_rounds(5, None, faults, 12, 5))


def test_a_partition_all_in_the_rack_goes_on() -> None:
    """Follower 2 fetches on, and leader 1 commits by the ISR that it knew last. Fenced in round 9 both, there is no other leader.

    In round 20 the controller has 1 again, alone in the ISR; it hears of that at the round's end and takes nothing. In 21 it
    refuses, and 2, that has all 20 records, joins. Record 19, of round 19, nobody was told of.
    """
    result = simulate(_case(_cut()))
    assert _of(result, 1, "hw", range(25)) == [*range(20), 19, 20, 20, 21, 22]
    assert _of(result, 1, "leo", range(25)) == [*range(1, 21), 20, 20, 21, 22, 23]
    assert _of(result, 2, "leo", range(25)) == [*range(1, 21), 20, 20, 21, 22, 23]
    assert _told(result, "leader_lost", "election") == [(9, "leader_lost", 1, 1), (20, "election", 1, 2)]
    assert result.outcomes["acked"] == 19 + 2
    assert (result.outcomes["acked_lost"], result.outcomes["truncated"], result.outcomes["leaderless_rounds"]) == (0, 0, 0)


def test_with_two_isolations_it_stands_still() -> None:
    """The same, but each broker by itself: from round 4 on nothing is committed."""
    alone = [_fault("isolation", CUT, MENDED, broker=broker) for broker in (1, 2)]
    result = simulate(_case(*alone))
    assert _of(result, 1, "hw", range(CUT, MENDED)) == [3] * 16
    assert _of(result, 2, "leo", range(CUT, MENDED)) == [4] * 16


def test_without_clients_nothing_is_appended() -> None:
    """Record 3 is committed in round 4; in round 20 the leader is told at the end, so 16 rounds have none that serves."""
    result = simulate(_case(_cut(clients=True)))
    assert _of(result, 1, "leo", range(3, 22)) == [4] * 19
    assert _of(result, 1, "hw", range(3, 6)) == [3, 4, 4]
    assert result.outcomes["leaderless_rounds"] == 16


def test_an_isr_that_reaches_out_of_the_rack() -> None:
    """Nothing is committed from round 4 on, for the ISR has 3. That leads in round 9, with min ISR 2 alone and to no avail.

    Leader 1 took a record in rounds 4 to 8, and 2 got all of them: five are cut from each log, at 4, in round 21, since they
    heard of 3 at the end of 20. They join in 22, and 23 takes a record.
    """
    result = simulate(_case(_cut(), replicas=(1, 2, 3)))
    assert _of(result, 1, "hw", range(3, 20)) == [3] * 17
    assert _of(result, 1, "leo", range(3, 24)) == [4, 5, 6, 7, 8, *[9] * 13, 4, 4, 5]
    assert _of(result, 2, "leo", range(3, 24)) == [4, 5, 6, 7, 8, *[9] * 13, 4, 4, 5]
    assert _of(result, 3, "leo", range(3, 24)) == [*[4] * 20, 5]
    assert _told(result, "leader_lost", "election") == [(9, "election", 3, 1)]
    assert result.outcomes["truncated"] == 2 * 5


def test_a_leader_outside() -> None:
    """Both of its followers are gone: what it takes until they are fenced waits, then it refuses.

    In round 20 both fetch from 4 and join; in 21 they have all 9, and it takes a record again.
    """
    result = simulate(_case(_cut(), replicas=(3, 1, 2)))
    assert _of(result, 3, "leo", range(3, 22)) == [4, 5, 6, 7, 8, *[9] * 13, 10]
    assert _of(result, 3, "hw", range(3, 22)) == [*[3] * 17, 4, 9]
    assert _of(result, 1, "leo", range(3, 22)) == [*[4] * 17, 9, 10]
    assert _told(result, "leader_lost", "election") == []


def test_a_follower_isolated_by_itself_within_the_rack() -> None:
    """It reaches nobody in rounds 6 and 7, and is back with what it asks for in 8."""
    result = simulate(_case(_cut(), _fault("isolation", 6, 8, broker=2)))
    assert _of(result, 1, "hw", range(4, 11)) == [4, 5, 5, 5, 6, 9, 10]
    assert _of(result, 2, "leo", range(4, 11)) == [5, 6, 6, 6, 9, 10, 11]


def test_two_racks_at_once() -> None:
    """Leader 1 has follower 2, and neither has 3: nothing is committed; nobody is left that could lead."""
    result = simulate(_case(_cut(), _cut("b"), replicas=(1, 2, 3)))
    assert _of(result, 1, "hw", range(4, 20)) == [3] * 16
    assert _of(result, 2, "leo", range(4, 20)) == [*range(5, 21)]
    assert _of(result, 3, "leo", range(4, 20)) == [4] * 16
    assert _told(result, "leader_lost", "election") == [(9, "leader_lost", 1, 1), (20, "election", 1, 2)]


def test_an_unclean_election_loses_what_the_rack_acknowledged() -> None:
    """3 has nothing and is out of the ISR; a second after the start the high watermark waits for it no more. It leads in round 9.

    Record r was taken in round r, and the high watermark is 8 in round 8: records 0 to 7 were acknowledged, four of them in
    the rack that was cut off.
    """
    logs = {broker: {"leo": 0, "hw": 0, "epochs": []} for broker in (1, 2, 3)}
    case = _case(
        _cut(),
        _fault("link_cut", 0, broker=3, peer=1),
        replicas=(1, 2, 3),
        config={"replica.lag.time.max.ms": 1000},
        topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": True},
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs},
        rounds=12,
    )
    result = simulate(case)
    lost = [(e.round, e.broker, e.from_offset, e.to_offset, e.cause) for e in result.events if e.kind == "acked_lost"]
    assert _of(result, 1, "hw", range(9)) == [0, 0, 0, *range(3, 9)]
    assert lost == [(9, 3, 0, 8, 0)]


def _cause(*faults: dict[str, Any], broker: int = 2) -> list[int | None]:
    return Partition(_case(*faults)).causes[broker][:10]


def test_causes() -> None:
    """As strong as an isolation, and stronger than a cut link; of equals the first row."""
    rack, alone = _cut(from_round=2, to_round=4), _fault("isolation", 3, 5, broker=2)
    link = _fault("link_cut", 1, 3, broker=2, peer=3)
    assert _cause(link, rack, alone)[:6] == [None, 0, 1, 1, 2, 2]
    assert _cause(alone, rack)[:6] == [None, None, 1, 0, 0, 0]
    assert _cause(rack, broker=3)[:4] == [None] * 4


@pytest.mark.parametrize(
    ("cut_from", "rack", "leader", "has"),
    [
        (2, "a", 1, {2: 5496, 3: 2000}),  # rack-mates, before and then
        (5, "a", 1, {2: 5496, 3: 5496}),  # 1 is dead and not isolated: what 3 has of it came through
        (5, "a", 3, {1: 5000, 2: 5000}),  # they are isolated when 3 stops
        (5, "b", 1, {2: 5496, 3: 5000}),
        (2, "a", 3, {1: 2000, 2: 2000}),
    ],
)
def test_last_moments(cut_from: int, rack: str, leader: int, has: dict[int, int]) -> None:
    """In half of round 5 leader takes 500 of 1,000 records with acks=1. Who kept up lacks the four of 2 ms."""
    row = {"from_round": 0, "records_per_round": 1000, "record_bytes": 100, "acks": "1"}
    crash = _fault("broker_crash", 5, broker=leader, moment=0.5)
    replicas = (leader, *has)
    case = _case(_cut(rack, cut_from), crash, replicas=replicas, workload=[row], rounds=6, fetch_round_trip_ms=4)
    result = simulate(case)
    assert {broker: _of(result, broker, "leo", range(5, 6))[0] for broker in replicas} == {leader: 5500, **has}


def test_last_moments_of_who_is_isolated_by_itself() -> None:
    """A rack-mate in round 4, but isolated in the next: it has nothing of that. Isolated in round 4, it is not level then."""
    row = {"from_round": 0, "records_per_round": 1000, "record_bytes": 100, "acks": "1"}
    crash = _fault("broker_crash", 5, broker=1, moment=0.5)
    for begin, has in ((5, 5000), (4, 4000)):
        alone = _fault("isolation", begin, begin + 1, broker=2)
        case = _case(_cut(from_round=2), alone, crash, workload=[row], rounds=6, fetch_round_trip_ms=4)
        assert _of(simulate(case), 2, "leo", range(5, 6)) == [has]


def test_random_cases_keep_the_invariants_and_have_rack_mates() -> None:
    """A leader that is cut off appends in some of them, and in some commits what its rack-mates have."""
    reached: Counter[str] = Counter()
    for seed in range(RANDOM_CASES):
        case = random_case(seed, elr=seed % 3 == 0, late_news=seed % 3 == 1, cut_racks=True)
        reached.update(simulate(case).coverage)
    assert reached["zombie_append_isolated"] > RANDOM_CASES / 2, reached
    assert reached["committed_in_cut_rack"] > RANDOM_CASES / 10, reached


def test_the_scenario_file_has_the_racks_that_are_cut() -> None:
    batch = random_batch(3, 20, cut_racks=True)
    cuts = [fault for fault in batch["cluster"]["faults"] if fault["kind"] == "rack_isolation"]
    assert [fault.get("clients") for fault in cuts] == [None, None, True]
    text = to_toml(batch)
    assert 'kind = "rack_isolation"\nrack = "1"\nclients = true\nfrom_round = 4\nto_round = 21\n' in text
    assert "\nracks = 3\n" in text
