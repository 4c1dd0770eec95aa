"""Numbers that are drawn, as docs/quorum_rounds.md has them under "The draw"."""

from __future__ import annotations

from tests.reference.mixing import mixed
from tests.reference.quorums.cases import Case


def drawn(seed: int, group: int, server: int, stood: int, jitter: int) -> int:
    """The draw of the page."""
    return mixed(seed, group, server, stood) % (jitter + 1)


def trip_of(case: Case, round_: int, sender: int, receiver: int, delay: int) -> int:
    """Rounds of a request over a link with a delay, and of the disk at its end."""
    most, extra = delay * case.delay_percent // 100, 0
    link = 256 + 16 * sender + receiver
    if most and case.delay_shape == "uniform":
        extra = drawn(case.seed, case.number, link, 128 * round_, most)
    elif most:
        tries = (drawn(case.seed, case.number, link, 128 * round_ + step, most) for step in range(128))
        extra = next((step for step, number in enumerate(tries) if number == 0), 128)
    return delay + extra + case.fsync_rounds
