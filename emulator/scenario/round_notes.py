"""What is said before a run of what takes longer than one of its rounds, and is over within one all the same (notes.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from emulator.errors import listing
from emulator.scenario.model import Scenario


def notes_of_rounds(scenario: Scenario) -> Iterator[str]:
    """The notes on what a scenario's rounds are too short, or too long, for."""
    yield from _round_trips(scenario)
    yield from _reader_threads(scenario)


def _round_trips(scenario: Scenario) -> Iterator[str]:
    """Round trips above a round: each round holds a fetch, and a crash takes along no more than a round's records.

    docs/kafka_rounds.md, Fetches of a round and Last moments. With `fetches_per_round` fetches take what the file says.
    """
    if scenario.fetching.per_round is not None:
        return
    longest = pc.max(scenario.faults.column("round_trip_ms")).as_py() or 0
    given = {"fetch_round_trip_ms": scenario.fetching.round_trip_us / 1000, "round_trip_ms of slow_link": longest}
    above = [f"{key} = {value:g}" for key, value in given.items() if value > scenario.round_ms]
    if above:
        yield (
            f"{listing(above)}: a fetch is over within its round of {scenario.round_ms} ms all the same, so followers catch up"
            " sooner, and a crash takes less along, than over such a link; rounds should be longer than round trips"
        )


def _reader_threads(scenario: Scenario) -> Iterator[str]:
    """A reader thread makes whole reads in a round, one at least (docs/consumer_rounds.md, a remote read)."""
    read_ms = scenario.remote_storage.read_ms
    if not scenario.consumers or not read_ms or scenario.round_ms % read_ms == 0:
        return
    reads = max(1, scenario.round_ms // read_ms)
    yield (
        f"read_ms = {read_ms}: a thread makes {reads} read{'s' if reads > 1 else ''} in a round of {scenario.round_ms} ms,"
        f" not {scenario.round_ms / read_ms:.2g}; rounds should be so many whole reads"
    )
