"""The sweep against the definitions on random fault sets, and the hard cases by hand."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from emulator.faults import FAULT_KINDS, FAULT_SCHEMA, BrokerSegment, broker_timelines

from .naive_timeline import naive_timelines

FIELDS = [field.name for field in fields(BrokerSegment) if field.name not in ("from_round", "to_round")]
DEFINED = [name for name in FIELDS if name != "island"]
"""Fields that the definitions have, round by round; what an island is to them shows in `drop_to`."""
MARKERS = (
    "waking",
    "fence_now",
    "unfence_now",
    "returning",
    "restarted",
    "unclean_restart",
    "clean_stop",
    "power_loss",
    "disk_loss",
)
OWN_KINDS = ("disk_loss", "power_loss", "broker_crash", "controlled_shutdown", "broker_pause", "isolation")
ALL_KINDS = (
    *OWN_KINDS,
    "rack_loss",
    "controller_loss",
    "link_cut",
    "slow_link",
    "slow_disk",
    "stale_metadata",
    "remote_storage_outage",
    "remote_metadata_lag",
)


def fault_table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=FAULT_SCHEMA)


def fault(kind: str, from_round: int, to_round: int, broker: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "from_round": from_round, "to_round": to_round, "broker": broker, **more}


def random_fault(rng: random.Random, brokers: list[int], rounds: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    kind = rng.choice(kinds)
    from_round = rng.randrange(rounds)
    to_round = from_round + rng.choice((1, 1, 2, 3, 5, 8, 13, rounds))
    broker = rng.choice(brokers)
    row = fault(kind, from_round, to_round, broker)
    if kind in ("controller_loss", "remote_storage_outage"):
        row["broker"] = None
    elif kind == "rack_loss":
        row.update(broker=None, rack=rng.choice(("a", "b")), power=rng.choice((None, False, True)))
    elif kind == "rack_isolation":
        row.update(broker=None, rack=rng.choice(("a", "b")), clients=rng.choice((None, False, True)))
    elif kind in ("link_cut", "slow_link"):
        row.update(peer=rng.choice(brokers), direction=rng.choice((None, "both", "out", "in")))
    elif kind == "isolation":
        row["clients"] = rng.choice((None, False, True))
    elif kind == "stale_metadata":
        row.update(topic=rng.choice((None, "a*", "b")), partition=rng.choice((None, 0, 1)))
        row["broker"] = rng.choice((None, broker))
        row["lag_rounds"] = rng.choice((None, 1, 3))
    elif kind == "remote_metadata_lag":
        row.update(broker=rng.choice((None, broker)), lag_rounds=rng.choice((None, 1, 3)))
    if kind == "slow_link":
        row["peer"] = rng.choice((None, row["peer"]))
    if kind in ("slow_link", "slow_disk"):
        row["bytes_per_second"] = rng.choice((10, 100, 1000))
    if kind == "slow_link" and rng.random() < 0.5:
        row.update(round_trip_ms=rng.choice((0.25, 30, 80.5)), bytes_per_second=rng.choice((None, 10)))
    if "moment" in FAULT_KINDS[kind].optional:
        row["moment"] = rng.choice((None, None, 0, 0.25, 0.5, 1))
    return row


def random_case(seed: int, kinds: tuple[str, ...] = ALL_KINDS) -> tuple[pa.Table, list[tuple[int, str | None]], int, int]:
    rng = random.Random(seed)
    rounds = rng.choice((1, 2, 12, 25, 40))
    broker_ids = rng.sample(range(10), rng.choice((1, 1, 2, 3)))
    brokers = [(broker, rng.choice(("a", "b", None))) for broker in broker_ids]
    # Half of the cases are dense in what drives the state machine.
    kinds = kinds if seed % 2 else (*OWN_KINDS, "controller_loss")
    rows = [random_fault(rng, broker_ids, rounds, kinds) for _ in range(rng.randrange(9))]
    if len(rows) >= 2 and rng.random() < 0.5:
        rows[1]["from_round"] = rows[0]["to_round"]  # no gap
        rows[1]["to_round"] = rows[1]["from_round"] + rng.randrange(1, 6)
    session_timeout_rounds = rng.choice((1, 2, 3, 5, 9))
    more = random.Random(f"racks/{seed}")  # of its own draw, so that cases stay as they are
    for _ in range(more.choice((0, 0, 1, 2))):
        from_round = more.randrange(rounds)
        row = fault("rack_isolation", from_round, from_round + more.choice((1, 3, 8, rounds)), None)
        rows.append({**row, "rack": more.choice(("a", "b")), "clients": more.choice((None, False, True))})
    return fault_table(*rows), brokers, rounds, session_timeout_rounds


def by_round(segments: list[BrokerSegment]) -> list[dict[str, Any]]:
    said = []
    for segment in segments:
        said.extend([{name: getattr(segment, name) for name in FIELDS}] * (segment.to_round - segment.from_round))
    return said


def told(timelines: dict[int, list[BrokerSegment]]) -> dict[int, list[dict[str, Any]]]:
    """What is said by round, and in `drop_to` also whom isolations keep a broker from, as the definitions have it."""
    said = {broker: by_round(segments) for broker, segments in timelines.items()}
    full: dict[int, list[dict[str, Any]]] = {}
    for broker, rounds in said.items():
        full[broker] = []
        for round_, of in enumerate(rounds):
            others = {peer: said[peer][round_] for peer in said if peer != broker}
            mates = {peer for peer, other in others.items() if of["island"] is not None and other["island"] == of["island"]}
            cut_off = {peer for peer, other in others.items() if of["isolated"] or other["isolated"]} - mates
            full[broker].append({**of, "drop_to": tuple(sorted({*of["drop_to"], *cut_off}))})
    return full


def assert_well_formed(segments: list[BrokerSegment], rounds: int) -> None:
    assert segments[0].from_round == 0
    assert segments[-1].to_round == rounds
    for segment in segments:
        assert segment.from_round < segment.to_round
        if any(getattr(segment, marker) for marker in MARKERS):
            assert segment.to_round == segment.from_round + 1
    for segment, following in pairwise(segments):
        assert segment.to_round == following.from_round
        differs = any(getattr(segment, name) != getattr(following, name) for name in FIELDS)
        assert differs or any(getattr(following, marker) for marker in MARKERS)


def one_broker(*rows: dict[str, Any], rounds: int = 60, session_timeout_rounds: int = 18) -> list[dict[str, Any]]:
    faults = fault_table(*rows)
    return by_round(broker_timelines(faults, [(1, "a"), (2, "b")], rounds, session_timeout_rounds)[1])


def rounds_of(said: list[dict[str, Any]], name: str) -> list[int]:
    return [round_ for round_, of_round in enumerate(said) if of_round[name]]


@pytest.mark.parametrize("block", range(8))
def test_sweep_equals_definitions_on_random_faults(block: int) -> None:
    reached: Counter[str] = Counter()
    for seed in range(block * 500, (block + 1) * 500):
        faults, brokers, rounds, session_timeout_rounds = random_case(seed)
        expected = naive_timelines(faults, brokers, rounds, session_timeout_rounds)
        timelines = broker_timelines(faults, brokers, rounds, session_timeout_rounds)
        assert list(timelines) == [broker for broker, _ in brokers]
        for segments in timelines.values():
            assert_well_formed(segments, rounds)
        for broker, of_broker in told(timelines).items():
            for round_, (said, known) in enumerate(zip(of_broker, expected[broker], strict=True)):
                got, want = ({name: of_round[name] for name in DEFINED} for of_round in (said, known))
                assert got == want, f"seed {seed}, broker {broker}, round {round_}: {faults.to_pylist()}"
                reached.update(name for name in DEFINED if got[name])
                reached.update([f"moment {got['moment']}"])
    moments = {f"moment {moment}" for moment in (None, -1, 0, 250_000, 500_000, 1_000_000)}
    assert {*DEFINED, *moments} == set(reached), "every field is set in some round"


def test_racks_that_are_cut_off_equal_definitions() -> None:
    """Many of them, with isolations beside them: what a broker reaches is what links, isolations and islands say together."""
    islands = 0
    for seed in range(1, 600, 2):
        kinds = (*ALL_KINDS, "rack_isolation", "rack_isolation", "isolation")
        faults, brokers, rounds, session_timeout_rounds = random_case(seed, kinds)
        expected = naive_timelines(faults, brokers, rounds, session_timeout_rounds)
        timelines = broker_timelines(faults, brokers, rounds, session_timeout_rounds)
        said = told(timelines)
        for broker, segments in timelines.items():
            assert_well_formed(segments, rounds)
            for round_, (got, want) in enumerate(zip(said[broker], expected[broker], strict=True)):
                assert {name: got[name] for name in DEFINED} == {name: want[name] for name in DEFINED}
                islands += any(said[peer][round_]["island"] == got["island"] is not None for peer in said if peer != broker)
    assert islands > 50


def test_no_faults_is_one_quiet_segment() -> None:
    (segment,) = broker_timelines(fault_table(), [(1, None)], 10, 18)[1]
    assert (segment.from_round, segment.to_round, segment.cause, segment.controller_up) == (0, 10, -1, True)
    assert not any(getattr(segment, name) for name in FIELDS if name not in ("cause", "controller_up"))
    assert broker_timelines(fault_table(), [(1, None)], 0, 18) == {1: []}


def test_restart_within_the_session_waits_for_the_fencing_round() -> None:
    said = one_broker(fault("broker_crash", 5, 8))
    assert rounds_of(said, "offline") == list(range(5, 23))
    assert rounds_of(said, "returning") == rounds_of(said, "restarted") == [23]
    assert rounds_of(said, "fence_now") == rounds_of(said, "unfence_now") == [23]
    assert not rounds_of(said, "fenced")


def test_crash_beyond_the_session_is_fenced_and_returns_when_it_ends() -> None:
    said = one_broker(fault("broker_crash", 5, 30))
    assert rounds_of(said, "fence_now") == [23]
    assert rounds_of(said, "fenced") == list(range(23, 30))
    assert rounds_of(said, "unfence_now") == rounds_of(said, "restarted") == [30]
    assert not rounds_of(said, "returning")


def test_crash_ending_in_the_fencing_round_is_returning() -> None:
    said = one_broker(fault("broker_crash", 5, 23))
    assert rounds_of(said, "returning") == rounds_of(said, "restarted") == [23]


@pytest.mark.parametrize("kind", ["broker_pause", "isolation"])
def test_pause_ending_in_the_fencing_round_is_not_fenced(kind: str) -> None:
    said = one_broker(fault(kind, 5, 23))
    assert not rounds_of(said, "fence_now")
    assert rounds_of(said, "waking") == [23]
    assert rounds_of(one_broker(fault(kind, 5, 24)), "fence_now") == [23]


def test_crash_during_an_isolation_counts_unheard_from_the_isolation() -> None:
    said = one_broker(fault("isolation", 5, 12), fault("broker_crash", 10, 40))
    assert rounds_of(said, "isolated") == list(range(5, 10))
    assert rounds_of(said, "fence_now") == [23]


def test_controlled_shutdown_fences_at_once_when_heard() -> None:
    said = one_broker(fault("controlled_shutdown", 5, 8))
    assert rounds_of(said, "fence_now") == rounds_of(said, "clean_stop") == [5]
    assert rounds_of(said, "offline") == rounds_of(said, "fenced") == [5, 6, 7]
    assert rounds_of(said, "restarted") == rounds_of(said, "unfence_now") == [8]


@pytest.mark.parametrize("kind", ["broker_pause", "isolation"])
def test_controlled_shutdown_of_an_unheard_broker_waits_for_its_session(kind: str) -> None:
    said = one_broker(fault(kind, 2, 10), fault("controlled_shutdown", 5, 8))
    assert rounds_of(said, "clean_stop") == [5]
    assert rounds_of(said, "fence_now") == rounds_of(said, "returning") == [20]
    assert rounds_of(said, "offline") == list(range(5, 20))


def test_controlled_shutdown_is_overridden_by_a_crash_in_its_round() -> None:
    said = one_broker(fault("controlled_shutdown", 5, 8), fault("broker_crash", 5, 6))
    assert not rounds_of(said, "clean_stop")
    assert rounds_of(said, "returning") == [23]


def test_without_a_controller_nobody_is_fenced_and_sessions_start_anew() -> None:
    said = one_broker(fault("broker_crash", 5, 10), fault("controller_loss", 8, 30, None))
    assert rounds_of(said, "fence_now") == rounds_of(said, "restarted") == [48]
    assert rounds_of(said, "offline") == list(range(5, 48))
    assert rounds_of(said, "controller_up") == [*range(8), *range(30, 60)]


def test_a_fenced_broker_that_comes_back_without_a_controller_waits_for_it() -> None:
    said = one_broker(fault("broker_crash", 5, 30), fault("controller_loss", 28, 35, None))
    assert rounds_of(said, "restarted") == rounds_of(said, "unfence_now") == [35]
    said = one_broker(fault("isolation", 5, 30), fault("controller_loss", 28, 35, None))
    assert rounds_of(said, "waking") == [30]
    assert rounds_of(said, "fenced") == list(range(23, 35))


def test_a_fenced_broker_that_dies_is_not_fenced_again() -> None:
    said = one_broker(fault("isolation", 5, 30), fault("broker_crash", 28, 33))
    assert rounds_of(said, "fence_now") == [23]
    assert rounds_of(said, "restarted") == [33]


def test_damage_is_flagged_once_also_on_a_broker_that_is_down() -> None:
    said = one_broker(fault("broker_crash", 5, 40), fault("power_loss", 7, 9), fault("disk_loss", 12, 14))
    assert rounds_of(said, "power_loss") == [7]
    assert rounds_of(said, "disk_loss") == [12]
    said = one_broker(fault("disk_loss", 5, 40), fault("disk_loss", 6, 40))
    assert rounds_of(said, "disk_loss") == [5, 6]
    said = one_broker(fault("broker_crash", 5, 6), fault("controlled_shutdown", 7, 9))
    assert not rounds_of(said, "clean_stop")


def test_rack_loss_is_a_crash_of_the_rack() -> None:
    timelines = broker_timelines(fault_table(fault("rack_loss", 3, 5, None, rack="a")), [(1, "a"), (2, "b"), (3, "a")], 9, 2)
    offline = {broker: rounds_of(by_round(segments), "offline") for broker, segments in timelines.items()}
    assert offline == {1: [3, 4], 2: [], 3: [3, 4]}


def test_a_rack_without_power_is_a_power_loss_of_the_rack() -> None:
    """In every fact, but who else is down: equal to a power_loss of each of its brokers."""
    brokers = [(1, "a"), (2, "b"), (3, "a")]
    rack = broker_timelines(fault_table(fault("rack_loss", 3, 5, None, rack="a", power=True)), brokers, 9, 2)
    each = broker_timelines(fault_table(fault("power_loss", 3, 5, 1), fault("power_loss", 3, 5, 3)), brokers, 9, 2)
    assert rounds_of(by_round(rack[3]), "power_loss") == [3]
    assert rack[1] == each[1]
    assert rack[2] == each[2]
    assert [replace(segment, cause=0) for segment in each[3]] == [replace(segment, cause=0) for segment in rack[3]]


RACKS = [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "b")]


def test_a_rack_that_is_cut_off_keeps_its_own_links() -> None:
    """Rounds 3 to 5; in round 4 broker 4 is isolated by itself, too. All else is as isolation of each of its brokers."""
    cut = fault("rack_isolation", 3, 6, None, rack="a")
    one = fault("isolation", 4, 5, 4, clients=True)
    said = told(broker_timelines(fault_table(cut, one), RACKS, 9, 2))
    dropped = {broker: [of_round["drop_to"] for of_round in said[broker][2:7]] for broker in (1, 2, 4)}
    assert dropped == {
        1: [(), (2, 5), (2, 4, 5), (2, 5), ()],
        2: [(), (1, 3, 4), (1, 3, 4), (1, 3, 4), ()],
        4: [(), (2, 5), (1, 2, 3, 5), (2, 5), ()],
    }
    assert [of_round["island"] for of_round in said[4][2:7]] == [None, "a", None, "a", None]
    assert {broker: rounds_of(of, "isolated") for broker, of in said.items() if rounds_of(of, "isolated")} == {
        broker: [3, 4, 5] for broker in (1, 3, 4)
    }
    assert [rounds_of(said[3], name) for name in ("fence_now", "unfence_now", "waking", "clients_cut")] == [[5], [6], [6], []]
    assert rounds_of(said[4], "clients_cut") == [4]
    assert [of_round["cause"] for of_round in said[4]] == [-1, -1, -1, 0, 0, 0, 0, 0, 0]
    each = broker_timelines(fault_table(*(fault("isolation", 3, 6, broker) for broker in (1, 3, 4)), one), RACKS, 9, 2)
    others = [name for name in FIELDS if name not in ("drop_to", "island", "cause")]
    for broker, segments in each.items():
        assert [{name: of[name] for name in others} for of in by_round(segments)] == [
            {name: of[name] for name in others} for of in said[broker]
        ]


def test_two_racks_that_are_cut_off_do_not_reach_each_other() -> None:
    """Rack b in rounds 2 and 3, rack a from 1 on, of one fault or of two; a broker without a rack is in none of them."""
    rows = [fault("rack_isolation", 1, 3, None, rack="a"), fault("rack_isolation", 2, 4, None, rack="b", clients=True)]
    more = fault("rack_isolation", 2, 4, None, rack="a", clients=True)
    said = told(broker_timelines(fault_table(*rows, more), [*RACKS, (6, None)], 5, 9))
    assert [of_round["drop_to"] for of_round in said[1]] == [(), (2, 5, 6), (2, 5, 6), (2, 5, 6), ()]
    assert [of_round["drop_to"] for of_round in said[2]] == [(), (1, 3, 4), (1, 3, 4, 6), (1, 3, 4, 6), ()]
    assert [of_round["drop_to"] for of_round in said[6]] == [(), (1, 3, 4), (1, 2, 3, 4, 5), (1, 2, 3, 4, 5), ()]
    assert [rounds_of(said[broker], "clients_cut") for broker in (1, 2, 6)] == [[2, 3], [2, 3], []]


def test_links_of_a_rack_that_is_cut_off_can_be_cut_and_its_brokers_die() -> None:
    """A broker that died is not isolated, and a rack-mate still: it is back when its rack is, and its session is over."""
    rows = [fault("rack_isolation", 2, 20, None, rack="a"), fault("link_cut", 3, 5, 1, peer=3, direction="out")]
    said = told(broker_timelines(fault_table(*rows, fault("broker_crash", 4, 6, 4)), RACKS, 24, 9))
    assert [of_round["drop_to"] for of_round in said[1][2:7]] == [(2, 5), (2, 3, 5), (2, 3, 5), (2, 5), (2, 5)]
    assert [of_round["drop_to"] for of_round in said[3][2:6]] == [(2, 5)] * 4
    assert rounds_of(said[4], "isolated") == [2, 3]
    assert rounds_of(said[4], "offline") == list(range(4, 20))
    assert [rounds_of(said[4], name) for name in ("fence_now", "restarted")] == [[11], [20]]


def test_a_rack_that_is_cut_off_costs_its_own_brokers_only() -> None:
    brokers = [(broker, f"r{broker % 100}") for broker in range(1000)]
    rows = [fault("rack_isolation", 10 * at, 10 * at + 5, None, rack=f"r{at}") for at in range(100)]
    timelines = broker_timelines(fault_table(*rows), brokers, 10**9, 18)
    assert {len(segments) for segments in timelines.values()} == {4, 3}
    assert {segment.drop_to for segments in timelines.values() for segment in segments} == {()}


def test_links_by_direction_and_slowest() -> None:
    faults = fault_table(
        fault("link_cut", 0, 1, 1, peer=2, direction="out"),
        fault("link_cut", 1, 2, 1, peer=2, direction="in"),
        fault("slow_link", 0, 3, 1, peer=2, bytes_per_second=50, round_trip_ms=40),
        fault("slow_link", 1, 2, 2, peer=1, direction="in", bytes_per_second=20),
        fault("slow_link", 2, 4, 1, peer=2, direction="out", round_trip_ms=80.5),
    )
    timelines = broker_timelines(faults, [(1, None), (2, None)], 4, 18)
    first, second = by_round(timelines[1]), by_round(timelines[2])
    assert [of_round["drop_to"] for of_round in first] == [(2,), (), (), ()]
    assert [of_round["drop_to"] for of_round in second] == [(), (1,), (), ()]
    assert [of_round["slow_to"] for of_round in first] == [((2, 50),), ((2, 20),), ((2, 50),), ()]
    assert [of_round["slow_to"] for of_round in second] == [((1, 50),), ((1, 50),), ((1, 50),), ()]
    assert [of_round["far_to"] for of_round in first] == [((2, 40_000),), ((2, 40_000),), ((2, 80_500),), ((2, 80_500),)]
    assert [of_round["far_to"] for of_round in second] == [((1, 40_000),), ((1, 40_000),), ((1, 40_000),), ()]


def test_cause_is_the_strongest_then_the_last() -> None:
    said = one_broker(
        fault("link_cut", 1, 9, 2, peer=1),
        fault("controller_loss", 0, 12, None),
        fault("isolation", 3, 6),
        fault("broker_pause", 4, 5),
        fault("broker_pause", 4, 5),
        rounds=14,
    )
    assert [of_round["cause"] for of_round in said] == [1, 0, 0, 2, 3, 2, 0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (fault("meteor", 0, 1), "unknown kind 'meteor'; allowed: disk_loss"),
        (fault("broker_crash", 0, 1, None), "broker_crash needs broker"),
        (fault("broker_crash", 0, 1, 9), "names broker 9"),
        (fault("link_cut", 0, 1, 1, peer=9), "names broker 9"),
        (fault("link_cut", 0, 1, 1, peer=2, direction="up"), "unknown direction 'up'; allowed: both, out, in"),
        (fault("slow_disk", 0, 1, 1), "slow_disk needs bytes_per_second"),
    ],
)
def test_bad_rows_are_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        broker_timelines(fault_table(row), [(1, None), (2, None)], 5, 18)


def test_cost_goes_with_events_not_rounds() -> None:
    rng = random.Random(7)
    brokers = [(broker, f"r{broker % 3}") for broker in range(300)]
    rows = [random_fault(rng, [broker], 10**9, OWN_KINDS) for broker, _ in brokers for _ in range(3)]
    timelines = broker_timelines(fault_table(*rows), brokers, 10**9, 18)
    assert sum(map(len, timelines.values())) < 10 * len(rows)
