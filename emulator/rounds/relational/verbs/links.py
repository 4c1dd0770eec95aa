"""Links between brokers: which messages pass."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import Round

REACHES = "((NOT isolated AND NOT coalesce(source_isolated, false)) OR coalesce(island = source_island, false))"
"""SQL: the network is whole between a replica and its source: nothing isolates either, or only what isolates their rack."""

LINK = "link_scenario = scenario_id AND link_from <= round AND round < link_to"


def passing(now: Round, messages: Query, sender: str, receiver: str) -> Query:
    """The messages whose link is not cut in that direction. `sender`, `receiver`: their columns."""
    if now.inputs.links is None:
        return messages
    cut = now.inputs.links.where("is_cut").renamed(sender="link_sender", receiver="link_receiver")
    drops = f"{LINK} AND link_sender = {sender} AND link_receiver = {receiver}"
    return messages.join_where(cut.broadcast(), drops, "anti")
