"""The command `emulator run`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE, VIOLATED, GoingOn, fail
from emulator.cli.options import (
    common,
    on_spark,
)
from emulator.cli.printing import PROGRAM, print_lines
from emulator.cli.sessions import going_on_of, load_rounds, refuse_other_contents
from emulator.errors import InputError, did_you_mean, listing, quoted

if TYPE_CHECKING:
    from emulator.scenario import Run


@click.command("run")
@click.argument("scenario", metavar="SCENARIO.toml")
@click.option("--out", metavar="DIR", help="Folder (any Hadoop URI) for the tables; those of an earlier run are replaced.")
@click.option("--mode", type=click.Choice(["plain", "leap"]), help="Default: the scenario file's. The result is the same.")
@click.option("--trace", metavar="none|all|TOPIC:PARTITION,...", default="none", help="Partitions to trace each round of.")
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help="Draw everything that is drawn N times, in one job.")
@click.option("--state-at", metavar="ROUND,...", help="Rounds at whose end every replica is a row of replica_states.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in DIR, if there is one.")
@click.option(
    "--checkpoint-every",
    metavar="N",
    type=click.IntRange(min=0),
    help="Has no effect any more: every job of a long run is kept in DIR.",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@click.option(
    "--engine",
    type=click.Choice(["compiled", "expressions", "relational"]),
    help="What plays the rounds; default: compiled. expressions, which is gone, is taken for compiled.",
)
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 when an invariant is violated.")
@on_spark
@common
def run_command(
    scenario: str,
    out: str | None,
    mode: str | None,
    trace: str,
    seeds: int | None,
    state_at: str | None,
    resume: bool,
    checkpoint_every: int | None,
    dry_run: bool,
    engine: str | None,
    fail_on_violation: bool,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Emulate a scenario and write the tables of what happened into DIR."""
    if not dry_run and (out is None or not out.strip()):
        raise InputError("--out: no folder is given; allowed: a local path or a Hadoop URI")
    from emulator.scenario import load_run

    run = load_run(scenario, None if seeds is None else with_seeds(scenario, seeds))
    trace = check_trace(run, trace)
    rounds = check_state_at(run, state_at)
    if engine == "relational":
        from emulator.rounds.relational.inputs.refusals import refuse_unknown

        refuse_unknown(run, mode, resume, checkpoint_every, rounds)
    else:
        from emulator.engine.refusals import refuse_states, refuse_uneven_rates

        refuse_states(run, rounds)
        refuse_uneven_rates(run)
        _tell_without_effect(engine, checkpoint_every)
    from emulator.scenario.notes import notes_of

    if out is not None:
        refuse_other_contents(out)
    for line in notes_of(run):
        click.echo(f"note: {line}", err=True)
    if dry_run:
        from emulator import run as running

        print_lines(running.dry_run(run, trace, mode, rounds))
        return DONE
    from emulator.progress import Progress

    progress = Progress()
    going_on = GoingOn() if engine == "relational" else going_on_of(progress)
    meanwhile = None if engine == "relational" else partial(load_rounds, run)
    with sessions.session(master, conf, f"{PROGRAM} run {run.name}", going_on, meanwhile) as spark, progress:
        if engine == "relational":
            from emulator.rounds.relational.run import run_relational

            by_spark = True if master is not None or conf else None
            summary = run_relational(run, str(out), spark, trace, progress, by_spark)
        else:
            from emulator.run import run_emulation

            summary = run_emulation(
                run, str(out), spark, mode=mode, trace=trace, progress=progress, resume=resume, state_at=rounds
            )
    print_lines(summary.lines)
    if summary.violations and fail_on_violation:
        asking = f'{PROGRAM} sql {out} "SELECT * FROM violations"'
        return fail(VIOLATED, f"invariants were violated {summary.violations} times: {asking}")
    return DONE


def _tell_without_effect(engine: str | None, checkpoint_every: int | None) -> None:
    """Notes on standard error about options of rounds that are gone."""
    if engine == "expressions":
        click.echo("note: --engine expressions has no effect: compiled rounds play every scenario", err=True)
    if checkpoint_every is not None:
        click.echo("note: --checkpoint-every has no effect: every job of a long run is kept to go on from", err=True)


def with_seeds(path: str, seeds: int) -> str:
    """The text of a scenario file with a sweep of so many seeds after its own sweeps."""
    from emulator.scenario.sweep_text import sweep_text
    from emulator.scenario.toml_text import read_toml

    return read_toml(path)[0] + sweep_text(path, None, None, [], seeds)


def check_trace(run: Run, trace: str) -> str:
    """Returns `trace` in order, without blanks and repetitions: "none", "all", or TOPIC:PARTITION joined by commas.

    Raises InputError for a partition that no scenario of the run has.
    """
    if trace in ("none", "all"):
        return trace
    partitions: dict[str, int] = {}
    for topic in (topic for scenario in run.scenarios for topic in scenario.topics):
        partitions[topic.name] = max(topic.partitions, partitions.get(topic.name, 0))
    chosen = []
    for part in trace.split(","):
        name, _, number = part.strip().rpartition(":")
        if not re.fullmatch("[0-9]{1,9}", number):
            problem = f"{quoted(part.strip())} is no partition"
            raise InputError.at(run.path, "--trace", problem, "none, all, or TOPIC:PARTITION,... as in orders:0,orders:7")
        if name not in partitions:
            problem = f"no topic is called {quoted(name)}{did_you_mean(name, partitions)}"
            raise InputError.at(run.path, "--trace", problem, listing(partitions))
        if int(number) >= partitions[name]:
            problem = f"{int(number)} is not a partition of {name}"
            raise InputError.at(run.path, "--trace", problem, f"0 to {partitions[name] - 1}")
        chosen.append(f"{name}:{int(number)}")
    return ",".join(sorted(set(chosen)))


def check_state_at(run: Run, state_at: str | None) -> list[int]:
    """Returns the rounds that `--state-at` names, ascending; none without it.

    Raises InputError for what is no round of any scenario of the run.
    """
    last = max(scenario.rounds for scenario in run.scenarios) - 1
    rounds = set()
    for part in () if state_at is None else state_at.split(","):
        if not re.fullmatch("[0-9]{1,9}", part.strip()):
            problem = f"{quoted(part.strip())} is no round"
            raise InputError.at(run.path, "--state-at", problem, f"rounds from 0 to {last}, as in 10,20")
        if int(part) > last:
            problem = f"round {int(part)} is beyond the end of the run"
            raise InputError.at(run.path, "--state-at", problem, f"rounds from 0 to {last}")
        rounds.add(int(part))
    return sorted(rounds)
