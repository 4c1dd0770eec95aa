"""Followers send their fetch; the client leader checks epoch and lineage and notes how far they are."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, inlined
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.log import end_offset_for_epoch, floor_epoch, last_epoch
from emulator.expressions.slots import bit


def request_fetch(state: DataFrame, rules: RunRules) -> DataFrame:
    """Decide whose fetch reaches whom, and what the client leader notes of it.

    A follower sends its LEO, last fetched epoch and believed leader epoch. Accepted only in the leader's own epoch
    (KIP-320). The first fetch in an epoch is checked for divergence against the leader's cache as it was at the round's
    start (`leader_log`); later ones cannot diverge. Noted: remote LEO and when the follower was last caught up
    (Replica.updateFetchStateOrThrow; docs/kafka_rounds.md step 4).
    """
    return state.withColumns(_check(rules)).withColumns(_note())


def _send(rules: RunRules) -> Step:
    request = f"(world.drop IS NULL OR (get(world.drop, slot) & {bit('believed_leader')}) = 0)"
    sends = (
        "((world.running & assigned & own_bit) != 0 AND NOT is_leader AND believed_leader >= 0"
        f" AND believed_leader != slot AND leader != slot AND {request})"
    )
    if rules.tiers:
        sends = f"({sends} AND aux_state IS NULL)"
    in_epoch = rules.choose("fetch_in_leader_epoch", "believed_epoch = client_epoch", "true")
    return {
        "sends": sends,
        "fetch_epoch": "believed_epoch",
        "hears": "(world.drop IS NULL OR (get(world.drop, believed_leader) & own_bit) = 0)",
        "primary": f"{sends} AND believed_leader = client_leader AND {in_epoch} AND leader_runs",
    }


@built_once
def _check(rules: RunRules) -> Step:
    epoch = last_epoch("log")
    end = f"greatest({end_offset_for_epoch('leader_log', 'leader_leo', epoch)}, leader_log_start)"
    diverges = f"({floor_epoch('leader_log', epoch)} < {epoch} OR {end} < leo)"
    start = "greatest(leader_log_start, leader_local_start)" if rules.segments else "leader_log_start"
    refused = (
        f"CASE WHEN verified THEN leo < {start} WHEN leo < {start} THEN true"
        f" WHEN size(log) = 0 THEN leo > leader_leo ELSE {diverges} END"
    )
    # Without epochs in fetches the leader knows of offsets only; who has a question does not fetch.
    refused = rules.choose("epochs_in_fetch", refused, f"(truncating OR leo < {start} OR leo > leader_leo)")
    return inlined(_send(rules), {"noted": f"IF(primary, {refused}, true) = false"})


@built_once
def _note() -> Step:
    caught_up = (
        "CASE WHEN NOT noted THEN caught_up_round WHEN leo >= leader_leo THEN round"
        " WHEN leo >= fetched_leader_leo THEN greatest(caught_up_round, fetched_round) ELSE caught_up_round END"
    )
    return {
        "remote_leo": "IF(noted, leo, remote_leo)",
        "verified": "verified OR noted",
        "caught_up_round": caught_up,
        "fetched_round": "IF(noted, round, fetched_round)",
        "fetched_leader_leo": "IF(noted, leader_leo, fetched_leader_leo)",
    }
