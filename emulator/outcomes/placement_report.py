"""`emulator compare DIR --report placement`: how likely failures lose data, from the placement and as emulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.errors import InputError
from emulator.graphs.copysets import Sets, copysets, loss_probability, sizes_of
from emulator.intervals import clopper_pearson
from emulator.outcomes.ask import Asker
from emulator.scenario.topics import pad_replicas

FOR_GOOD = ("power_loss", "broker_crash", "disk_loss")
"""Faults that take one broker; for good if they hold to the end of the run."""

TOLD_WITHOUT_TRIALS = (1, 2, 5)
"""Failures that a run in which nobody fails for good is told of, in sizes of its smallest copyset."""

PLACED = """
WITH held AS (
  SELECT scenario_id, (CAST(partition AS BIGINT) * 1000003 + r.broker * 7919 + 1) % 2147483647 AS mixed
  FROM partitions p
  LATERAL VIEW explode(p.replicas) r AS broker
  WHERE p.min_isr IS NOT NULL
),
again AS (SELECT scenario_id, (mixed * mixed + 12345) % 2147483647 AS mixed FROM held),
fingerprints AS (
  SELECT scenario_id, sum(mixed) AS fingerprint, sum((mixed * mixed + 67890) % 2147483647) AS another
  FROM again
  GROUP BY scenario_id
),
counts AS (SELECT scenario_id, count(*) AS partitions FROM partitions WHERE min_isr IS NOT NULL GROUP BY scenario_id)
SELECT c.scenario_id, s.name, b.brokers, c.partitions, f.fingerprint, f.another
FROM counts c
JOIN fingerprints f ON f.scenario_id = c.scenario_id
JOIN scenarios s ON s.scenario_id = c.scenario_id
JOIN (SELECT scenario_id, array_sort(collect_list(broker)) AS brokers FROM brokers GROUP BY scenario_id) b
  ON b.scenario_id = c.scenario_id
ORDER BY c.scenario_id
"""
"""Scenarios of partitions; those with the same fingerprints have their replicas on the same brokers.

A fingerprint is a sum over replicas of a number that is as good as drawn by partition and broker."""

COPYSETS = """
SELECT DISTINCT scenario_id, array_sort(replicas) AS copyset
FROM partitions
WHERE scenario_id IN ({})
ORDER BY scenario_id, copyset
"""

TRIALS = f"""
WITH trials AS (
  SELECT f.scenario_id, collect_set(f.broker) AS failed
  FROM faults f
  JOIN scenarios s ON s.scenario_id = f.scenario_id
  GROUP BY f.scenario_id
  HAVING count_if(NOT (f.kind IN {FOR_GOOD} AND coalesce(f.to_round >= s.rounds, true))) = 0
),
written AS (SELECT scenario_id FROM outcomes GROUP BY scenario_id HAVING max(hw) > 0 OR max(acked) > 0),
hit AS (
  SELECT o.scenario_id, o.topic, o.partition, o.hw, o.acked, o.acked_lost
  FROM outcomes o
  JOIN trials t ON t.scenario_id = o.scenario_id
  WHERE o.acked_lost > 0 OR o.leader = -1 OR array_contains(t.failed, o.leader)
),
held AS (
  SELECT h.scenario_id, h.topic, h.partition,
    first(h.acked_lost) > 0 OR coalesce(max(r.leo) FILTER (WHERE r.role <> 'offline'), 0) < first(h.hw)
      OR (first(h.acked) > 0 AND count_if(r.role <> 'offline') = 0) AS is_lost
  FROM hit h
  JOIN replicas r ON r.scenario_id = h.scenario_id AND r.topic = h.topic AND r.partition = h.partition
  GROUP BY h.scenario_id, h.topic, h.partition
)
SELECT t.scenario_id, size(first(t.failed)) AS failures, count_if(held.is_lost) AS lost_partitions
FROM trials t
JOIN written w ON w.scenario_id = t.scenario_id
LEFT JOIN held ON held.scenario_id = t.scenario_id
GROUP BY t.scenario_id
"""
"""Scenarios whose only faults are brokers lost for good, and in how many partitions acknowledged records are lost: the last
leader lacks them, or no broker that is left has them."""

COLUMNS = (
    *("scenario", "scenarios", "brokers", "partitions", "copysets", "failures"),
    *("loss_probability", "loss_probability_low", "loss_probability_high"),
    *("trials", "lost_trials", "emulated", "emulated_low", "emulated_high", "agree", "lost_partitions"),
)
"""Columns of the report: docs/placements.md says what they are."""


@dataclass(frozen=True)
class _Placement:
    """Scenarios with their replicas on the same brokers, and what was emulated with them."""

    scenario: str
    first_id: int
    brokers: list[int]
    partitions: int
    scenario_ids: list[int] = field(default_factory=list)
    lost: dict[int, list[int]] = field(default_factory=dict)  # lost partitions of each trial, by number of failures


def placement_report(tables: Asker) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows: one row per placement of the run and number of failures, placements in order of their first scenarios.

    Raises InputError for a run without scenarios of partitions, and as `Asker.ask` does.
    """
    placements = _placements(tables.rows(PLACED), tables.rows(TRIALS))
    if not placements:
        raise InputError(f"--report placement: {tables.uri} has no partitions; allowed: a run with a protocol of partitions")
    return list(COLUMNS), _report(tables, placements)


