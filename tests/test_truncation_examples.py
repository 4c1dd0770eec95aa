"""The bundled examples of how Kafka's generations cut logs: each variant ends as the comment at the top of its file says.

What KIP-101, KIP-279 and the issues tell of, with these differences:

* KIP-101, scenario 1: a restarted follower is out of the ISR until it has caught up, so that it can't be elected cleanly as
  in the KIP. "scenario-1" lets a new epoch of the same leader make it cut; "scenario-1-restart" has the restart, and elects it
  uncleanly.
* KAFKA-7164: a protocol to which only a new leader counts (the bug) is not among the four; "learns-first" shows the cure.
* KAFKA-7128 breaks no StrongIsr: who leads has a high watermark of 0. The loss is seen when the next leader is elected.
* "three-failovers-batches", kafka-kip101: 4-5 are of epoch 2. They are shown as of epoch 0, since the cache dropped the entry
  of epoch 2 when records of epoch 1 came behind it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.truncation_cases import (
    MIXED_UP,
    OF_ELECTIONS,
    OF_THE_ISR,
    End,
    Place,
    Seen,
    Told,
    alike,
    by_place,
    check_broken,
    play,
    reference_ends,
)

EXAMPLES = Path(__file__).parents[1] / "datasets" / "examples"

TOLD: Told = {
    "kip_101": {
        "scenario-1": {
            "kafka kip279 kip101": alike("0-1 e0", 1, 2),
            "high-watermark": alike("0 e0", 1, 2, truncated=2, acked_lost=1, committed_lost=1, broken=OF_THE_ISR | OF_ELECTIONS),
        },
        "scenario-1-restart": {
            "kafka kip279 kip101": alike("0-1 e0", 3, 4),
            "high-watermark": alike("0 e0", 3, 4, truncated=2, acked_lost=1, committed_lost=1),
        },
        "scenario-2": {
            "kafka kip279 kip101": alike("0 e0, 1-2 e2", 5, 6, truncated=1, acked_lost=1, committed_lost=1),
            "high-watermark": End(
                {5: "0-1 e0, 2 e2", 6: "0 e0, 1-2 e2"}, acked_lost=1, committed_lost=1, diverged=("5 and 6: 1",), broken=MIXED_UP
            ),
        },
    },
    "kip_279": {
        "three-failovers": {
            "kafka kip279": alike("0-3 e0, 4-6 e1, 7-9 e3", 1, 2, truncated=2),
            "kip101": End({1: "0-3 e0, 4-6 e1, 7-9 e3", 2: "0-3 e0, 4-5 e2"}, outside=(2,)),
            "high-watermark": alike("0-3 e0, 4-6 e3", 1, 2, truncated=5),
        },
        "three-failovers-batches": {
            "kafka kip279": alike("0-3 e0, 4-6 e1, 7-9 e3", 3, 4, truncated=2),
            "kip101": End({3: "0-3 e0, 4-6 e1, 7-9 e3", 4: "0-5 e0, 6 e1, 7-9 e3"}, diverged=("3 and 4: 4-5",), broken=MIXED_UP),
            "high-watermark": alike("0-3 e0, 4-6 e3", 3, 4, truncated=5),
        },
        "no-write": {
            "kafka kip279": alike("0 e0", 5, 6, truncated=1),
            "kip101": alike("", 5, 6, truncated=3, acked_lost=1, committed_lost=1, broken=OF_THE_ISR | OF_ELECTIONS),
            "high-watermark": alike("0 e0", 5, 6, truncated=3, broken=OF_THE_ISR),
        },
    },
    "kafka_6361": {
        "n15": {
            "kafka kip279": alike("0-20 e0, 21-30 e2", 1, 2, truncated=5, acked_lost=5),
            "kip101": End({1: "0-20 e0, 21-30 e2", 2: "0-10 e0, 11-15 e1"}, acked_lost=5, outside=(2,)),
            "high-watermark": alike("0-10 e0, 11-20 e2", 1, 2, truncated=15, acked_lost=15),
        },
        "n20": {
            "kafka kip279": alike("0-20 e0, 21-30 e2", 1, 2, truncated=10, acked_lost=10),
            "kip101": End(
                {1: "0-20 e0, 21-30 e2", 2: "0-10 e0, 11-20 e1, 21-30 e2"},
                acked_lost=10,
                diverged=("1 and 2: 11-20",),
                broken=MIXED_UP,
            ),
            "high-watermark": alike("0-10 e0, 11-20 e2", 1, 2, truncated=20, acked_lost=20),
        },
        "n25": {
            "kafka kip279 kip101": alike("0-20 e0, 21-30 e2", 1, 2, truncated=15, acked_lost=15),
            "high-watermark": alike("0-10 e0, 11-20 e2", 1, 2, truncated=25, acked_lost=25),
        },
    },
    "kafka_6880": {
        "events": {
            "kafka": alike("0-39 e0, 40-59 e1", 1, 2, 3, truncated=20),
            "kip279 kip101": End(
                {1: "0-39 e0, 40-59 e1", 2: "0-49 e0, 50-59 e1", 3: "0-39 e0, 40-59 e1"},
                truncated=10,
                diverged=("1 and 2: 40-49", "2 and 3: 40-49"),
                broken=MIXED_UP,
            ),
            "high-watermark": End(
                {1: "0-39 e0, 40-59 e1", 2: "0-49 e0, 50-59 e1", 3: "0-39 e0, 40-59 e1"},
                truncated=20,
                diverged=("1 and 2: 40-49", "2 and 3: 40-49"),
                broken=MIXED_UP,
            ),
        },
    },
    "kafka_7128": {
        "events": {
            "kafka": alike("0 e0", 1, 2, 3),
            "kip279 kip101 high-watermark": alike("", 1, 2, 3, truncated=2, acked_lost=1, committed_lost=1, broken=OF_ELECTIONS),
        },
    },
    "kafka_7164": {
        "learns-first": {
            "kafka kip279 kip101 high-watermark": alike("0 e2", 1, 2, 3, truncated=2),
        },
        "fetches-first": {
            "kafka": alike("0 e2", 4, 5, 6, truncated=2),
            "kip279 kip101": alike("0 e2", 4, 5, 6, truncated=2, broken=OF_THE_ISR),
            "high-watermark": End(
                {4: "0 e2", 5: "0 e2", 6: "0 e0"}, truncated=1, diverged=("4 and 6: 0", "5 and 6: 0"), broken=OF_THE_ISR
            ),
        },
    },
}
ENDS = by_place(TOLD)
FILES = [EXAMPLES / f"{name}.toml" for name in TOLD]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Every scenario of every example, in one run."""
    return play(spark, FILES, tmp_path_factory.mktemp("examples") / "out")


@pytest.fixture(scope="module")
def reference() -> dict[Place, End]:
    return reference_ends(FILES)


def test_every_example_is_here() -> None:
    of_truncation = ("kafka_*.toml", "kip_101*.toml", "kip_279*.toml", "kip_320*.toml")
    assert {path for names in of_truncation for path in EXAMPLES.glob(names)} == set(FILES)


@pytest.mark.parametrize("place", ENDS, ids="/".join)
def test_the_reference_ends_as_told(reference: dict[Place, End], place: Place) -> None:
    assert reference[place] == ENDS[place]


@pytest.mark.parametrize("place", ENDS, ids="/".join)
def test_an_example_ends_as_told(seen: Seen, place: Place) -> None:
    assert seen.ends[place] == ENDS[place]._replace(broken=frozenset())
    check_broken(seen, place, ENDS[place])


def test_every_round_is_that_of_the_reference(seen: Seen) -> None:
    assert not seen.differing
