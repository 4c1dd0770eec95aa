"""What scenarios of several runs that stand side by side do not have in common."""

from __future__ import annotations

from collections import defaultdict

from emulator.errors import InputError, some
from emulator.outcomes.ask import Asker
from emulator.progress import counted, duration

PAIRED = """
SELECT s.name, s.rounds * CAST(s.round_ms AS BIGINT) AS time_ms, count(*) AS partitions, count(base.topic) AS paired
FROM scenarios s
JOIN outcomes o ON o.scenario_id = s.scenario_id
LEFT JOIN outcomes base ON base.scenario_id = 0 AND base.topic = o.topic AND base.partition = o.partition
GROUP BY s.scenario_id, s.name, s.rounds, s.round_ms
ORDER BY s.scenario_id
"""
"""Of each scenario how many of its partitions the first one has, too."""


def unlike_notes(tables: Asker) -> list[str]:
    """Lines on what scenarios of several runs, paired with the first of all, do not have in common with it.

    Raises InputError where another scenario shares no partition with it.
    """
    first, *others = tables.rows(PAIRED)
    apart = [row["name"] for row in others if not row["paired"]]
    if apart:
        problem = f"{some('scenario', apart)} of them has no partition of {first['name']}"
        raise InputError(f"{tables.uri}: beside other runs: {problem}; allowed: runs whose topics have the same names")
    lacking, lasting = defaultdict(list), defaultdict(list)
    for row in others:
        lacking[row["partitions"] - row["paired"]].append(row["name"])
        lasting[duration(row["time_ms"] / 1000)].append(row["name"])
    own = duration(first["time_ms"] / 1000)
    return [
        f"{counted(count, 'partition')} of {some('scenario', names)} left out, which {first['name']} has not"
        for count, names in lacking.items()
        if count
    ] + [
        f"{some('scenario', names)}: {time}, {first['name']}: {own}; what is counted is of unlike times"
        for time, names in lasting.items()
        if time != own
    ]
