"""Rates as metrics tell them: for each topic and broker a number a second, time by time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from itertools import pairwise
from statistics import median_low

from emulator.errors import InputError, quoted

BYTES, MESSAGES = "BytesInPerSec", "MessagesInPerSec"
TIME_ALLOWED = "seconds since 1970, or a time as in 2026-01-31T12:00:00Z"
RATE_ALLOWED = "a number a second, from 0 to 10^15"
NANO = 10**9
GAP_IN_STEPS = (3, 2)
"""A series' next value that is more than so many steps away is not the next one: some between them are missing."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LATEST_SECONDS, _HIGHEST_RATE = 10**11, 10**15


@dataclass(frozen=True)
class Held:
    """A value that holds in [from_ms, to_ms), in nano-units a second."""

    from_ms: int
    to_ms: int
    nano_per_second: int


@dataclass
class Rates:
    """The values of all files: of a kind (BYTES or MESSAGES), topic and broker ("" where no file tells it) by time in ms."""

    values: dict[tuple[str, str, str], dict[int, int]] = field(default_factory=dict)

    def add(self, file: str, place: str, series: tuple[str, str, str], time_ms: int, nano_per_second: int) -> None:
        """Adds one value; raises InputError if the series has one of this time."""
        of_series = self.values.setdefault(series, {})
        if time_ms in of_series:
            kind, topic, broker = series
            of_broker = f" on {quoted(broker)}" if broker else ""
            problem = f"{kind} of {quoted(topic)}{of_broker} stands twice at {time_text(time_ms)}"
            allowed = "one value a time, topic and broker, as of sum by (topic, instance) (rate(...))"
            raise InputError.at(file, place, problem, allowed)
        of_series[time_ms] = nano_per_second

    def step_ms(self) -> int | None:
        """The usual time from one value to the next of its series; None if no series has two."""
        steps = [later - time for of_series in self.values.values() for time, later in pairwise(sorted(of_series))]
        return median_low(steps) if steps else None

    def held(self, series: tuple[str, str, str], step_ms: int) -> Iterator[Held]:
        """The values of a series in order of time: each holds until the next, or for a step before a gap and at the end."""
        of_series = self.values[series]
        times = sorted(of_series)
        for time, later in zip(times, [*times[1:], None], strict=True):
            gap = later is None or is_gap(later - time, step_ms)
            yield Held(time, time + step_ms if gap or later is None else later, of_series[time])

    def gaps(self, step_ms: int) -> int:
        """How often values are missing between two of a series."""
        return sum(
            is_gap(later - time, step_ms) for of_series in self.values.values() for time, later in pairwise(sorted(of_series))
        )


def is_gap(time_ms: int, step_ms: int) -> bool:
    """Whether values are missing between two that are this far apart."""
    steps, of = GAP_IN_STEPS
    return time_ms * of > step_ms * steps


def parse_time(text: str) -> int | None:
    """Milliseconds since 1970 of a time, in UTC if it names no zone; None for what is no time (TIME_ALLOWED)."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        seconds = Decimal(text)
        return int((seconds * 1000).to_integral_value()) if 0 <= seconds < _LATEST_SECONDS else None
    try:
        time = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    since = time - datetime(1970, 1, 1, tzinfo=timezone.utc)
    milliseconds = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return milliseconds if milliseconds >= 0 else None


def parse_rate(text: str) -> int | None:
    """Nano-units a second of a rate; None for what is none (RATE_ALLOWED), NaN and infinity too."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    rate = Decimal(text)
    return int((rate * NANO).to_integral_value()) if 0 <= rate <= _HIGHEST_RATE else None


def time_text(time_ms: int) -> str:
    """A time as people read it, in UTC."""
    seconds, milliseconds = divmod(time_ms, 1000)
    text = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"
