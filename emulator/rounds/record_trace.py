"""Traced replicas keep what they look like at the end of every round."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.rounds.columns import Step, built_once
from emulator.rounds.log import epoch_cache


def record_trace(state: DataFrame) -> DataFrame:
    """Append this round to `trace` (array of TRACE structs) of traced rows; comes last, when `round` has moved on."""
    return state.withColumns(_trace())


@built_once
def _trace() -> Step:
    fields = {
        "round": "round - 1",
        "running": "(world.running & own_bit) != 0",
        "offline": "(world.offline & own_bit) != 0",
        "assigned": "assigned",
        "replica": "(assigned & own_bit) != 0",
        "is_leader": "is_leader",
        "believed_epoch": "believed_epoch",
        "log_start_offset": "log_start_offset",
        "leo": "leo",
        "hw": "hw",
        "remote_leo": "IF(slot = client_leader, null, remote_leo)",
        "in_isr": "(isr & own_bit) != 0",
        "fetch_state": (
            "CASE WHEN NOT sends THEN null WHEN NOT answered THEN 'unanswered' WHEN response.outcome = 'answer' THEN 'asked'"
            " WHEN response.outcome = 'out_of_order' THEN 'out_of_order'"
            " WHEN response.cut_from IS NOT NULL THEN 'truncated'"
            " WHEN chunk_bytes > 0 THEN 'fetched' WHEN primary AND NOT noted THEN 'out_of_range' ELSE 'empty' END"
        ),
        "epochs": epoch_cache("log", "log_start_offset"),
        "leader": "leader",
        "leader_epoch": "leader_epoch",
        "isr": "isr",
        "elr": "elr",
        "last_known_elr": "last_known_elr",
    }
    row = ", ".join(f"'{name}', {text}" for name, text in fields.items())
    return {"trace": f"IF(traced, concat(trace, array(named_struct({row}))), trace)"}
