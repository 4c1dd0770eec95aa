"""Exit codes, and what ends with which: every error is one line on standard error."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from emulator.errors import MAX_LINE_CHARS, EnvironmentProblem, InputError, one_line

DONE, VIOLATED, BAD_INPUT, FAILED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
DEBUG_VARIABLE = "EMULATOR_DEBUG"
MAX_ERROR_CHARS = 1_000
NO_SPACE = "No space left on device"
SHOW_CURSOR = b"\x1b[?25h"


@dataclass
class GoingOn:
    """How an interrupted command goes on.

    `command`: what goes on, empty where nothing does; `has_kept`: whether it finds anything.
    """

    command: str = ""
    has_kept: Callable[[], bool] = lambda: False

    def said(self, what: str = "interrupted") -> str:
        """Returns what is said of an interrupt."""
        if not self.command:
            return what
        if not self.has_kept():
            return f"{what}; nothing was finished yet: the same command starts anew"
        return f"{what}; go on with: {self.command}"


@dataclass
class Invocation:
    """What holds for a whole command line: whether stack traces are shown, its arguments, what goes on if it is interrupted."""

    verbose: bool = False
    arguments: Sequence[str] = ()
    going_on: GoingOn = field(default_factory=GoingOn)


def run_command_line(commands: click.Group, program: str, arguments: Sequence[str]) -> int:
    """Runs a command line of `commands`, whose callbacks return an exit code or None; returns the exit code.

    0: done; 1: what the command says (an invariant was violated); 2: bad input, `InputError` and click's errors of
    usage; 3: the run itself failed, also for what the machine lacks; 130: interrupted; 143: told
    to end (SIGTERM). A reader of standard output that has seen enough and closes it is no error. The stack trace of a failure
    is only shown when `Invocation.verbose` or the variable EMULATOR_DEBUG is set.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name may hold what the terminal's encoding does not
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ending_when_told():
            code = _invoke(commands, program, list(arguments), Invocation(bool(os.environ.get(DEBUG_VARIABLE)), arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def fail(code: int, message: str, shown: BaseException | None = None) -> int:
    """Writes the one line of an error, after the stack trace of `shown` if given; returns the code."""
    if shown is not None:
        traceback.print_exception(shown)
    click.echo("error: " + one_line(" ".join(message.splitlines()), MAX_LINE_CHARS), err=True)
    return code


def end_at_interrupts(end_java: Callable[[], None], going_on: GoingOn) -> None:
    """From now on an interrupt (Ctrl-C) ends the process after `end_java`, with one line and code 130; a second at once.

    SIGTERM does so with code 143.

    For a process that has a Spark, or is starting it: Spark's own handler asks Java to cancel in the midst of whatever is being
    asked, which fails with stack traces. What is left behind is what a killed run leaves: no table, checkpoints to resume from.
    """

    shown = os.dup(2)  # while Java starts, a pipe stands in the place of standard error

    def end(number: int, _: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        is_term = number == signal.SIGTERM
        said = going_on.said("told to end" if is_term else "interrupted")
        if sys.stderr.isatty():
            os.write(shown, SHOW_CURSOR)
        # Threads that ask Java something, or are asked, now fail: the bridge logs a stack, Spark's accumulators print theirs.
        logging.disable()
        sys.stderr = io.StringIO()
        end_java()
        os.write(shown, f"\nerror: {one_line(said, MAX_LINE_CHARS)}\n".encode(errors="backslashreplace"))
        os._exit(TERMINATED if is_term else INTERRUPTED)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)


@contextmanager
def _ending_when_told() -> Iterator[None]:
    """Within it SIGTERM ends the process with one line and code 143, until `end_at_interrupts` ends Java as well."""

    def end(*_: object) -> None:
        os.write(2, b"error: told to end\n")
        os._exit(TERMINATED)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _invoke(commands: click.Group, program: str, arguments: list[str], invocation: Invocation) -> int:
    try:
        # Not commands.main(), which has exit codes of its own.
        with commands.make_context(program, arguments, obj=invocation) as context:
            return int(commands.invoke(context) or DONE)
    except click.exceptions.Exit as ended:
        return int(ended.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else program
        return fail(BAD_INPUT, f"{path}: {' '.join(error.format_message().split())} (see {path} --help)")
    except click.ClickException as error:
        return fail(BAD_INPUT, error.format_message())
    except InputError as error:
        return fail(BAD_INPUT, str(error))
    except (KeyboardInterrupt, click.Abort):
        return fail(INTERRUPTED, invocation.going_on.said())
    except BrokenPipeError:
        raise
    except EnvironmentProblem as error:
        return fail(FAILED, str(error), error if invocation.verbose else None)
    except Exception as error:
        hint = "" if invocation.verbose else f" (--verbose or {DEBUG_VARIABLE}=1 shows the stack trace)"
        reason, shown = _reason(error), error if invocation.verbose else None
        if NO_SPACE in reason:
            return fail(FAILED, invocation.going_on.said("no space is left on the disk: make room"), shown)
        return fail(FAILED, f"the run failed: {reason}{hint}", shown)


def _reason(error: Exception) -> str:
    """Says what went wrong, without stack or query plan."""
    if "pyspark" in sys.modules:
        from emulator.spark.spark_errors import SPARK_ERRORS, condensed

        if isinstance(error, SPARK_ERRORS):
            from emulator.spark.executors import executors_problem

            return one_line(executors_problem(error) or condensed(error), MAX_ERROR_CHARS)
    return one_line(f"{type(error).__name__}: {error}", MAX_ERROR_CHARS)
