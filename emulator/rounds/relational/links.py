"""Links between brokers: which messages pass."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .tables import Round

LINK = "link_scenario = scenario_id AND link_from <= round AND round < link_to"


def passing(now: Round, messages: DataFrame, sender: str, receiver: str) -> DataFrame:
    """The messages whose link is not cut in that direction. `sender`, `receiver`: their columns."""
    if now.inputs.links is None:
        return messages
    cut = now.inputs.links.where("is_cut").withColumnsRenamed({"sender": "link_sender", "receiver": "link_receiver"})
    drops = F.expr(f"{LINK} AND link_sender = {sender} AND link_receiver = {receiver}")
    return messages.join(F.broadcast(cut), drops, "left_anti")
