"""How long a fetch of a follower takes, and what each of a round may bring (docs/kafka_rounds.md, Fetches of a round).

A follower fetches again as soon as it has appended a response (AbstractFetcherThread.doWork).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, ScenarioRow, Settings
from emulator.rounds.kafka.records import Replica
from emulator.rounds.slots import has

US_PER_SECOND = 1_000_000


@compiled_into_callers
def fetch_limit(settings: Settings, follower: Replica) -> int:
    """Bytes that a response brings of one partition, but for a larger first batch (ReplicaManager.readFromLog)."""
    of_partition = settings.fetch_max_bytes if follower.fetch_max_bytes == UNKNOWN else follower.fetch_max_bytes
    of_response = settings.response_max_bytes if follower.response_max_bytes == UNKNOWN else follower.response_max_bytes
    return min(of_partition, of_response)


@compiled
def fetch_us(inputs: Inputs, scenario: ScenarioRow, leader: Replica, follower: Replica, slot: int, size_bytes: int) -> int:
    """Microseconds of a fetch of a follower (`slot`) that brings so many bytes."""
    return round_trip_us(inputs, scenario, leader, follower, slot) + size_bytes * US_PER_SECOND // scenario.fetch_bytes_per_second


@compiled
def round_trip_us(inputs: Inputs, scenario: ScenarioRow, leader: Replica, follower: Replica, slot: int) -> int:
    """Microseconds of a fetch of a follower (`slot`) that brings next to nothing."""
    if has(leader.far_to, slot):
        span = inputs.spans[leader.span]
        for at in range(span.first_far, span.first_far + span.far_count):
            if inputs.links[at].peer == follower.broker_place:
                return inputs.links[at].number
    return scenario.round_trip_us
