"""How far a run is, on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

SECONDS_BETWEEN_LINES, SHARE_BETWEEN_LINES = 2.0, 0.02
"""At least so many, and so much of the time since the start: a run of an hour writes some 200 lines, not 1,800."""

_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Progress:
    """Rounds done, partitions still running, iterations, rate and time left of one run.

    `stream`: where to, standard error if None. `quiet`: says nothing. Use it as a context manager, so that a run that
    fails leaves the terminal as it was.
    """

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._bar: RichProgress | None = None
        self._task = TaskID(0)
        self._total_rounds = 0
        self._scenarios = 0
        self._started = self._last_line = 0.0
        self._latest: tuple[int, int, int, int] | None = None
        self._round_ms = 0
        self._jobs = 0
        self._before: tuple[int, int] = (0, 0)
        self.has_kept = False
        """Whether anything is done and written that the run would not have to do again."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_bar()

    def start(self, total_rounds: int, partitions: int, scenarios: int, round_ms: int = 0) -> None:
        """Begins: `total_rounds` of the longest scenario, `partitions` summed over the `scenarios`.

        `round_ms`: what a round stands for, 0 where that is not told.
        """
        self._total_rounds, self._scenarios, self._round_ms = total_rounds, scenarios, round_ms
        self._jobs, self._before = 0, (0, 0)
        self._started = self._last_line = time.monotonic()
        self._latest = (0, partitions, 0, 0)
        if self._quiet:
            return
        if _is_terminal(self._stream):
            self._bar = _new_bar(self._stream)
            self._task = self._bar.add_task("", total=total_rounds, detail=self._detail())
            self._bar.start()
        else:
            self._write_line()

    def of_jobs(self, count: int) -> None:
        """Tells of how many jobs the run is; the iterations of `advance` are those that are done."""
        self._jobs = count

    def keeps(self) -> None:
        """Tells that something is done and written that the run would not have to do again."""
        self.has_kept = True

    def resumed(self, rounds_done: int, replica_rounds: int) -> None:
        """Tells what an earlier run has done: rates and the time left are of what this one does."""
        self._before = (rounds_done, replica_rounds)

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        """Tells where the run is; all four count from its start, `rounds_done` of the slowest partition."""
        self._latest = (rounds_done, partitions_running, iterations, replica_rounds)
        if self._bar is not None:
            self._bar.update(self._task, completed=rounds_done, detail=self._detail())
        elif not self._quiet and self._is_due(time.monotonic()):
            self._write_line()

    def finish(self) -> None:
        """Ends with a line of what was done; further calls do nothing."""
        self._stop_bar()
        if self._latest is not None and not self._quiet:
            _, _, iterations, replica_rounds = self._latest
            seconds = time.monotonic() - self._started
            played = replica_rounds - self._before[1]
            of_time = f" ({self._time_of(self._total_rounds)})" if self._round_ms else ""
            self._write(
                f"{self._total_rounds} rounds{of_time} done in {seconds:.1f} s, {self._iterations(iterations)}, "
                f"{scaled(played / max(seconds, 1e-3))} replica-rounds/s"
            )
        self._latest = None

    def note(self, text: str) -> None:
        """Says something that is no progress."""
        if not self._quiet:
            self._write(text)

    def _detail(self) -> str:
        rounds_done, running, iterations, replica_rounds = self._latest or (0, 0, 0, 0)
        seconds = time.monotonic() - self._started
        parts = [f"{counted(running, 'partition')} running"]
        if self._scenarios > 1:
            parts[0] += f" in {self._scenarios} scenarios"
        if iterations:
            played = replica_rounds - self._before[1]
            parts += [self._iterations(iterations), f"{scaled(played / max(seconds, 1e-3))} replica-rounds/s"]
        done = rounds_done - self._before[0]
        if done > 0 and rounds_done < self._total_rounds:
            parts.append(f"{duration(seconds * (self._total_rounds - rounds_done) / done)} left")
        elif not done and seconds >= 1:  # what is on the way takes its time, and a line says that it goes on
            parts.append(f"{duration(seconds)} so far")
        return ", ".join(parts)

    def _is_due(self, now: float) -> bool:
        return now - self._last_line >= max(SECONDS_BETWEEN_LINES, SHARE_BETWEEN_LINES * (now - self._started))

    def _write_line(self) -> None:
        rounds_done = self._latest[0] if self._latest else 0
        times = f" ({self._time_of(rounds_done)} of {self._time_of(self._total_rounds)})" if self._round_ms else ""
        self._write(f"round {rounds_done} of {self._total_rounds}{times}, {self._detail()}")
        self._last_line = time.monotonic()

    def _time_of(self, rounds: int) -> str:
        """The emulated time of rounds."""
        return duration(rounds * self._round_ms / 1000)

    def _iterations(self, iterations: int) -> str:
        return f"{iterations} of {counted(self._jobs, 'job')} done" if self._jobs else counted(iterations, "iteration")

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def _stop_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def counted(count: int, noun: str) -> str:
    """Returns the count and its noun.

    >>> counted(1, "partition"), counted(2000, "partition")
    ('1 partition', '2,000 partitions')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def scaled(value: float) -> str:
    """Returns a rate with three digits.

    >>> scaled(0.5), scaled(950), scaled(2_345_678)
    ('0.5', '950', '2.35 M')
    """
    for scale, letter in _SCALES:
        if value >= scale:
            return f"{value / scale:.3g} {letter}" if value < 999.5 * scale else f"{value / scale:.0f} {letter}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def size(value: float) -> str:
    """Returns bytes in a decimal unit.

    >>> size(950), size(2_345_678)
    ('950 B', '2.35 MB')
    """
    for scale, unit in _BYTES:
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B"


def duration(seconds: float) -> str:
    """Returns a time span in its two largest units.

    >>> duration(7.4), duration(61), duration(7300)
    ('7 s', '1 min 1 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _new_bar(stream: TextIO) -> RichProgress:
    return RichProgress(
        TextColumn("rounds"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
