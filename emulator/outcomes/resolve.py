"""Which SQL a query is: its own, or that of a bundled question."""

from __future__ import annotations

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.outcomes import queries


def resolve(query: str) -> str:
    """Returns the SQL of a query, which may be the "@name" of a bundled question; raises InputError where there is none."""
    if not query.strip():
        raise InputError("SQL: the query is empty")
    if not query.startswith("@"):
        return query
    name, known = query[1:], queries()
    if name not in known:
        raise InputError(
            f"SQL: no bundled question is named {quoted(name)}{did_you_mean(name, known)}; allowed: {listing(known)}"
        )
    return known[name].sql
