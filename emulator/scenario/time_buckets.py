"""Into what parts a run is divided for broker_rounds."""

from __future__ import annotations

BUCKET_UNIT_ROUNDS = 25
"""Time buckets are whole multiples of so many rounds."""


def bucket_length(rounds: int, time_buckets: int) -> int:
    """Rounds of a time bucket of broker_rounds: about that part of the run, in whole units; it does not depend on jobs.

    >>> bucket_length(3_000, 25), bucket_length(3_000, 10)
    (125, 300)
    """
    return -(-max(-(-rounds // time_buckets), 1) // BUCKET_UNIT_ROUNDS) * BUCKET_UNIT_ROUNDS
