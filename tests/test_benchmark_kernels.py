"""The dense NumPy kernel of the benchmarks against the reference, on random crashes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from benchmarks.kernels.crashes import Crash
from benchmarks.kernels.numpy_full import Settings, run_rounds
from tests.reference.kafka import simulate

PARTITIONS, RECORDS, RECORD_BYTES, ROUND_MS = 6, 5, 1000, 500


@pytest.mark.parametrize("seed", range(30))
def test_kernel_ends_as_the_reference(seed: int) -> None:
    draw = random.Random(seed)
    brokers, replicas, rounds = list(range(1, draw.choice([3, 4, 5]) + 1)), draw.choice([1, 2, 3, 3]), draw.choice([60, 120])
    crashes = [_crash(draw, brokers, rounds) for _ in range(draw.randint(1, 12))]
    assignment = [draw.sample(brokers, replicas) for _ in range(PARTITIONS)]
    min_isr, unclean, timeout = min(replicas, draw.choice([1, 2])), draw.random() < 0.5, draw.choice([2, 5, 18])
    lag_rounds, rebalance_rounds, fetch_batches = draw.choice([6, 10, 60]), draw.choice([10, 30, 600]), draw.choice([2, 6, 200])
    settings = Settings(
        records_per_round=RECORDS,
        max_fetch_records=fetch_batches * RECORDS,
        min_insync_replicas=min_isr,
        unclean_election=unclean,
        session_timeout_rounds=timeout,
        lag_rounds=lag_rounds,
        isr_check_rounds=lag_rounds // 2,
        rebalance_rounds=rebalance_rounds,
    )
    case = {
        "rounds": rounds,
        "round_ms": ROUND_MS,
        "session_timeout_rounds": timeout,
        "brokers": brokers,
        "racks": {},
        "config": {"replica.fetch.max.bytes": fetch_batches * RECORDS * RECORD_BYTES},
        "topic_config": {
            "min.insync.replicas": min_isr,
            "unclean.leader.election.enable": unclean,
            "replica.lag.time.max.ms": lag_rounds * ROUND_MS,
            "leader.imbalance.check.interval.seconds": rebalance_rounds * ROUND_MS // 1000,
        },
        "workload": [{"from_round": 0, "records_per_round": RECORDS, "record_bytes": RECORD_BYTES, "acks": "all"}],
        "faults": [{"kind": "broker_crash", **crash._asdict()} for crash in crashes],
        "commands": [],
    }
    run = run_rounds(np.array(assignment), brokers, crashes, rounds, settings)
    for number, order in enumerate(assignment):
        assert _ends_of(run, number, order) == _ends_of_reference(case | {"replicas": order})


def _crash(draw: random.Random, brokers: list[int], rounds: int) -> Crash:
    from_round = draw.randrange(rounds)
    return Crash(draw.choice(brokers), from_round, from_round + draw.choice([1, 2, 5, 10, 30]))


def _ends_of(run: Any, number: int, order: list[int]) -> dict[int, tuple[int, int, bool]]:
    values = zip(order, run.leo[number].tolist(), run.hw[number].tolist(), run.isr[number].tolist(), strict=True)
    return {broker: (leo, hw, in_isr) for broker, leo, hw, in_isr in values}


def _ends_of_reference(case: dict[str, Any]) -> dict[int, tuple[int, int, bool]]:
    last = simulate(case).trace[-len(case["replicas"]) :]
    return {row["broker"]: (row["leo"], row["hw"], row["in_isr"]) for row in last}
