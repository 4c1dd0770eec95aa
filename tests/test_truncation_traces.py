"""What a follower cuts, from given logs on and in the shortest traces of the specifications, in every generation of Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given_logs import Given, given_logs
from tests.truncation_cases import (
    HIGH_WATERMARK,
    KAFKA,
    KIP101,
    KIP279,
    MIXED_UP,
    OF_THE_ISR,
    STRONG_ISR,
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

SCENARIOS = Path(__file__).parent / "scenarios" / "truncation"

# A to G: the cases of Vanlightly's kip-966 description, 3_log_divergence.md. "two-questions", "first-entry": KIP-279 and
# PR #5678. KAFKA-7414: a follower is above its leader's LEO, with its high watermark as well. KAFKA-10706: epochs without
# records differ, and a cut that cuts no record must drop them, or the follower never gets on.
GIVEN = {
    "A": Given("0-3 e1, e2", "0-1 e1"),
    "B": Given("0-1 e1, 2-3 e2, e3", "0-1 e1"),
    "C": Given("0-1 e1, e2", "0-3 e1"),
    "D": Given("0-1 e1, e3", "0-1 e1, 2-3 e2"),
    "E": Given("0-1 e1, 2-3 e3, e4", "0-1 e1, 2-3 e2"),
    "F": Given("0-1 e1, e3", "0 e1, 1-2 e2"),
    "G": Given("0 e1, 1 e3, e4", "0 e2"),
    "two-questions": Given("0-3 e0, 4-5 e1, 6-7 e3", "0-3 e0, 4-7 e2"),
    "first-entry": Given("10-19 e5", "0-11 e4", leader_hw=10, follower_hw=6),
    "KAFKA-7414": Given("0-4 e0", "0-7 e0", leader_hw=5, follower_hw=8),
    "KAFKA-10706": Given("0-9 e0, e2", "0-9 e0, e1", leader_hw=10, follower_hw=10, appends_in_round=3),
}

# Where the follower cuts first, in the order of the columns; None: it cuts nothing. The first column is the source's. KIP-101
# does not cut far enough in F, and not at all in G; high watermarks cut too much, which costs a copy each time.
CUTS: dict[str, tuple[int | None, ...]] = {
    #                kafka, kip279, kip101, high-watermark
    "A": (None, None, None, 0),
    "B": (None, None, None, 0),
    "C": (2, 2, 2, 0),
    "D": (2, 2, 2, 0),
    "E": (2, 2, 2, 0),
    "F": (1, 1, 2, 0),
    "G": (0, 0, None, 0),
    "two-questions": (4, 4, 6, 0),
    "first-entry": (10, 10, 10, 6),
    "KAFKA-7414": (5, 5, 5, 5),
    "KAFKA-10706": (None, None, None, None),
}

TOLD: Told = {
    "given_logs": {
        "A": {
            "kafka kip279 kip101": alike("0-3 e1", 1, 2),
            "high-watermark": alike("0-3 e1", 1, 2, truncated=2),
        },
        "B": {
            "kafka kip279 kip101": alike("0-1 e1, 2-3 e2", 1, 2),
            "high-watermark": alike("0-1 e1, 2-3 e2", 1, 2, truncated=2),
        },
        "C": {
            "kafka kip279 kip101": alike("0-1 e1", 1, 2, truncated=2),
            "high-watermark": alike("0-1 e1", 1, 2, truncated=4),
        },
        "D": {
            "kafka kip279 kip101": alike("0-1 e1", 1, 2, truncated=2),
            "high-watermark": alike("0-1 e1", 1, 2, truncated=4),
        },
        "E": {
            "kafka kip279 kip101": alike("0-1 e1, 2-3 e3", 1, 2, truncated=2),
            "high-watermark": alike("0-1 e1, 2-3 e3", 1, 2, truncated=4),
        },
        "F": {
            "kafka kip279": alike("0-1 e1", 1, 2, truncated=2),
            "kip101": End({1: "0-1 e1", 2: "0 e1, 1 e2"}, truncated=1, diverged=("1 and 2: 1",), broken=OF_THE_ISR),
            "high-watermark": alike("0-1 e1", 1, 2, truncated=3),
        },
        "G": {
            "kafka kip279 high-watermark": alike("0 e1, 1 e3", 1, 2, truncated=1),
            "kip101": End({1: "0 e1, 1 e3", 2: "0 e2, 1 e3"}, diverged=("1 and 2: 0",), broken=MIXED_UP),
        },
        "two-questions": {
            "kafka kip279": alike("0-3 e0, 4-5 e1, 6-7 e3", 1, 2, truncated=4),
            "kip101": End(
                {1: "0-3 e0, 4-5 e1, 6-7 e3", 2: "0-3 e0, 4-5 e2, 6-7 e3"},
                truncated=2,
                diverged=("1 and 2: 4-5",),
                broken=MIXED_UP,
            ),
            "high-watermark": alike("0-3 e0, 4-5 e1, 6-7 e3", 1, 2, truncated=8),
        },
        "first-entry": {
            "kafka kip279 kip101": alike("10-19 e5", 1, 2, truncated=2),
            "high-watermark": alike("10-19 e5", 1, 2, truncated=12),
        },
        "KAFKA-7414": {
            "kafka kip279 kip101 high-watermark": alike("0-4 e0", 1, 2, truncated=3),
        },
        "KAFKA-10706": {
            "kafka kip279 kip101 high-watermark": alike("0-9 e0, 10 e2", 1, 2),
        },
    },
    "truncate_to_high_watermark": {
        "log": {
            "kafka": End({1: "0 e2", 2: ""}),
            "kip279 kip101": alike("0 e2", 1, 2),
            "high-watermark": End({1: "0 e2", 2: ""}, truncated=1, broken=OF_THE_ISR),
        },
    },
    "two_epochs": {
        "log": {
            "kafka": End({1: "0 e0", 2: "", 3: "0 e0"}, outside=(2,)),
            "kip279 kip101 high-watermark": End({1: "0 e0", 2: "", 3: "0 e0"}, broken=frozenset({STRONG_ISR})),
        },
    },
    "kip101": {
        "log": {
            "kafka kip279": alike("0 e0", 1, 2, truncated=1),
            "kip101": End({1: "0 e0", 2: ""}, truncated=2, broken=OF_THE_ISR),
            "high-watermark": alike("0 e0", 1, 2, truncated=2, broken=OF_THE_ISR),
        },
    },
    "worked_divergence": {
        "log": {
            "kafka kip279 kip101 high-watermark": alike("0 e0, 1 e1", 1, 2, 3, truncated=1, acked_lost=1),
        },
    },
}

# News that comes late, and in the wrong order: `lag_rounds` of stale_metadata (docs/kafka_rounds.md, "Late news").
# "first-try" is the nearest to Kip320FirstTry: `kafka` without the check of epochs in fetches.
TOLD_LATE: Told = {
    "kip279_late": {
        "log": {
            "kafka": End({1: "0 e2", 2: "", 3: ""}, outside=(2, 3)),
            "kip279 kip101 high-watermark first-try": End(
                {1: "0 e2", 2: "", 3: ""}, truncated=1, outside=(2,), broken=OF_THE_ISR
            ),
        },
    },
}
NEWS_CAN_BE_LATE = True
"""Whether stale_metadata takes `lag_rounds`."""

TRACES = [name for told in (TOLD, TOLD_LATE if NEWS_CAN_BE_LATE else {}) for name in told if name != "given_logs"]
ENDS = by_place(TOLD) | (by_place(TOLD_LATE) if NEWS_CAN_BE_LATE else {})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    given = tmp_path_factory.mktemp("given") / "given_logs.toml"
    given.write_text(given_logs(GIVEN))
    return [given, *(SCENARIOS / f"{name}.toml" for name in TRACES)]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, files: Iterable[Path], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All of them, in one run."""
    return play(spark, files, tmp_path_factory.mktemp("traces") / "out")


@pytest.fixture(scope="module")
def reference(files: Iterable[Path]) -> dict[Place, End]:
    return reference_ends(files)


@pytest.mark.parametrize("place", ENDS, ids="/".join)
def test_the_reference_ends_as_told(reference: dict[Place, End], place: Place) -> None:
    assert reference[place] == ENDS[place]


@pytest.mark.parametrize("place", ENDS, ids="/".join)
def test_a_case_ends_as_told(seen: Seen, place: Place) -> None:
    assert seen.ends[place] == ENDS[place]._replace(broken=frozenset())
    check_broken(seen, place, ENDS[place])


@pytest.mark.parametrize("case", CUTS)
def test_where_a_follower_cuts(seen: Seen, case: str) -> None:
    cuts = [seen.truncations["given_logs", case, variant] for variant in (KAFKA, KIP279, KIP101, HIGH_WATERMARK)]
    assert tuple(cut[0][3] if cut else None for cut in cuts) == CUTS[case]


def test_every_round_is_that_of_the_reference(seen: Seen) -> None:
    assert not seen.differing
