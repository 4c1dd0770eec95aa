"""Rounds: what one tick does to partitions. Plain functions over records; only `relational` and `play` know Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def play(
    state: DataFrame,
    faults: DataFrame | Sequence[Mapping[str, Any]] = (),
    workload: DataFrame | Sequence[Mapping[str, Any]] = (),
    *,
    cluster: Mapping[str, Any],
    topics: Sequence[Mapping[str, Any]],
    rounds: int = 1,
    protocol: str = "kafka",
    round_ms: int = 500,
) -> DataFrame:
    """The state of replicas after `rounds` more compiled rounds of Kafka: a row a replica in, the same columns out.

    `state`: the columns of the table `replica_states`, `replicas` (array<int>: broker ids of the partition, the preferred leader
    first) and `carried` (binary: what else a round needs), as `play` gives them. To begin with, `topic`, `partition`, `broker`
    and `replicas` are enough: see docs/playing_rounds.md. `faults`, `workload`: the columns of `[[faults]]`, `[[workload]]`,
    rounds counted as in `round`; without `to_round` they go on for ever. `cluster`, `topics`, `protocol`, `round_ms`: as in a
    scenario file, of topics `name` and `config`. `faults` and `workload` are computed at once, `state` with the answer.

    Raises InputError, one line, for wrong arguments; a row that is wrong fails the job with such a line.
    """
    from emulator.engine.state_frames import play_states

    return play_states(state, faults, workload, cluster, topics, rounds, protocol, round_ms)
