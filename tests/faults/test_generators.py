"""Generated fault rows: reproducible, at the rates asked for, correlated as asked for."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from emulator.faults import (
    BROKER_STATE_KINDS,
    FAULT_SCHEMA,
    GENERATORS,
    broker_timelines,
    generate,
    parameter_problems,
)

BROKERS = [(broker, f"rack-{broker % 3}") for broker in range(1, 13)]
ROUNDS = 200_000


def spans(rows: list[dict[str, Any]], key: str) -> dict[Any, list[tuple[int, int]]]:
    of_key = defaultdict(list)
    for row in rows:
        of_key[row[key]].append((row["from_round"], row["to_round"]))
    return of_key


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("independent_crashes", {"mtbf_rounds": 500}),
        ("rack_outages", {"mtbf_rounds": 500.5, "duration_rounds_min": 3}),
        ("rolling_restart", {"down_rounds": 20}),
    ],
)
def test_same_seed_same_rows(kind: str, params: dict[str, Any]) -> None:
    rows = generate(kind, params, BROKERS, 5000, 7)
    assert rows.equals(generate(kind, params, BROKERS, 5000, 7))
    assert rows.schema.equals(FAULT_SCHEMA)
    assert rows.num_rows > 0
    if kind != "rolling_restart":
        assert not rows.equals(generate(kind, params, BROKERS, 5000, 8))
        assert not rows.equals(generate(kind, params, BROKERS, 5000, -7))
    starts = rows.column("from_round").to_pylist()
    assert starts == sorted(starts)
    broker_timelines(rows, BROKERS, 5000, 18)


def test_a_brokers_rows_do_not_depend_on_the_others() -> None:
    all_rows = generate("independent_crashes", {"mtbf_rounds": 500}, BROKERS, 5000, 7).to_pylist()
    some = generate("independent_crashes", {"mtbf_rounds": 500, "brokers": [3, 5]}, BROKERS, 5000, 7).to_pylist()
    assert some == [row for row in all_rows if row["broker"] in (3, 5)]


def test_crash_rates_and_durations() -> None:
    params = {"mtbf_rounds": 900, "mean_duration_rounds": 100}
    rows = generate("independent_crashes", params, BROKERS, ROUNDS, 3).to_pylist()
    assert {row["kind"] for row in rows} == {"broker_crash"}
    expected = ROUNDS / (900 + 100) * len(BROKERS)  # 2,400 renewals; deviation of the count is below sqrt
    assert abs(len(rows) - expected) < 4 * expected**0.5
    mean_duration = sum(row["to_round"] - row["from_round"] for row in rows) / len(rows)
    assert abs(mean_duration - 100) < 4 * 100 / len(rows) ** 0.5
    for of_broker in spans(rows, "broker").values():
        assert all(end <= start for (_, end), (start, _) in pairwise(of_broker))
        gaps = [start - end for (_, end), (start, _) in pairwise(of_broker)]
        assert abs(sum(gaps) / len(gaps) - 900) < 4 * 900 / len(gaps) ** 0.5


def test_crashes_of_brokers_are_independent() -> None:
    params = {"mtbf_rounds": 90, "duration_rounds_min": 10, "duration_rounds_max": 10}
    of_broker = spans(generate("independent_crashes", params, BROKERS, ROUNDS, 3).to_pylist(), "broker")
    down = {broker: {r for span in of for r in range(*span)} for broker, of in of_broker.items()}
    both = len(down[1] & down[2]) / ROUNDS
    assert abs(both - 0.1 * 0.1) < 0.002


def test_uniform_durations_stay_in_bounds() -> None:
    params = {"mtbf_rounds": 50, "duration_rounds_min": 5, "duration_rounds_max": 9, "fault": "isolation"}
    rows = generate("independent_crashes", {**params, "clients": True, "name": "n"}, BROKERS, 50_000, 1).to_pylist()
    lengths = {row["to_round"] - row["from_round"] for row in rows if row["to_round"] < 50_000}
    assert lengths == {5, 6, 7, 8, 9}
    assert {(row["kind"], row["clients"], row["name"]) for row in rows} == {("isolation", True, "n")}


def test_window_bounds_faults() -> None:
    params = {"mtbf_rounds": 5, "mean_duration_rounds": 1000, "from_round": 100, "to_round": 300}
    rows = generate("independent_crashes", params, BROKERS, 5000, 1).to_pylist()
    assert rows
    assert all(100 <= row["from_round"] < row["to_round"] <= 300 for row in rows)


def test_rack_outages_are_rows_of_racks() -> None:
    params = {"mtbf_rounds": 900, "mean_duration_rounds": 100}
    rows = generate("rack_outages", params, BROKERS, ROUNDS, 3).to_pylist()
    assert {row["kind"] for row in rows} == {"rack_loss"}
    assert {row["rack"] for row in rows} == {"rack-0", "rack-1", "rack-2"}
    assert {row["broker"] for row in rows} == {None}
    expected = ROUNDS / 1000 * 3
    assert abs(len(rows) - expected) < 4 * expected**0.5


def test_rack_outages_of_another_kind_hit_the_rack_at_once() -> None:
    params = {"mtbf_rounds": 900, "mean_duration_rounds": 100, "fault": "power_loss", "racks": ["rack-1", "rack-2"]}
    rows = generate("rack_outages", params, [*BROKERS, (99, None)], ROUNDS, 3).to_pylist()
    of_broker = spans(rows, "broker")
    assert set(of_broker) == {broker for broker, rack in BROKERS if rack != "rack-0"}
    assert of_broker[1] == of_broker[4] == of_broker[7] == of_broker[10]
    assert of_broker[2] == of_broker[5] != of_broker[1]
    assert {row["rack"] for row in rows} == {None}


def test_rack_outages_by_name_and_within_rounds() -> None:
    """Isolations from clients as well, of a name to ask for, none before or after the rounds that are given."""
    within = {"from_round": 2000, "to_round": 3000, "name": "power of a row", "fault": "isolation", "clients": True}
    rows = generate("rack_outages", {"mtbf_rounds": 50, "mean_duration_rounds": 10, **within}, BROKERS, ROUNDS, 3).to_pylist()
    assert rows
    assert {(row["kind"], row["name"], row["clients"]) for row in rows} == {("isolation", "power of a row", True)}
    assert all(2000 <= row["from_round"] < row["to_round"] <= 3000 for row in rows)


def test_racks_that_are_cut_off_are_rows_of_racks() -> None:
    params = {"mtbf_rounds": 900, "mean_duration_rounds": 100, "fault": "rack_isolation", "moments": True}
    rows = generate("rack_outages", params, [*BROKERS, (99, None)], ROUNDS, 3).to_pylist()
    assert {(row["kind"], row["broker"], row["clients"], row["moment"]) for row in rows} == {("rack_isolation", None, None, None)}
    assert {row["rack"] for row in rows} == {"rack-0", "rack-1", "rack-2"}
    from_clients = generate("rack_outages", params | {"clients": True}, BROKERS, ROUNDS, 3).to_pylist()
    assert from_clients == [row | {"clients": True} for row in rows]


@pytest.mark.parametrize("pause", [0, 7])
def test_rolling_restart_never_overlaps(pause: int) -> None:
    params = {"from_round": 50, "down_rounds": 20, "pause_between_rounds": pause}
    rows = generate("rolling_restart", params, BROKERS, 10_000, 1).to_pylist()
    assert [row["broker"] for row in rows] == [broker for broker, _ in BROKERS]
    assert rows[0]["from_round"] == 50
    assert all(row["to_round"] - row["from_round"] == 20 for row in rows)
    assert all(b["from_round"] - a["to_round"] == pause for a, b in pairwise(rows))
    timelines = broker_timelines(generate("rolling_restart", params, BROKERS, 10_000, 1), BROKERS, 10_000, 18)
    down = [(s.from_round, s.to_round) for segments in timelines.values() for s in segments if s.offline]
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(down)))


def test_rolling_restart_in_a_given_order_ends_with_the_run() -> None:
    params = {"down_rounds": 20, "brokers": [5, 3, 4]}
    rows = generate("rolling_restart", {**params, "name": "upgrade"}, BROKERS, 30, 1).to_pylist()
    assert [(row["broker"], row["from_round"], row["to_round"]) for row in rows] == [(5, 0, 20), (3, 20, 30)]
    assert {row["name"] for row in rows} == {"upgrade"}


def test_rolling_kills_of_two_at_once() -> None:
    """5 and 3 in rounds 10 to 29, then, 5 rounds later, 4 alone."""
    params = {"from_round": 10, "down_rounds": 20, "pause_between_rounds": 5, "brokers": [5, 3, 4]}
    rows = generate("rolling_restart", {**params, "brokers_at_once": 2, "fault": "power_loss"}, BROKERS, 100, 1).to_pylist()
    assert [(row["broker"], row["from_round"], row["to_round"]) for row in rows] == [(5, 10, 30), (3, 10, 30), (4, 35, 55)]
    assert {row["kind"] for row in rows} == {"power_loss"}
    assert {row["kind"] for row in generate("rolling_restart", params, BROKERS, 100, 1).to_pylist()} == {"controlled_shutdown"}


def test_random_failures_are_brokers_lost_for_good_at_once() -> None:
    params = {"count": 2, "from_round": 7, "fault": "disk_loss", "brokers": [5, 3, 4], "name": "lost"}
    rows = generate("random_failures", params, BROKERS, 30, 1).to_pylist()
    assert {(row["kind"], row["from_round"], row["to_round"], row["name"]) for row in rows} == {("disk_loss", 7, 30, "lost")}
    assert len({row["broker"] for row in rows} & {3, 4, 5}) == len(rows) == 2
    assert generate("random_failures", {**params, "from_round": 30}, BROKERS, 30, 1).num_rows == 0


def test_nothing_to_draw() -> None:
    assert generate("independent_crashes", {"mtbf_rounds": 1}, BROKERS, 0, 1).num_rows == 0
    assert generate("rack_outages", {"mtbf_rounds": 1}, [(1, None)], 100, 1).num_rows == 0
    assert generate("independent_crashes", {"mtbf_rounds": 2.0**62}, BROKERS, 100, 1).num_rows == 0


@pytest.mark.parametrize("fault", BROKER_STATE_KINDS)
@pytest.mark.parametrize("kind", ["independent_crashes", "rack_outages"])
@pytest.mark.parametrize(
    "durations",
    [
        {},
        {"mean_duration_rounds": 1e-9},
        {"mean_duration_rounds": 2.0**62},
        {"duration_rounds_min": 4},
        {"duration_rounds_max": 4},
        {"duration_rounds_min": 4, "duration_rounds_max": 2**62},
    ],
)
def test_valid_shapes_never_fail(kind: str, fault: str, durations: dict[str, Any]) -> None:
    params = {"mtbf_rounds": 1e-9, "fault": fault, "name": None, **durations}
    assert parameter_problems(kind, params, BROKERS) == []
    rows = generate(kind, params, BROKERS, 40, 2**70)
    broker_timelines(rows, BROKERS, 40, 3)


@pytest.mark.parametrize(
    ("kind", "params", "parameter"),
    [
        ("meteors", {}, "generator"),
        ("independent_crashes", {}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": 0}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": float("nan")}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": float("inf")}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": True}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": "5"}, "mtbf_rounds"),
        ("independent_crashes", {"mtbf_rounds": 5, "mtbf": 5}, "mtbf"),
        ("independent_crashes", {"mtbf_rounds": 5, "fault": "link_cut"}, "fault"),
        ("independent_crashes", {"mtbf_rounds": 5, "brokers": [1, 77]}, "brokers"),
        ("independent_crashes", {"mtbf_rounds": 5, "brokers": [1, 1]}, "brokers"),
        ("independent_crashes", {"mtbf_rounds": 5, "brokers": []}, "brokers"),
        ("independent_crashes", {"mtbf_rounds": 5, "duration_rounds_min": 1.5}, "duration_rounds_min"),
        (
            "independent_crashes",
            {"mtbf_rounds": 5, "duration_rounds_min": 3, "duration_rounds_max": 2},
            "duration_rounds_max",
        ),
        (
            "independent_crashes",
            {"mtbf_rounds": 5, "duration_rounds_min": 3, "mean_duration_rounds": 2},
            "mean_duration_rounds",
        ),
        ("independent_crashes", {"mtbf_rounds": 5, "from_round": 3, "to_round": 2}, "to_round"),
        ("rack_outages", {"mtbf_rounds": 5, "racks": ["nowhere"]}, "racks"),
        ("rolling_restart", {"down_rounds": 0}, "down_rounds"),
        ("random_failures", {"count": 0}, "count"),
        ("random_failures", {"count": 2, "brokers": [1]}, "count"),
        ("random_failures", {"count": 1, "draw": -1}, "draw"),
        ("rolling_restart", {"down_rounds": 1, "pause_between_rounds": -1}, "pause_between_rounds"),
    ],
)
def test_problems_name_the_parameter(kind: str, params: dict[str, Any], parameter: str) -> None:
    assert [name for name, _ in parameter_problems(kind, params, BROKERS)] == [parameter]
    with pytest.raises(ValueError, match=parameter):
        generate(kind, params, BROKERS, 100, 1)


def test_defaults_are_valid_values() -> None:
    for kind, generator in GENERATORS.items():
        defaults = {name: parameter.default for name, parameter in generator.parameters.items()}
        required = {name: 5 for name, parameter in generator.parameters.items() if parameter.required}
        assert parameter_problems(kind, {**defaults, **required}, BROKERS) == []


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("independent_crashes", {"mtbf_rounds": 500}),
        ("rack_outages", {"mtbf_rounds": 500, "fault": "power_loss"}),
        ("random_failures", {"count": 3}),
    ],
)
def test_moments_are_drawn_on_request_and_change_nothing_else(kind: str, params: dict[str, Any]) -> None:
    without = generate(kind, params, BROKERS, ROUNDS, 5)
    drawn = generate(kind, {**params, "moments": True}, BROKERS, ROUNDS, 5)
    assert drawn.drop_columns("moment").equals(without.drop_columns("moment"))
    assert without.column("moment").null_count == without.num_rows
    moments = drawn.column("moment").to_pylist()
    assert all(0 <= moment < 1 for moment in moments)
    if kind == "independent_crashes":  # uniform: 3,800 of them
        assert abs(sum(moments) / len(moments) - 0.5) < 4 * (1 / 12) ** 0.5 / len(moments) ** 0.5
        assert abs(sum(moment < 0.1 for moment in moments) / len(moments) - 0.1) < 4 * 0.3 / len(moments) ** 0.5


def test_only_faults_that_kill_a_broker_have_a_moment() -> None:
    for kind in BROKER_STATE_KINDS:
        params = {"mtbf_rounds": 500, "fault": kind, "moments": True}
        moments = generate("independent_crashes", params, BROKERS, 5000, 5).column("moment")
        assert (moments.null_count == 0) == (kind in ("broker_crash", "power_loss", "disk_loss")), kind
