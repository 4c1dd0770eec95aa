"""From scenarios to tables: what comes into each round from outside, what stands before round 0, and what is refused."""
