"""What a user may ask for, and what is refused."""

from __future__ import annotations

import re

import pytest

from emulator.errors import InputError
from emulator.explain.reading import check_partition, choose_rounds, choose_scenario
from emulator.explain.rounds import parse_rounds

SCENARIOS = [{"scenario_id": number, "name": name, "rounds": 30} for number, name in enumerate(("base", "kip279", "1"))]
TOPICS = [{"topic": "orders", "last": 7}, {"topic": "pay", "last": 0}]


@pytest.mark.parametrize(("text", "rounds"), [("3-12", (3, 12)), ("7", (7, 7)), (" 0 - 1 ", (0, 1))])
def test_rounds(text: str, rounds: tuple[int, int]) -> None:
    assert parse_rounds(text) == rounds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", '--rounds: "" is no range of rounds; allowed: A-B, both included, or A, as in 10-25'),
        ("a-b", '"a-b" is no range of rounds'),
        ("-5", '"-5" is no range'),
        ("3-", '"3-" is no range'),
        ("1-2-3", "is no range"),
        ("1" * 30, "is no range"),
        ("9-3", '--rounds: "9-3" ends before it begins; allowed: A-B with A up to B'),
    ],
)
def test_wrong_rounds(text: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        parse_rounds(text)


def test_rounds_of_a_scenario() -> None:
    assert choose_rounds(SCENARIOS[0], None) == (0, 29)
    assert choose_rounds(SCENARIOS[0], (29, 29)) == (29, 29)
    message = "--rounds: round 30 was not emulated in scenario base; allowed: 0 to 29"
    with pytest.raises(InputError, match=re.escape(message)):
        choose_rounds(SCENARIOS[0], (10, 30))


@pytest.mark.parametrize(("wanted", "number"), [(None, 0), ("base", 0), ("kip279", 1), ("0", 0), ("1", 2), ("2", 2)])
def test_scenarios_by_name_and_by_id(wanted: str | None, number: int) -> None:
    assert choose_scenario(SCENARIOS, wanted)["scenario_id"] == number


def test_the_only_scenario_is_chosen() -> None:
    assert choose_scenario(SCENARIOS[1:2], None) is SCENARIOS[1]


def test_unknown_scenario() -> None:
    message = '--scenario: no scenario is called "kip297" (did you mean "kip279"?); allowed: base (0), kip279 (1), 1 (2)'
    with pytest.raises(InputError, match=re.escape(message)):
        choose_scenario(SCENARIOS, "kip297")


def test_of_many_scenarios_some_are_named() -> None:
    many = [{"scenario_id": at, "name": f"acks = all, segment.bytes = {at}" if at else "base"} for at in range(14)]
    with pytest.raises(InputError) as caught:
        choose_scenario(many, "foo")
    message = str(caught.value)
    assert 'allowed: base (0), "acks = all, segment.bytes = 1" (1), ' in message
    assert message.endswith('"acks = all, segment.bytes = 9" (9) and 4 more')


@pytest.mark.parametrize(
    ("topic", "partition", "says"),
    [
        ("order", 0, '--topic: no topic is called "order" (did you mean "orders"?); allowed: orders, pay'),
        ("orders", 8, "--partition: 8 is not a partition of orders; allowed: 0 to 7"),
        ("orders", -1, "--partition: -1 is not a partition of orders; allowed: 0 to 7"),
    ],
)
def test_unknown_partitions(topic: str, partition: int, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        check_partition(TOPICS, topic, partition)
