"""What a scenario asks for and these rounds don't have: told in one line that names the engine that has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.errors import InputError
from emulator.scenario import Run, Scenario
from emulator.throttles import THROTTLED_LISTS

OTHER_ENGINE = "compiled"
PROTOCOLS = ("kafka", "kafka-kip279", "kafka-kip101", "kafka-high-watermark")


def refuse_unknown(
    run: Run, mode: str | None = None, resume: bool = False, checkpoint_every: int | None = None, state_at: Sequence[int] = ()
) -> None:
    """Raises InputError for the first thing of a scenario, or of the command line, that these rounds don't have."""
    asked = {"--mode leap": mode == "leap", "--resume": resume, "--checkpoint-every": checkpoint_every}
    asked |= {"--state-at": bool(state_at)}
    for option, is_given in asked.items():
        if is_given:
            raise InputError(f"--engine relational: it has no {option}; allowed: --engine {OTHER_ENGINE}, which has")
    for scenario in run.scenarios:
        for what in lacking(scenario):
            problem = f"the relational rounds have no {what} (scenario {scenario.name})"
            raise InputError.at(run.path, "--engine relational", problem, f"--engine {OTHER_ENGINE}, which has")


def lacking(scenario: Scenario) -> Iterator[str]:
    """What of a scenario these rounds don't have."""
    if scenario.protocol not in PROTOCOLS:
        yield f"protocol {scenario.protocol}"
    if scenario.consumers:
        yield "consumers"
    if any(b.network_bytes_per_second is not None or b.disk_bytes_per_second is not None for b in scenario.brokers):
        yield "bandwidth budgets of brokers"
    given = [scenario.config, *(t.config for t in scenario.topics), *(c.config or {} for c in scenario.commands)]
    if any(key in config for config in given for key in THROTTLED_LISTS):
        yield "replication throttles"
    if any(config.get("remote.storage.enable") for config in given) or scenario.initial_remote_segments.num_rows:
        yield "tiered storage"
    kinds = {command.kind for command in scenario.commands}
    if "delete_topic" in kinds:
        yield "command delete_topic"
    if set(scenario.faults.column("kind").to_pylist()) & {"open_transaction"}:
        yield "fault open_transaction"
