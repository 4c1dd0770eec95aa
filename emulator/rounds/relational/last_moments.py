"""Which partitions may have last moments (docs/kafka_rounds.md), which these rounds don't play.

A leader whose broker dies has some if it appends anything until then. Who leads follows from the rounds; of inputs alone follows
whose replicas' deaths could have any: for most partitions the draw says none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from emulator.faults.timeline import BrokerSegment
from emulator.rounds.kafka.last_moments import DRAW_BITS, drawn, draws_of_seed
from emulator.rounds.kafka.moments import MOMENTS, NOT_GIVEN
from emulator.scenario import Scenario

from .inputs import RunInputs
from .work import records_in


def may_have_last_moments(inputs: RunInputs, pids: Collection[int]) -> dict[int, int]:
    """By pid, of these partitions, the first round in which a replica's broker dies that would append something, if it led."""
    rows_of: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in inputs.workload.to_pylist():
        rows_of[row["workload_id"]].append(row)
    homes: dict[int, list[int]] = defaultdict(list)
    for pid, broker in zip(inputs.homes["pid"].to_pylist(), inputs.homes["broker"].to_pylist(), strict=True):
        homes[pid].append(broker)
    first_of_scenario: dict[int, int] = {}
    deaths_of = {s: {b: list(_deaths(of)) for b, of in timeline.items()} for s, timeline in inputs.timelines.items()}
    found = {}
    for place in inputs.places:
        scenario, deaths = place.scenario, deaths_of[place.scenario.scenario_id]
        first = first_of_scenario.setdefault(scenario.scenario_id, place.first_pid)
        for partition, workload_id in enumerate(place.workload_id.tolist()):
            pid = place.first_pid + partition
            if pid not in pids:
                continue
            of_replicas = [death for broker in homes[pid] for death in deaths[broker]]
            rounds = [d.from_round for d in of_replicas if _appends(scenario, pid - first, d, rows_of[workload_id])]
            if rounds:
                found[pid] = min(rounds)
    return found


def _deaths(segments: Sequence[BrokerSegment]) -> Iterator[BrokerSegment]:
    """The segments in which a broker that ran is killed; they begin with it."""
    ran = True
    for segment in segments:
        if ran and segment.moment is not None:
            yield segment
        ran = not segment.offline and not segment.paused


def _appends(scenario: Scenario, number: int, death: BrokerSegment, rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a leader that dies so appends anything more: what is brought, or as much as followers may lack of it."""
    moment = death.moment or 0
    at = max(moment, 0)
    round_trip_us = max([scenario.fetching.round_trip_us, *(trip_us for _, trip_us in death.far_to)])
    lag_us = 0 if scenario.fetching.per_round else round_trip_us
    whole_us = 2 * scenario.round_ms * 1000
    part = drawn(draws_of_seed(scenario.seed), number, death.from_round)
    for row in rows:
        if not row["from_round"] <= death.from_round < row["to_round"]:
            continue
        if moment == NOT_GIVEN and not row["acked_on_append"]:
            continue
        records = records_in(row, death.from_round)
        lacking = (records * lag_us * 2**DRAW_BITS + part * whole_us) // (whole_us * 2**DRAW_BITS)
        if records and (records * at // MOMENTS > 0 or lacking > 0):
            return True
    return False
