"""Moments of a round at which a broker stops (docs/kafka_rounds.md, Last moments), as whole numbers."""

MOMENTS = 1_000_000
"""Of a round; this one itself is the last: all that the round brings is appended, and nobody has any of it."""
NOT_GIVEN = -1
"""The moment of a fault that says none: the round's start."""
NOT_STOPPED = -2
"""Of a broker that is not offline, or stopped cleanly."""
