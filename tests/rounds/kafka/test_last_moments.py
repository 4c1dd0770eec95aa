"""What a leader appends until its broker dies, and takes along (docs/kafka_rounds.md, Last moments). No Spark."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from datasets.schedules import schedules_toml
from emulator.faults import FAULT_SCHEMA
from emulator.rounds.kafka.invariants import NAMES
from emulator.rounds.kafka.last_moments import DRAW_BITS, drawn, draws_of_seed
from tests.reference.kafka import simulate
from tests.reference.scenario_cases import cases_of_run
from tests.rounds.kafka.compared import Played, all_known, differences, events_of, outcomes_of, played, scenarios_of, trace_of

ROUND_MS = 500
MOMENT = FAULT_SCHEMA.names.index("moment")
DEATH = 3
"""The round in which leaders die, two rounds before their session is over and another one is elected."""


def dying(workload: str, faults: str = "", cluster: str = "", partitions: int = 1, groups: int = 1, head: str = "") -> str:
    """Groups of three brokers, the first of which leads its partitions."""
    lists = [[3 * group + 1, 3 * group + 2, 3 * group + 3] for group in range(groups) for _ in range(partitions)]
    return f"""
        name = "dying"
        rounds = 12
        round_ms = {ROUND_MS}
        {head}
        [cluster]
        brokers = {3 * groups}
        session_timeout_rounds = 2
        {cluster}
        [[topics]]
        name = "t"
        assignment = {lists}
        {workload}
        {faults}
    """


def death(broker: int = 1, moment: object = None, kind: str = "broker_crash") -> str:
    """The broker is away for the rest of the run."""
    given = "" if moment is None else f'moment = "{moment}"' if isinstance(moment, str) else f"moment = {moment}"
    return f'\n[[faults]]\nkind = "{kind}"\nbroker = {broker}\nfrom_round = {DEATH}\n{given}\n'


def appends(records: int, acks: str = "1", more: str = "") -> str:
    """A workload until the leader is dead."""
    to_round = DEATH + 1
    return f'\n[[workload]]\ntopic = "t"\nrecords_per_round = {records}\nacks = "{acks}"\nto_round = {to_round}\n{more}\n'


def game_of(text: str, folder: Path, leaps: bool = False) -> Played:
    """The scenario, played."""
    return played(scenarios_of(text, folder).scenarios, leaps=leaps)


def leos_after(game: Played, round_: int = DEATH, place: int = 0) -> list[int]:
    """LEOs at the end of a round, by broker."""
    rows = [row for row in trace_of(game)[place] if row["round"] == round_]
    return [row["leo"] for row in sorted(rows, key=lambda row: row["broker"])]


def lost(game: Played, place: int = 0) -> int:
    """Records that the election lost although they were acknowledged."""
    events = [e for e in events_of(game)[place] if e["kind"] == "acked_lost"]
    return sum(e["to_offset"] - e["from_offset"] for e in events)


@pytest.mark.parametrize("records_per_second", [200, 2000, 20_000])
def test_half_a_millisecond_of_writes_is_lost(tmp_path: Path, records_per_second: int) -> None:
    """At drawn moments, of 20 leaders with 20 partitions each; a real leader lost 0 or 1 record in eight kills."""
    rng = random.Random(records_per_second)
    faults = "".join(death(3 * group + 1, round(rng.random(), 6)) for group in range(20))
    text = dying(appends(records_per_second * ROUND_MS // 1000), faults, partitions=20, groups=20)
    game = game_of(text, tmp_path)
    losses = [lost(game, place) for place in range(400)]
    mean = records_per_second * 0.0005
    assert {min(losses), max(losses)} <= {int(mean), int(mean) + 1}
    assert sum(losses) / len(losses) == pytest.approx(mean, abs=4 * 0.5 / 400**0.5)
    assert losses == [outcomes_of(game, place)["acked_lost"] for place in range(400)]
    assert not len(game.told.violations)


def test_as_much_is_lost_at_the_start_of_the_round(tmp_path: Path) -> None:
    """Without a moment: what was written at the end of the round before."""
    game = game_of(dying(appends(1000), death(), partitions=400), tmp_path)
    losses = [lost(game, place) for place in range(400)]
    assert set(losses) == {1}
    assert leos_after(game) == [3001, 3000, 3000]
    slow = game_of(dying(appends(100), death(), partitions=400), tmp_path)
    losses = [lost(slow, place) for place in range(400)]
    assert set(losses) == {0, 1}
    assert sum(losses) / 400 == pytest.approx(0.1, abs=4 * 0.3 / 20)


def test_after_the_append_the_whole_round_is_lost(tmp_path: Path) -> None:
    for cluster in ("", "fetches_per_round = 1", "fetch_round_trip_ms = 300"):
        game = game_of(dying(appends(40), death(moment="after-append"), cluster), tmp_path)
        assert leos_after(game) == [160, 120, 120]
        assert lost(game) == 40


@pytest.mark.parametrize(
    ("cluster", "moment", "leos"),
    [
        ("fetches_per_round = 1", None, [3000, 3000, 3000]),
        ("fetches_per_round = 1", 0, [3000, 3000, 3000]),
        ("fetches_per_round = 1", 0.999, [3999, 3000, 3000]),
        ("fetches_per_round = 4", 0.3, [3300, 3250, 3250]),
        ("fetches_per_round = 4", 0.75, [3750, 3750, 3750]),
        ("fetch_round_trip_ms = 4", None, [3004, 3000, 3000]),
        ("fetch_round_trip_ms = 4", 0, [3004, 3000, 3000]),
        ("fetch_round_trip_ms = 4", 0.29, [3290, 3286, 3286]),
        ("fetch_round_trip_ms = 4", 0.001, [3004, 3000, 3000]),  # one record of the round, of four that are on their way
        ("fetch_round_trip_ms = 2000", 0.5, [4000, 3000, 3000]),  # no more than a round
    ],
)
def test_the_lag_is_half_a_round_trip_or_since_the_last_of_so_many_fetches(
    tmp_path: Path, cluster: str, moment: float | None, leos: list[int]
) -> None:
    assert leos_after(game_of(dying(appends(1000), death(moment=moment), cluster), tmp_path)) == leos


@pytest.mark.parametrize(
    ("config", "lacking"),
    [
        ('"replica.fetch.min.bytes" = 1', 8),
        # 1,000 records of 1,000 bytes in 4 of 12 rounds of half a second are 666,667 bytes a second: 150 ms, and 8 of the trip.
        ('"replica.fetch.min.bytes" = 100000', 158),
        ('"replica.fetch.min.bytes" = 100000, "num.replica.fetchers" = 2', 158),  # one partition has one
        ('"replica.fetch.min.bytes" = 100000, "replica.fetch.wait.max.ms" = 92', 100),
        ('"replica.fetch.min.bytes" = 1000000', 508),
    ],
)
def test_a_fetch_that_waits_for_bytes_is_behind_by_more(tmp_path: Path, config: str, lacking: int) -> None:
    """By half of the wait and of the round trip, at two records a millisecond."""
    cluster = f"fetch_round_trip_ms = 8\nconfig = {{ {config} }}"
    text = dying(appends(1000), death(moment=0.9), cluster)
    assert leos_after(game_of(text, tmp_path)) == [3900, 3900 - lacking, 3900 - lacking]


def test_waits_are_those_of_the_reference(tmp_path: Path) -> None:
    """Which finds the mean of all fetchers row by row: two topics on the same brokers, and one that has other ones."""
    more = '[[topics]]\nname = "u"\nassignment = [[1, 2, 3]]\n[[topics]]\nname = "v"\nassignment = [[5, 4]]\n'
    of_more = '\n[[workload]]\ntopic = "[uv]"\nrecords_per_second = 2411.5\nrecord_bytes = 71\nacks = "1"\nfrom_round = 2\n'
    config = 'config = { "replica.fetch.min.bytes" = 9000, "num.replica.fetchers" = 2 }'
    text = dying(more + appends(300) + of_more, death(moment=0.7) + death(5, 0.3), config, groups=2)
    text = text.replace("assignment = [[1, 2, 3], [4, 5, 6]]", "assignment = [[1, 2, 3]]")
    run = scenarios_of(text, tmp_path)
    game = played(run.scenarios)
    known = all_known(game)
    waits = set()
    for place, case in enumerate(cases_of_run(run).values()):
        waits.add(case["fetch_wait_us"])
        assert not differences(simulate(case), game, place, known)
    assert len(waits) == 1 and 10_000 < waits.pop() < 500_000


def test_a_far_follower_lacks_more(tmp_path: Path) -> None:
    far = '\n[[faults]]\nkind = "slow_link"\nbroker = 1\npeer = 3\nround_trip_ms = 60\nfrom_round = 0\n'
    game = game_of(dying(appends(1000), death(moment=0.5) + far, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3500, 3496, 3440]


def test_who_is_behind_gets_nothing(tmp_path: Path) -> None:
    """Broker 3 was away: the leader dies in the round in which it is back, and so does what only the leader has."""
    away = f'\n[[faults]]\nkind = "broker_pause"\nbroker = 3\nfrom_round = 1\nto_round = {DEATH}\n'
    game = game_of(dying(appends(1000), death(moment=0.5) + away, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3500, 3496, 1000]


@pytest.mark.parametrize(("kind", "own"), [("broker_crash", 0.25), ("broker_crash", None), ("controlled_shutdown", None)])
def test_who_stops_earlier_has_what_came_until_then(tmp_path: Path, kind: str, own: float | None) -> None:
    faults = death(moment=0.5) + death(2, own, kind)
    game = game_of(dying(appends(1000), faults, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3500, 3246 if own else 3000, 3496]


@pytest.mark.parametrize("kind", ["broker_pause", "controlled_shutdown"])
def test_who_stops_with_the_leader_at_the_start_of_the_round_lacks_only_its_own_lag(tmp_path: Path, kind: str) -> None:
    """Broker 3 is far: the leader has 60 records that it lacks, of which broker 2 had all but 4 before both stopped."""
    far = '\n[[faults]]\nkind = "slow_link"\nbroker = 1\npeer = 3\nround_trip_ms = 60\nfrom_round = 0\n'
    game = game_of(dying(appends(1000), death() + death(2, kind=kind) + far, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3060, 3056, 3000]


def test_who_stops_later_has_all(tmp_path: Path) -> None:
    game = game_of(dying(appends(1000), death(moment=0.5) + death(2, 0.75), "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3500, 3496, 3496]


def test_the_first_of_several_faults_stops_the_broker(tmp_path: Path) -> None:
    faults = death(moment=0.75) + death(moment=0.5, kind="power_loss") + death(2, 0.9)
    game = game_of(dying(appends(1000, more="record_bytes = 10"), faults, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [0, 3496, 3496]  # nothing was flushed
    damaged = next(e for e in events_of(game)[0] if e["kind"] == "log_damaged")
    assert (damaged["from_offset"], damaged["to_offset"]) == (3500, 0)


def test_acks_all_loses_nothing_and_shows_what_it_sent_only_with_a_moment(tmp_path: Path) -> None:
    for moment, leos in ((None, [3000, 3000, 3000]), (0.5, [3500, 3496, 3496]), ("after-append", [4000, 3000, 3000])):
        game = game_of(dying(appends(1000, "all"), death(moment=moment), "fetch_round_trip_ms = 4"), tmp_path)
        assert leos_after(game) == leos
        assert lost(game) == outcomes_of(game, 0)["acked_lost"] == 0
        assert outcomes_of(game, 0)["acked"] == 2000  # what T committed itself, a round behind


def test_acks_all_is_not_taken_below_the_minimum(tmp_path: Path) -> None:
    config = 'config = { "min.insync.replicas" = 3, "replica.lag.time.max.ms" = 500 }'
    away = '\n[[faults]]\nkind = "broker_crash"\nbroker = 3\nfrom_round = 0\n'
    rows = appends(1000, "all") + appends(10)
    game = game_of(dying(rows, death(moment=0.5) + away, f"fetch_round_trip_ms = 4\n{config}"), tmp_path)
    before, after = leos_after(game, DEATH - 1), leos_after(game)
    assert (after[0] - before[0], after[1] - before[1]) == (5, 5)


def test_what_is_lost_is_of_all_that_was_appending(tmp_path: Path) -> None:
    """Of two batches a round the last records of both are lost: 4 of 1,000 and 8 of 2,000, which nobody was told of."""
    rows = appends(1000) + appends(2000, "0", "record_bytes = 10")
    game = game_of(dying(rows, death(moment=0.5), "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [10_500, 10_488, 10_488]
    assert lost(game) == 4
    assert outcomes_of(game, 0)["unacknowledged_lost"] == 8
    mixed = appends(1000) + appends(2000, "all", "record_bytes = 10")
    game = game_of(dying(mixed, death(moment=0.5), "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [10_500, 10_488, 10_488]
    assert lost(game) == 4
    game = game_of(dying(mixed, death(), "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [9004, 9000, 9000]


def test_a_leader_that_comes_back_first_has_lost_nothing(tmp_path: Path) -> None:
    """The whole cluster dies at once; broker 1 leads again with what only it had."""
    faults = "".join(death(broker, 0.5).rstrip() + f"\nto_round = {DEATH + 2}\n" for broker in (1, 2, 3))
    game = game_of(dying(appends(1000), faults, "fetch_round_trip_ms = 4"), tmp_path)
    assert leos_after(game) == [3500, 3496, 3496]
    assert leos_after(game, 11) == [3500, 3500, 3500]
    assert outcomes_of(game, 0)["acked_lost"] == 0
    assert outcomes_of(game, 0)["acked"] == 3500


@pytest.mark.parametrize(
    "faults",
    [
        death(kind="controlled_shutdown"),
        f'\n[[faults]]\nkind = "broker_pause"\nbroker = 1\nfrom_round = {DEATH}\n',
        death(moment=0.5) + f'\n[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = {DEATH - 1}\n',
        death(moment=0.5) + '\n[[faults]]\nkind = "isolation"\nclients = true\nbroker = 1\nfrom_round = 0\n',
    ],
)
def test_who_stops_cleanly_or_did_not_serve_has_no_last_moments(tmp_path: Path, faults: str) -> None:
    game = game_of(dying(appends(1000, more="from_round = 2"), faults, "fetch_round_trip_ms = 40"), tmp_path)
    assert leos_after(game, DEATH - 1)[0] == leos_after(game)[0]


@pytest.mark.parametrize("fetching", ["fetches_per_round = 1", "fetch_round_trip_ms = 300"])
def test_no_loss_of_acks_1_violates_anything(tmp_path: Path, fetching: str) -> None:
    text = schedules_toml(1200, ["kafka", "kafka+elr", "kafka-kip101"], moments=True)
    scenarios = scenarios_of(text.replace("fetches_per_round = 1", fetching), tmp_path).scenarios
    none = pa.nulls(scenarios[0].faults.num_rows, pa.float64())
    without = [replace(scenario, faults=scenario.faults.set_column(MOMENT, "moment", none)) for scenario in scenarios]
    losses = []
    for chosen in (scenarios, without):
        game = played(chosen, traced=False)
        losses.append(sum(e["kind"] == "acked_lost" for of_place in events_of(game).values() for e in of_place))
        assert not {NAMES[int(row.invariant)] for row in game.told.violations if row.partition < 2400}
    assert losses[0] > losses[1] > 0


def test_leaps_draw_the_same(tmp_path: Path) -> None:
    rows = '\n[[workload]]\ntopic = "t"\nrecords_per_round = 100\nacks = "1"\n'
    faults = "".join(
        f'\n[[faults]]\nkind = "broker_crash"\nbroker = {1 + round_ % 2}\nfrom_round = {round_}\nto_round = {round_ + 20}\n'
        for round_ in range(100, 2000, 173)
    )
    text = dying(rows, faults, partitions=30).replace("rounds = 12", "rounds = 2500")
    runs = [played(scenarios_of(text, tmp_path).scenarios, traced=False, leaps=leaps) for leaps in (False, True)]
    assert events_of(runs[0]) == events_of(runs[1])
    outcomes = [[outcomes_of(game, place) for place in range(30)] for game in runs]
    assert outcomes[0] == outcomes[1]
    assert sum(row["acked_lost"] for row in outcomes[0]) > 10
    assert int(runs[1].state.partitions["played"].sum()) < int(runs[0].state.partitions["played"].sum()) / 3


def test_draws_are_uniform_and_of_seed_partition_and_round() -> None:
    draws = draws_of_seed(7)
    drawn_numbers = [drawn(draws, partition, round_) / 2**DRAW_BITS for partition in range(100) for round_ in range(100)]
    assert abs(sum(drawn_numbers) / 10_000 - 0.5) < 4 * (1 / 12) ** 0.5 / 100
    for tenth in range(10):
        assert abs(sum(tenth <= 10 * u < tenth + 1 for u in drawn_numbers) - 1000) < 4 * 30
    assert drawn(draws, 3, 4) != drawn(draws, 4, 3) != drawn(draws_of_seed(8), 4, 3)
    assert draws_of_seed(1) != draws_of_seed(1 << 32 | 1)
    assert drawn(draws_of_seed(2**63 - 1), 0, 2**33 + 5) == drawn(draws_of_seed(2**63 - 1), 0, 5)
    assert (draws_of_seed(0), drawn(draws_of_seed(0), 0, 0)) == (0x92CA2F0E, 0x642F30E0 >> 12)  # by MurmurHash3 itself
