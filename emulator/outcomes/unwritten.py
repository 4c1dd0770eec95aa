"""What a query asks of events that a run did not write, for its scenarios say `events = [kinds]`."""

from __future__ import annotations

import re
from collections import defaultdict

from emulator.errors import some
from emulator.outcomes.ask import Asker
from emulator.outcomes.resolve import resolve
from emulator.outcomes.view_texts import HELPER_VIEWS, helper_view_sql, names_in, with_sources, without_comments
from emulator.scenario.event_kinds import LEDGER_EVENTS, PARTITION_EVENTS, unwritten_kinds

_ALL = {*PARTITION_EVENTS, *LEDGER_EVENTS}
_OF_ALL_KINDS = ("events", "event_causes")
"""Views with a row for every event."""
_COMPARED = r"\bkind\s*(=|\bIN\b)"


def unwritten_notes(tables: Asker, query: str) -> list[str]:
    """A line for the scenarios that left out the same events which the query asks for. `query`: as of `Asker.ask`."""
    asked = kinds_asked_for(resolve(query))
    if not asked:
        return []
    _, chosen = tables.ask("SELECT name, protocol, event_kinds FROM scenarios ORDER BY scenario_id")
    of_kinds: dict[str, list[str]] = defaultdict(list)
    for name, protocol, written in chosen:
        missing = [kind for kind in unwritten_kinds(protocol, written) if kind in asked]
        if missing:
            of_kinds[", ".join(missing)].append(name)
    lacks = "did not write events of these kinds, which the answer lacks"
    return [
        f"{some('scenario', names)} {lacks}: {kinds}; event_counts has how many there were" for kinds, names in of_kinds.items()
    ]


def kinds_asked_for(sql: str) -> set[str]:
    """The kinds of events that SQL over the views may read: those that it, or a view below it, names.

    All, where it reads events and holds their kind against none.

    >>> kinds_asked_for("SELECT count(*) FROM events WHERE kind = 'election'")
    {'election'}
    """
    text = without_comments(sql)
    named = names_in(re.sub(r"\bAS\s+\w+", "", text, flags=re.IGNORECASE))
    sources = with_sources(named)
    if "events" not in sources:
        return set()
    own = _kinds_in(text)
    if named & {*_OF_ALL_KINDS} and not (own and re.search(_COMPARED, text, re.IGNORECASE)):
        return _ALL
    return own.union(*(_kinds_in(without_comments(helper_view_sql(view))) for view in sources & {*HELPER_VIEWS}))


def _kinds_in(sql: str) -> set[str]:
    return {*re.findall(r"['\"](\w+)['\"]", sql)} & _ALL
