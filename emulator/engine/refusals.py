"""What compiled rounds cannot play, refused before Spark starts, and before anything is imported that plays."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.errors import InputError
from emulator.scenario import Run
from emulator.scenario.protocols import PARTITIONS, system_of


def refuse_uneven_rates(run: Run) -> None:
    """Raises InputError for records a second that compiled rounds cannot play."""
    of_partitions = [scenario for scenario in run.scenarios if system_of(scenario.protocol) == PARTITIONS]
    rates = [scenario.workload.column("records_per_second") for scenario in of_partitions]
    if any(rate.null_count < len(rate) for rate in rates):
        from emulator.inputs.arrays.workload import refuse_uneven

        refuse_uneven(of_partitions)


def refuse_states(run: Run, state_at: Sequence[int]) -> None:
    """Raises InputError if every replica is to be told of at the end of rounds (`state_at`) of ledgers or groups."""
    for scenario in run.scenarios if state_at else ():
        system = system_of(scenario.protocol)
        if system != PARTITIONS:
            problem = f"scenario {scenario.name} is of {system}, and replica_states are those of partitions"
            raise InputError.at(run.path, "--state-at", problem, "scenarios of partitions")
