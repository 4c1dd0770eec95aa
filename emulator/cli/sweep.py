"""The command `emulator sweep`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from emulator.cli import sessions
from emulator.cli.exits import DONE
from emulator.cli.options import common, on_spark
from emulator.cli.printing import PROGRAM, print_lines
from emulator.cli.sessions import going_on_of, load_rounds, refuse_other_contents
from emulator.errors import InputError, quoted

if TYPE_CHECKING:
    from emulator.scenario import Run

QUESTIONS = {"case": "@which_case_is_worst", "topic": "@which_setting_suits_which_topic"}
MOST_ROWS = 20
NUMBER = r"[0-9]{1,10}(?:\.[0-9]{1,9})?"
WHEN = rf"(?:{NUMBER}(?:ms|s|m|h|d))+|{NUMBER}"
FAULT = re.compile(rf"(?P<kind>[a-z_]+)(:(?P<first>{WHEN})(-(?P<end>{WHEN}))?)?(?P<clients>\+clients)?")
FAULT_ALLOWED = "KIND:FROM-TO, as in power_loss:100-220, power_loss:10m-12m or power_loss:1h30m-2h, or KIND:FROM, until the end"


@click.command("sweep")
@click.argument("scenario", metavar="SCENARIO.toml")
@click.option("--out", metavar="DIR", help="Folder (any Hadoop URI) for the tables; those of an earlier run are replaced.")
@click.option("--each", type=click.Choice(["broker", "rack", "pair"]), help="Strike each of them in turn, by --fault.")
@click.option(
    "--fault",
    metavar="KIND:FROM-TO",
    help="What strikes in rounds FROM to TO - 1, as power_loss:100-220 or power_loss:10m-12m.",
)
@click.option(
    "--set", "settings", metavar="[TOPIC:]KEY=VALUE,...", multiple=True, help="Values of a setting; several are allowed."
)
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help="Draw everything that is drawn N times.")
@click.option("--by", type=click.Choice(list(QUESTIONS)), default="case", show_default=True, help="What a row is of.")
@click.option("--rows", metavar="N", type=click.IntRange(min=1), default=MOST_ROWS, show_default=True, help="Rows to print.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in DIR, if there is one.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@on_spark
@common
def sweep_command(
    scenario: str,
    out: str | None,
    each: str | None,
    fault: str | None,
    settings: Sequence[str],
    seeds: int | None,
    by: str,
    rows: int,
    resume: bool,
    dry_run: bool,
    master: str | None,
    conf: Mapping[str, str],
) -> int:
    """Emulate every combination of what is swept, in one job, and print what each came to.

    The options add to the [[sweeps]] of the scenario file; the tables that are written hold every case as a scenario.
    """
    if not dry_run and (out is None or not out.strip()):
        raise InputError("--out: no folder is given; allowed: a local path or a Hadoop URI")
    run = _load(scenario, each, fault, settings, seeds)
    from emulator.engine.refusals import refuse_uneven_rates
    from emulator.scenario.notes import notes_of

    refuse_uneven_rates(run)
    if out is not None:
        refuse_other_contents(out)
    for line in notes_of(run):
        click.echo(f"note: {line}", err=True)
    if dry_run:
        from emulator import run as running

        print_lines(running.dry_run(run))
        return DONE
    from emulator.outcomes.ask import Asker
    from emulator.outcomes.formats import write_answer
    from emulator.progress import Progress

    progress = Progress()
    meanwhile = partial(load_rounds, run)
    with sessions.session(master, conf, f"{PROGRAM} sweep {run.name}", going_on_of(progress), meanwhile) as spark:
        from emulator.run import run_emulation

        with progress:
            summary = run_emulation(run, str(out), spark, progress=progress, resume=resume)
        click.echo("\n".join(summary.lines), err=True)
        columns, found = Asker(str(out), None, lambda: spark).ask(QUESTIONS[by])
        shown = list(islice(found, rows + 1))
        write_answer(columns, shown[:rows], "table", sys.stdout)
    if len(shown) > rows:
        click.echo(f"only the first {rows}; all of them: {PROGRAM} sql {out} {QUESTIONS[by]}", err=True)
    return DONE


def _load(path: str, each: str | None, fault: str | None, settings: Sequence[str], seeds: int | None) -> Run:
    """The scenario file with the sweeps of the command line after its own."""
    from emulator.scenario import load_run
    from emulator.scenario.sweep_text import sweep_text
    from emulator.scenario.toml_text import read_toml

    template = None if fault is None else _fault(path, fault)
    text = read_toml(path)[0]
    added = sweep_text(path, each, template, [_setting(path, setting) for setting in settings], seeds)
    run = load_run(path, text + added)
    if len(run.scenarios) == 1 or not any("sweep.variant" in each.overrides for each in run.scenarios):
        raise InputError.at(path, "sweeps", "there is nothing to sweep", "[[sweeps]], --each with --fault, --set, or --seeds")
    return run


def _fault(path: str, text: str) -> dict[str, Any]:
    found = FAULT.fullmatch(text)
    if found is None or found["first"] is None:
        raise InputError.at(path, "--fault", f"{quoted(text)} is not KIND:FROM-TO", FAULT_ALLOWED)
    fault: dict[str, Any] = {"kind": found["kind"], "from_round": _when(found["first"])}
    if found["end"] is not None:
        fault["to_round"] = _when(found["end"])
    if found["clients"]:
        fault["clients"] = True
    return fault


def _when(text: str) -> int | str:
    """A round, or a time for the scenario file to divide."""
    return int(text) if text.isdigit() else text


def _setting(path: str, text: str) -> tuple[str | None, str, list[Any]]:
    name, equals, values = text.partition("=")
    topic, colon, key = name.rpartition(":")
    if not equals or not key or not values or (colon and not topic):
        raise InputError.at(path, "--set", f"{quoted(text)} is not KEY=VALUE,...", "as in min.insync.replicas=1,2")
    return topic or None, key, [_value(key, value.strip()) for value in values.split(",")]


def _value(key: str, text: str) -> Any:
    if key == "acks":
        return text
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("-?[0-9]{1,18}", text) else text