def emulated_trials(tables: Asker) -> list[dict[str, Any]]:
    """The rows of the report that have trials, by column; none of a run in which nobody failed for good and at random."""
    trials = tables.rows(TRIALS)
    if not trials:
        return []
    rows = _report(tables, _placements(tables.rows(PLACED), trials))
    return [named for named in (dict(zip(COLUMNS, row, strict=True)) for row in rows) if named["trials"]]


def _report(tables: Asker, placements: Sequence[_Placement]) -> list[tuple[Any, ...]]:
    of_first = _copysets(tables, [placement.first_id for placement in placements])
    numbers = sorted({number for placement in placements for number in placement.lost})
    rows = []
    for placement in placements:
        sets = of_first[placement.first_id]
        size = int(sizes_of(sets).min())
        asked = numbers or [size * times for times in TOLD_WITHOUT_TRIALS]
        rows += [_row(placement, sets, failures) for failures in asked if failures <= len(placement.brokers)]
    return rows


def _row(placement: _Placement, sets: Sets, failures: int) -> tuple[Any, ...]:
    chance = loss_probability(sets, placement.brokers, failures)
    size = (len(placement.scenario_ids), len(placement.brokers), placement.partitions, len(sets))
    known = (placement.scenario, *size, failures, *map(_rounded, (chance.probability, chance.low, chance.high)))
    lost = placement.lost.get(failures, [])
    if not lost:
        return (*known, 0, *[None] * 6)
    hits = sum(partitions > 0 for partitions in lost)
    least, most = clopper_pearson(hits, len(lost))
    agree = chance.low <= most and chance.high >= least
    emulated = (len(lost), hits, *map(_rounded, (hits / len(lost), least, most)))
    return (*known, *emulated, agree, round(sum(lost) / len(lost), 3))


def _placements(placed: Iterable[Mapping[str, Any]], trials: Iterable[Mapping[str, Any]]) -> list[_Placement]:
    found: dict[tuple[Any, ...], _Placement] = {}
    of_scenario = {}
    for row in placed:
        same = (row["fingerprint"], row["another"], row["partitions"], *row["brokers"])
        new = _Placement(row["name"], row["scenario_id"], row["brokers"], row["partitions"])
        of_scenario[row["scenario_id"]] = found.setdefault(same, new)
        of_scenario[row["scenario_id"]].scenario_ids.append(row["scenario_id"])
    for row in trials:
        if row["scenario_id"] in of_scenario:
            of_scenario[row["scenario_id"]].lost.setdefault(row["failures"], []).append(row["lost_partitions"])
    return list(found.values())


def _copysets(tables: Asker, scenario_ids: Sequence[int]) -> dict[int, Sets]:
    """The copysets of each of these scenarios."""
    found: dict[int, list[list[int]]] = {number: [] for number in scenario_ids}
    for row in tables.rows(COPYSETS.format(", ".join(map(str, scenario_ids)))):
        found[row["scenario_id"]].append(row["copyset"])
    return {number: copysets([pad_replicas(sets)]) for number, sets in found.items()}


def _rounded(share: float) -> float:
    return round(share, 6)
