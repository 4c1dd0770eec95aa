"""Commands of a page and what they print: `python -m tests.page_commands docs/tutorial.md` writes into it what they print now.

In a page, a block of the kind `console` has lines that begin with `$ emulator`, each with its standard output below it. A last
line `...` stands for what is left out. A line that ends with a backslash goes on in the next one.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from emulator.cli import main as emulator

BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)
WIDEST = 118


def printed(command: str) -> str:
    """What a command prints; raises RuntimeError if it fails."""
    program, *arguments = shlex.split(command.removeprefix("$ ").replace("\\\n", " "))
    if program != "emulator":
        raise RuntimeError(f"{program} is not run: only emulator is")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = emulator(arguments)
    if code != 0:
        raise RuntimeError(f"exit code {code}: {command}")
    return "".join(f"{line[:WIDEST].rstrip()}\n" for line in out.getvalue().splitlines())


def renewed(page: str, run: Callable[[str], str] = printed) -> str:
    """A page with what its commands print now, each cut where it was cut."""
    return BLOCK.sub(lambda block: _renewed_block(block[0], run), page)


def _renewed_block(block: str, run: Callable[[str], str]) -> str:
    commands = COMMAND.findall(block)
    outputs = COMMAND.split(block)[1:]
    return "".join(command + _cut(run(command), before) for command, before in zip(commands, outputs, strict=True))


def _cut(now: str, before: str) -> str:
    lines, kept = now.splitlines(keepends=True), before.splitlines()
    if not kept or kept[-1] != "...":
        return now
    return "".join([*lines[: len(kept) - 1], "...\n"])


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(renewed(path.read_text("utf-8")), "utf-8")
