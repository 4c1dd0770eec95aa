"""Compiled rounds against the plain-Python reference on random cases: trace, events and outcomes are equal. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reference.kafka import simulate
from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import cases_of, random_batch, to_toml
from tests.reference.rules import MUTANTS, checked_once
from tests.reference.tiered.simulate import simulate as simulate_with_segments
from tests.rounds.kafka.compared import Played, all_known, differences, played, scenarios_of, with_protocol

SEGMENT_COLUMNS, SEGMENT_KINDS = ("local_segments", "local_bytes"), ("segment_roll", "local_delete", "topic_deleted")
VARIANTS = ("kafka-high-watermark", "kafka-kip101", "kafka-kip279")
NOT_OF_KAFKA = {
    # T removes a follower and has it join again before the controller took either: Kafka has one request in flight.
    ("join-without-high-watermark", 57): ("hw",),
    # The reference counts no bytes of a response that comes late; they went over the network all the same.
    ("response-after-epoch-moved", 87): ("replicated_bytes",),
}
"""Cases of mutants in which no source decides: columns that may differ."""
OTHER_NAMES = {"hw-below-min-isr": "high-watermark-below-min-isr"}


def assert_equal(
    folder: Path,
    batch: Mapping[str, Any],
    protocol: str = "kafka",
    given: Mapping[str, Any] | None = None,
    has_segments: bool = False,
) -> Played:
    """All cases of a batch, their segments as well where the reference `has_segments`; `given` goes into each of its cases.

    Kafka as it is breaks no invariant, but in cases that begin with logs which break it.
    """
    run = scenarios_of(to_toml(batch), folder)
    if protocol != "kafka":
        run = with_protocol(run, protocol)
    game = played(run.scenarios)
    known = all_known(game)
    differing = {}
    begin_otherwise = {place for place, case in enumerate(batch["cases"]) if case["initial"] is not None}
    violations = game.told.violations[np.asarray(game.told.violations["is_suspect"]) == 0]
    assert protocol != "kafka" or set(violations["partition"].tolist()) <= begin_otherwise
    states = ("fetch_state",) if protocol in VARIANTS else ()
    columns, kinds = (SEGMENT_COLUMNS, SEGMENT_KINDS) if has_segments else (states, ())
    simulated = simulate_with_segments if has_segments else simulate
    for place, case in enumerate(cases_of(batch)):
        found = differences(simulated({**case, **(given or {})}), game, place, known, columns, kinds)
        known_of = NOT_OF_KAFKA.get((protocol.removeprefix("kafka-mutant-"), place), ())
        found = [difference for difference in found if difference[0] not in known_of]
        if found:
            differing[place] = found[:5]
    assert not differing, f"{len(differing)} cases differ: {dict(list(differing.items())[:3])}"
    return game


@pytest.mark.parametrize(("seed", "cases"), [(0, 200), (1, 200), (2, 100), (3, 100)])
def test_kafka(tmp_path: Path, seed: int, cases: int) -> None:
    assert_equal(tmp_path, random_batch(seed, cases))


@pytest.mark.parametrize("flusher_rounds", [1, 4])
def test_flushes_by_the_flusher(tmp_path: Path, flusher_rounds: int) -> None:
    """Logs of flush.ms of 1, 4 and 15 rounds and of none, looked at in every round or in every fourth."""
    batch = random_batch(17, 40)
    cluster = batch["cluster"]
    cluster["config"]["log.flush.scheduler.interval.ms"] = flusher_rounds * cluster["round_ms"]
    assert_equal(tmp_path, batch)


@pytest.mark.parametrize("seed", [40, 41, 42, 43, 44, 45])
def test_periods_that_rounds_do_not_divide(tmp_path: Path, seed: int) -> None:
    assert_equal(tmp_path, random_batch(seed, 40, uneven=True))
    assert_equal(tmp_path, random_batch(seed + 30, 30, elr=True, late_news=True, moments=True, uneven=True))


@pytest.mark.parametrize("seed", [99, 300])
def test_eligible_leaders(tmp_path: Path, seed: int) -> None:
    assert_equal(tmp_path, random_batch(seed, 150, elr=True))


@pytest.mark.parametrize("seed", [100, 101])
def test_late_news(tmp_path: Path, seed: int) -> None:
    assert_equal(tmp_path, random_batch(seed, 100, late_news=True))
    assert_equal(tmp_path, random_batch(seed, 50, elr=True, late_news=True))


def test_last_moments_with_one_fetch_a_round(tmp_path: Path) -> None:
    assert_equal(tmp_path, random_batch(32, 100, moments=True))
    assert_equal(tmp_path, random_batch(61, 30, elr=True, late_news=True, moments=True))


@pytest.mark.parametrize("seed", [1, 2, 3, 11])
def test_several_fetches_a_round_and_last_moments(tmp_path: Path, seed: int) -> None:
    """So many, or as many as fit, over links some of which are far; leaders die at some moment of a round."""
    assert_equal(tmp_path, random_batch(seed, 50, fetching=True, moments=True))
    assert_equal(tmp_path, random_batch(seed + 20, 50, elr=True, late_news=True, fetching=True, moments=True))


@pytest.mark.parametrize(("seed", "protocol"), list(zip((14, 15, 16), VARIANTS, strict=True)))
def test_several_fetches_and_last_moments_of_older_generations(tmp_path: Path, seed: int, protocol: str) -> None:
    assert_equal(tmp_path, random_batch(seed, 50, fetching=True, moments=True), protocol, {"protocol": protocol})


@pytest.mark.parametrize(
    ("seed", "protocol", "layers"),
    [
        (81, "kafka", ("elr", "fetching", "moments", "reassigned", "uneven", "seldom", "limits", "rates")),
        (
            136,
            "kafka",
            ("elr", "late_news", "reassigned", "uneven", "cut_racks", "limits", "retained"),
        ),  # log starts, power losses
        (82, "kafka", ("fetching", "moments", "reassigned", "cut_racks", "seldom", "retained", "deleted", "rates")),
        (105, "kafka-high-watermark", ("late_news", "reassigned", "uneven", "rates")),  # cut by who was elected already
        (83, "kafka-kip279", ("late_news", "fetching", "moments", "reassigned", "seldom", "limits", "rates")),
    ],
)
def test_layers_upon_layers(tmp_path: Path, seed: int, protocol: str, layers: tuple[str, ...]) -> None:
    given = {} if protocol == "kafka" else {"protocol": protocol}
    assert_equal(tmp_path, layered_batch(seed, 30, *layers), protocol, given, "retained" in layers)


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_racks_that_are_cut_off(tmp_path: Path, seed: int) -> None:
    assert_equal(tmp_path, random_batch(seed, 60, cut_racks=True))
    assert_equal(tmp_path, random_batch(seed + 20, 60, elr=True, late_news=True, moments=True, cut_racks=True))


@pytest.mark.parametrize("seed", [8, 12])
def test_last_moments_among_rack_mates(tmp_path: Path, seed: int) -> None:
    """A leader dies in a rack that is cut off, and a follower there has what it fetched until then: cases 8/9, 12/35, 12/44."""
    assert_equal(tmp_path, random_batch(seed, 50, fetching=True, moments=True, cut_racks=True))


def test_restart_while_the_leader_is_paused(tmp_path: Path) -> None:
    """Case 23: who asked to join, and restarts before its paused leader wakes, has asked as another broker (KIP-903)."""
    assert_equal(tmp_path, random_batch(99, 400, elr=True, late_news=True))


@pytest.mark.parametrize("protocol", VARIANTS)
def test_older_generations(tmp_path: Path, protocol: str) -> None:
    """Starts above 0, and bytes of logs that diverged, included."""
    assert_equal(tmp_path, random_batch(77, 150), protocol, {"protocol": protocol})
    assert_equal(tmp_path, random_batch(78, 100), protocol, {"protocol": protocol})


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants(tmp_path: Path, mutant: str) -> None:
    protocol = f"kafka-mutant-{OTHER_NAMES.get(mutant, mutant)}"
    assert_equal(tmp_path, random_batch(5, 100, elr=True), protocol, {"rules": checked_once(MUTANTS[mutant])})
