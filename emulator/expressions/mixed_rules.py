"""Rules that only some of the protocols of a run have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def holds(rules: Mapping[str, object], protocols: Sequence[str], rule: str) -> str:
    """SQL text: whether the row's protocol has the rule; a constant, for Spark to fold, where all or none of the run's have it.

    `rules`: protocol name -> its rules, one flag each; a protocol's place there is `feed.protocol`. `protocols`: the run's.
    """
    numbers = {name: number for number, name in enumerate(rules)}
    having = [numbers[name] for name in protocols if getattr(rules[name], rule)]
    if len(having) in (0, len(protocols)):
        return "true" if having else "false"
    return f"(feed.protocol IN ({', '.join(map(str, having))}))"
