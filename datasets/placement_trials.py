"""Placements under random failures as one scenario file, for `emulator compare --report placement`.

    python -m datasets.placement_trials PARTITIONS BROKERS RACKS FAILURES[,...] TRIALS PLACEMENT[,...] > trials.toml

PLACEMENT: a value of the topics' key `placement`, with ":N" for scatter_width N, as in random,copyset:4. Every placement meets
the same TRIALS draws of so many brokers, which lose power in one round for good. Replication factor 3; a scenario a trial.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from datasets.toml_text import table

REPLICATION_FACTOR, ROUNDS, FAILING_ROUND, SESSION_TIMEOUT_ROUNDS, SEED = 3, 20, 5, 5, 7


def placement_trials_toml(
    partitions: int, brokers: int, racks: int, failures: Sequence[int], trials: int, placements: Sequence[str], seed: int = SEED
) -> str:
    """The scenario file: the first trial of the first placement, and a variant for each other one."""
    cases = [(placement, count, draw) for placement in placements for count in failures for draw in range(trials)]
    first_placement, first_count, first_draw = cases[0]
    topic = {"name": "log", "partitions": partitions, "replication_factor": REPLICATION_FACTOR}
    failing = {"name": "failures", "kind": "random_failures", "from_round": FAILING_ROUND}
    lines = [
        'name = "placement trials"', f"rounds = {ROUNDS}", f"seed = {seed}",
        "[cluster]", f"brokers = {brokers}", f"racks = {racks}", f"session_timeout_rounds = {SESSION_TIMEOUT_ROUNDS}",
        *table("topics", topic | _placement(first_placement)),
        *table("workload", {"topic": "log", "records_per_round": 1, "to_round": FAILING_ROUND + 1}),
        *table("fault_generators", failing | {"count": first_count, "draw": first_draw}),
    ]  # fmt: skip
    for placement, count, draw in cases[1:]:
        variant: dict[str, Any] = {"name": f"{placement}, {count} fail, draw {draw}"}
        variant["fault_generators"] = [{"name": "failures", "count": count, "draw": draw}]
        if placement != first_placement:
            variant["topics"] = [{"name": "log", **_placement(placement)}]
        lines += table("variants", variant)
    return "\n".join(lines) + "\n"


def _placement(text: str) -> dict[str, Any]:
    name, _, width = text.partition(":")
    return {"placement": name, "scatter_width": int(width)} if width else {"placement": name}


if __name__ == "__main__":
    count, brokers, racks = map(int, sys.argv[1:4])
    failing = [int(number) for number in sys.argv[4].split(",")]
    sys.stdout.write(placement_trials_toml(count, brokers, racks, failing, int(sys.argv[5]), sys.argv[6].split(",")))
