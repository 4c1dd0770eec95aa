"""Lists of throttled replicas, as Kafka's configuration has them."""

from __future__ import annotations

import pytest

from emulator.scenario.configs import find_problem
from emulator.scenario.throttles import brokers_by_partition


def test_brokers_of_a_partition() -> None:
    assert brokers_by_partition("0:1,0:2,3:1") == {0: (1, 2), 3: (1,)}
    assert brokers_by_partition("*") == {}


@pytest.mark.parametrize("text", ["0", "0:1,", "a:1", "0:1;0:2", "**", "-1:2"])
def test_other_texts_are_refused(text: str) -> None:
    problem = find_problem("leader.replication.throttled.replicas", text, for_topic=True)
    assert problem is not None
    assert problem[1] == 'a list such as "0:1,0:2" (partition:broker), or "*"'


@pytest.mark.parametrize("text", ["", "*", "0:1", "0:1,17:200"])
def test_lists_are_taken(text: str) -> None:
    assert find_problem("follower.replication.throttled.replicas", text, for_topic=True) is None
