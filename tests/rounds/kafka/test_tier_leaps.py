"""Quiet rounds of tiered partitions that are leapt over give what they give when they are played. No Spark."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import InputError
from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.scenario import Scenario
from tests.reference.stretched import stretched
from tests.reference.tiered.additions import every_other
from tests.reference.tiered.given_states import given_schedule, with_late_metadata
from tests.reference.tiered.scenario_file import to_toml
from tests.reference.tiered.schedules import schedule, uneven
from tests.rounds.kafka.compared import Played, played, scenarios_of
from tests.rounds.kafka.test_leaps import differences, fields

BYTES = (
    "segment.bytes", "local.retention.bytes", "retention.bytes", "retention.ms", "remote.copy.lag.ms", "remote.copy.lag.bytes",
    "leader.election.eligible.local.log.ms", "leader.election.eligible.local.log.bytes", "segment.ms",
)  # fmt: skip
"""What grows with the time between faults where segments do."""
OF_A_STRETCH = ("seen_changes", "seen_losses", "seen_cache", "seen_segments", "seen_known")
"""Changes of lists that invariants were looked at by; they are counted from the start of a stretch."""
GIVEN = 1
"""The last of four seeds whose schedules begin with a state."""
QUOTA = "remote.log.manager.copy.max.bytes.per.second"
BUCKET_ROUNDS = 200


def with_larger_segments(config: dict[str, Any], factor: int) -> dict[str, Any]:
    return {key: value * factor if key in BYTES and value > 0 else value for key, value in config.items()}


def stretched_schedule(seed: int, factor: int, larger: bool, quotas: bool, layered: bool) -> dict[str, Any]:
    """A schedule with its rounds drawn apart; segments as they were or so much larger, with a copy quota or without.

    `layered`: every other with more laid over it, half of these with a state of the start.
    """
    case = schedule(seed)
    if layered:
        case = every_other(seed, with_late_metadata(given_schedule(seed), seed) if seed % 4 == GIVEN else case)
    case = drawn_out(case, factor, larger)
    if quotas:
        case["config"][QUOTA] = random.Random(seed).choice((20, 50, 100, 200, 400)) * (factor if larger and seed % 2 else 1)
    return case


def drawn_out(case: dict[str, Any], factor: int, larger: bool) -> dict[str, Any]:
    """A case with its rounds drawn apart; segments as they were or so much larger."""
    case = stretched(case, factor)
    if larger:
        case["topic_config"] = with_larger_segments(case["topic_config"], factor)
        for command in case["commands"]:
            if "config" in command:
                command["config"] = with_larger_segments(command["config"], factor)
    return case


def scenarios_of_schedules(
    seeds: Iterable[int],
    factor: int,
    larger: bool,
    folder: Path,
    quotas: bool = False,
    is_uneven: bool = False,
    layered: bool = False,
) -> list[Scenario]:
    """A scenario of each schedule; `is_uneven`: of rounds that divide no period; `layered`: some with more."""
    found = []
    for seed in seeds:
        case = stretched_schedule(seed, factor, larger, quotas, layered)
        case = uneven(seed, case) if is_uneven else case
        try:
            [scenario] = scenarios_of(to_toml(case), folder).scenarios
        except InputError:  # a delay that is longer than local retention
            continue
        found.append(replace(scenario, scenario_id=seed))
    return found


def tier_differences(plain: Played, leapt: Played) -> list[Any]:
    """What differs, fields of tiered storage included."""
    found: list[Any] = differences(plain, leapt)
    for record, of in ((TierPartition, "tier"), (TierReplica, "tiers")):
        for name in fields(record):
            left, right = getattr(plain.state, of)[name], getattr(leapt.state, of)[name]
            found += [(of, name, int(at), int(left[at]), int(right[at])) for at in np.flatnonzero(left != right)]
    return found


@pytest.mark.parametrize(
    ("seeds", "factor", "larger", "played_of"),
    [
        (range(200), 20, True, 2),
        (range(200, 300), 20, False, 1),
        (range(300, 400), 3, True, 1),
        (range(400, 440), 150, True, 3),
        ((15073, 15171), 20, True, 1),
        ((21270,), 20, False, 1),
    ],
    ids=[
        "long",
        "short segments",
        "dense",
        "very long",
        "closed by retention, cut off with the leader",
        "pending upload unknown",
    ],
)
def test_leaps_change_nothing(tmp_path: Path, seeds: Iterable[int], factor: int, larger: bool, played_of: int) -> None:
    scenarios = scenarios_of_schedules(seeds, factor, larger, tmp_path, layered=isinstance(seeds, range))
    plain = played(scenarios, traced=False, leaps=False, bucket_rounds=BUCKET_ROUNDS)
    leapt = played(scenarios, traced=False, leaps=True, bucket_rounds=BUCKET_ROUNDS)
    assert tier_differences(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() * played_of < plain.state.partitions["played"].sum()


@pytest.mark.parametrize(
    ("seeds", "factor"), [(range(700, 780), 20), (range(780, 860), 3), (range(860, 880), 150), ((15745,), 20)]
)
def test_leaps_where_rounds_divide_no_period(tmp_path: Path, seeds: Iterable[int], factor: int) -> None:
    scenarios = scenarios_of_schedules(seeds, factor, True, tmp_path, is_uneven=True, layered=isinstance(seeds, range))
    plain = played(scenarios, traced=False, leaps=False, bucket_rounds=BUCKET_ROUNDS)
    leapt = played(scenarios, traced=False, leaps=True, bucket_rounds=BUCKET_ROUNDS)
    assert tier_differences(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() < plain.state.partitions["played"].sum()


def test_copies_that_wait_for_their_quota(tmp_path: Path) -> None:
    scenarios = scenarios_of_schedules(range(500, 600), 20, True, tmp_path, quotas=True)
    plain = played(scenarios, traced=False, leaps=False, bucket_rounds=BUCKET_ROUNDS)
    leapt = played(scenarios, traced=False, leaps=True, bucket_rounds=BUCKET_ROUNDS)
    assert tier_differences(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() * 2 < plain.state.partitions["played"].sum()


def test_leaps_in_stretches(tmp_path: Path) -> None:
    """A run that stops and goes on from its state, wherever it is: what is proven is so within a stretch."""
    scenarios = scenarios_of_schedules(range(600, 680), 20, True, tmp_path)
    plain = played(scenarios, traced=False, leaps=False, bucket_rounds=BUCKET_ROUNDS)
    prepared = prepare(scenarios, {s.scenario_id: np.zeros(1, bool) for s in scenarios}, True, BUCKET_ROUNDS)
    block = read_block(prepared.block(np.arange(prepared.partition_count)))
    state, ends, events = block.state, block.state.partitions["end"].copy(), 0
    for part_of_run in (0.2, 0.37, 0.8, 1):
        partitions = state.partitions.copy()
        partitions["end"] = (ends * part_of_run).astype(np.int64)
        state, told = play(state._replace(partitions=partitions), block.inputs, block.traffic)
        events += len(told.events)
    found = tier_differences(plain, Played(block, state, plain.told))
    assert [row for row in found if row[1] not in OF_A_STRETCH][:5] == []
    assert events == len(plain.told.events)


def test_a_week_is_13_rounds_a_segment(tmp_path: Path) -> None:
    """Six policies over a week of 2 s rounds; the store is away for 20 minutes, a broker is replaced (tiering_policies.toml)."""
    text = Path("datasets/examples/tiering_policies.toml").read_text().replace("partitions = 1200", "partitions = 12")
    scenarios = scenarios_of(text, tmp_path).scenarios
    week = played(scenarios, traced=False, leaps=True, bucket_rounds=5_400)
    rounds_played, segments = week.state.partitions["played"], np.diff(week.state.remote.offsets)
    tiered = segments > 0
    assert week.state.partitions["now"].min() == scenarios[0].rounds
    assert segments[tiered].min() >= 139  # of a gigabyte, but for delayed ones and those of half as much
    # Bucket ends, faults and 40 tries while the store is away are rounds too.
    assert (rounds_played[tiered] / segments[tiered]).max() < 15
    assert rounds_played[~tiered].max() < 600


FOLLOWER_WAITS = """
name = "the store is away for an hour, and a broker comes back with an empty disk"
rounds = 9000
round_ms = 500
[cluster]
brokers = 3
[cluster.config]
"remote.log.storage.system.enable" = true
"remote.log.manager.task.retry.backoff.max.ms" = 3_600_000
"replica.fetch.backoff.ms" = 1500
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 100_000
"local.retention.bytes" = 200_000
[[workload]]
topic = "t"
records_per_round = 10
record_bytes = 100
[[faults]]
kind = "disk_loss"
broker = 3
from_round = 1500
to_round = 1550
[[faults]]
kind = "remote_storage_outage"
from_round = 1510
to_round = 8710
"""


@pytest.mark.parametrize("backoff_ms", [500, 1500])
@pytest.mark.parametrize("aux_state", ["remote", "leader"])
def test_what_only_tries_again_is_leapt_over(tmp_path: Path, backoff_ms: int, aux_state: str) -> None:
    """A follower asks in vain, every round or every third, for as long as the store is away."""
    text = FOLLOWER_WAITS.replace('fetch.backoff.ms" = 1500', f'fetch.backoff.ms" = {backoff_ms}')
    text += f'[remote_storage]\naux_state = "{aux_state}"\n'
    scenarios = scenarios_of(text, tmp_path).scenarios
    plain, leapt = (played(scenarios, traced=False, leaps=leaps, bucket_rounds=2000) for leaps in (False, True))
    assert tier_differences(plain, leapt)[:5] == []
    asked = int(leapt.state.tier["aux_requests"][0])
    assert asked > 7000 * 500 // backoff_ms if aux_state == "remote" else asked < 10
    assert leapt.state.partitions["played"].max() < 1000


WEEK = """
    name = "a week"
    rounds = 40_000
    round_ms = 2000
    [cluster]
    brokers = 3
    [cluster.config]
    "remote.log.storage.system.enable" = true
    [remote_storage]
    copy_bytes_per_second = 50_000_000
    [[topics]]
    name = "t"
    partitions = 1
    replication_factor = 3
    [topics.config]
    "remote.storage.enable" = true
    "local.retention.ms" = 7_200_000
    "retention.ms" = 36_000_000
    [[workload]]
    topic = "t"
    records_per_round = 1000
    record_bytes = 1000
"""


def test_a_segments_life_is_a_few_rounds(tmp_path: Path) -> None:
    """It begins, is copied, is heard of, leaves the disks and then the store: no round is played to see that all goes on."""
    scenarios = scenarios_of(WEEK, tmp_path).scenarios
    plain = played(scenarios, traced=False, leaps=False, bucket_rounds=BUCKET_ROUNDS * 50)
    leapt = played(scenarios, traced=False, leaps=True, bucket_rounds=BUCKET_ROUNDS * 50)
    assert tier_differences(plain, leapt)[:5] == []
    segments = int(leapt.state.tier["copy_requests"][0])
    assert segments > 30
    assert leapt.state.partitions["played"][0] < 12 * segments
