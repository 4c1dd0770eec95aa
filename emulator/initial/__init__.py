"""The state before round 0, of each system: placement, logs, tiers and readers as rows."""
