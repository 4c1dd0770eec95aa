"""Progress as plain lines, and on a terminal."""

from __future__ import annotations

import doctest
import io

import pytest

from emulator import progress
from emulator.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, set by the test."""
    now = [100.0]
    monkeypatch.setattr("emulator.progress.time.monotonic", lambda: now[0])
    return now


def test_doctests() -> None:
    assert doctest.testmod(progress).failed == 0


def test_plain_lines_come_at_most_every_two_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as reported:
        reported.start(100, 2000, 2)
        for step in range(1, 11):
            clock[0] += 0.5
            reported.advance(step * 5, 2000 if step < 8 else 1, step, step * 30_000)
        reported.finish()
        reported.finish()
    assert stream.getvalue().splitlines() == [
        "round 0 of 100, 2,000 partitions running in 2 scenarios",
        "round 20 of 100, 2,000 partitions running in 2 scenarios, 4 iterations, 60 k replica-rounds/s, 8 s left",
        "round 40 of 100, 1 partition running in 2 scenarios, 8 iterations, 60 k replica-rounds/s, 6 s left",
        "100 rounds done in 5.0 s, 10 iterations, 60 k replica-rounds/s",
    ]


def test_lines_of_a_long_run_are_a_fiftieth_of_it_apart(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as reported:
        reported.start(36_000, 2000, 1)
        for second in range(1, 3601):
            clock[0] += 1
            reported.advance(second * 10, 2000, second, second * 60_000)
    lines = stream.getvalue().splitlines()
    rounds = [int(line.split()[1]) for line in lines]
    assert 200 < len(lines) < 250
    assert rounds[1] - rounds[0] == 20
    assert 700 < rounds[-1] - rounds[-2] < 730


def test_jobs_emulated_time_and_what_an_earlier_run_did(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as reported:
        reported.start(1000, 8, 1, round_ms=500)
        reported.of_jobs(4)
        reported.resumed(500, 12_000)
        clock[0] += 10
        reported.advance(750, 2, 3, 18_000)
        reported.finish()
    assert stream.getvalue().splitlines() == [
        "round 0 of 1000 (0 s of 8 min 20 s), 8 partitions running",
        "round 750 of 1000 (6 min 15 s of 8 min 20 s), 2 partitions running, 3 of 4 jobs done, 600 replica-rounds/s, 10 s left",
        "1000 rounds (8 min 20 s) done in 10.0 s, 3 of 4 jobs done, 600 replica-rounds/s",
    ]


def test_a_line_of_nothing_done_says_how_long_that_is(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as reported:
        reported.start(100, 4, 1)
        for _ in range(2):
            clock[0] += 3
            reported.advance(0, 4, 0, 0)
    assert [line.rpartition(", ")[2] for line in stream.getvalue().splitlines()] == [
        "4 partitions running",
        "3 s so far",
        "6 s so far",
    ]


def test_quiet_says_nothing() -> None:
    stream = io.StringIO()
    reported = Progress(stream, quiet=True)
    reported.start(10, 1, 1)
    reported.advance(10, 0, 1, 30)
    reported.finish()
    assert stream.getvalue() == ""


def test_a_run_that_fails_before_its_end_says_no_more() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyError), Progress(stream) as reported:
        reported.start(10, 1, 1)
        raise KeyError
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_shows_a_bar_that_goes_away(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    stream = Terminal()
    with Progress(stream) as reported:
        reported.start(10, 3, 1)
        reported.advance(5, 3, 1, 45)
        reported.finish()
    assert ("\x1b[" in stream.getvalue()) == (term == "xterm")
    assert "10 rounds done in " in stream.getvalue().splitlines()[-1]


def test_without_start_nothing_is_finished() -> None:
    stream = io.StringIO()
    Progress(stream).finish()
    assert stream.getvalue() == ""
