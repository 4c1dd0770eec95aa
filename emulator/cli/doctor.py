"""The command `emulator doctor`."""

from __future__ import annotations

import click

from emulator.cli.exits import DONE, VIOLATED
from emulator.cli.options import common
from emulator.cli.printing import print_lines


@click.command("doctor")
@common
def doctor_command() -> int:
    """Say what this machine has of what runs need, and the command that mends what is missing; exit code 1 if anything is."""
    from emulator.cli.machine import examine

    findings = examine()
    print_lines([finding.line for finding in findings])
    return VIOLATED if any(finding.mend for finding in findings) else DONE
