"""How followers cut their logs in generations before KIP-320 (docs/kafka_rounds.md, "The protocol variants").

kafka-high-watermark: at their own high watermark, at once. kafka-kip101, kafka-kip279: they ask for the end of their last epoch
first, and fetch without epochs then.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round
from emulator.rounds.relational.verbs.caches import keep_caches_of_followers
from emulator.rounds.relational.verbs.cutting import clamped, cut_columns, lost_by_cuts, write_down_cuts
from emulator.rounds.relational.verbs.logs import batches_at, end_offset_for_epoch
from emulator.rounds.relational.verbs.segments import cut_segments, segments_after_fetching

ASKS = "(protocol IN ('kafka-kip101', 'kafka-kip279') AND truncating)"
ANSWER = (
    f" WHEN {ASKS} THEN 'end of epoch'"
    " WHEN protocol != 'kafka' THEN"
    " CASE WHEN leo < source_log_start THEN 'below log start' WHEN leo > source_leo THEN 'above LEO' ELSE 'data' END"
)
"""SQL, of an answer's CASE: what a leader says that knows of no epochs in fetches."""


def keep_epochs_at_start(now: Round) -> Round:
    """Who asks where an epoch ends is answered from what step 1 left: without the epoch that a new leader takes."""
    if not now.inputs.has_older:
        return now
    epochs = now.leader_epochs
    if now.inputs.damages or (now.inputs.cuts_to_hw and (now.inputs.restarts or not now.inputs.number)):
        now = now.with_replicas(now.replicas.settled())
        cut = now.replicas.where("cut_to IS NOT NULL").select(*REPLICA, "cut_to")
        kept = epochs.join(cut, REPLICA, "left").where("cut_to IS NULL OR start_offset < cut_to")
        epochs = kept.drop("cut_to").settled()
    return replace(now, epochs_at_start=epochs)


def ask(now: Round, looked_up: Query) -> Query:
    """The fetches, those that ask for the end of their last epoch with the leader's answer: floor_epoch and end_offset."""
    assert now.epochs_at_start is not None
    asking = looked_up.where(ASKS).drop("floor_epoch", "end_offset", "has_floor")
    answered = end_offset_for_epoch(asking, now.epochs_at_start, "source", "source_leo_at_start")
    return looked_up.where(f"NOT {ASKS}").union(answered)


def refuse_rests_of_batches(now: Round, each: Query) -> tuple[Round, Query]:
    """Whole batches come back: where a log ends inside of one the append fails, out of order."""
    assert now.fetches is not None
    inside = "nth = 1 AND is_rest AND holds_before AND protocol != 'kafka'"
    unordered = each.where(inside).select(*REPLICA, "true AS is_unordered")
    fetches = now.fetches.join(unordered, REPLICA, "left")
    fetches = fetches.with_columns(answer="IF(is_unordered, 'out of order', answer)").drop("is_unordered")
    return replace(now, fetches=fetches), each.join(unordered, REPLICA, "anti")


def take_ends_of_epochs(now: Round, said: Query) -> Query:
    """Cut where the answer to a question says, whole batches; KIP-279: ask again where the follower lacks the epoch.

    Adds asks_again to the answers.
    """
    own = now.replicas.select(*REPLICA, "hw AS own_hw")
    common = "has_own AND own_epoch = answered_epoch"
    cut = (
        "CASE WHEN answer != 'end of epoch' THEN cut_now"
        " WHEN answered_end IS NULL OR last_epoch IS NULL THEN own_hw"
        " WHEN protocol = 'kafka-kip101' THEN least(leo, answered_end)"
        f" WHEN {common} THEN least(leo, answered_end, own_end) WHEN has_own THEN own_end ELSE log_start END"
    )
    again = (
        f"protocol = 'kafka-kip279' AND answered_end IS NOT NULL AND last_epoch IS NOT NULL AND has_own"
        f" AND NOT ({common}) AND own_end > log_start"
    )
    cuts = said.join(own, REPLICA).with_columns(cut_now=cut, asks_again=f"coalesce({again}, false)")
    return at_batches_at(now, cuts.drop("own_hw"))


def at_batches_at(now: Round, cuts: Query) -> Query:
    """Generations before KIP-320 cut whole batches. `cuts`: with pid, broker, protocol, log_start, leo, cut_now."""
    inside = cuts.where("protocol != 'kafka' AND cut_now < leo AND cut_now >= log_start")
    starts = batches_at(inside.select(*REPLICA, "cut_now AS offset", "log_start", "leo"), now.logs, now.batches)
    whole = cuts.join(starts.drop("batch_round"), REPLICA, "left").with_columns(cut_now="coalesce(batch_start, cut_now)")
    return whole.drop("batch_start")


def cut_at_start(now: Round) -> Round:
    """kafka-high-watermark: who follows as the run begins is cut, before anything else happens in round 0."""
    if not now.inputs.cuts_to_hw or now.inputs.number:
        return now
    now = cut_followers(now, "NOT leads", "restart")
    now = now.with_replicas(now.replicas.settled())
    cut = now.replicas.where("restart_cut_to IS NOT NULL").select(*REPLICA, "restart_cut_to AS cut_to")

    def kept(entries: Query) -> Query:
        return entries.join(cut, REPLICA, "left").where("cut_to IS NULL OR start_offset < cut_to").drop("cut_to").settled()

    own_logs = None if now.own_logs is None else kept(now.own_logs)
    segments = None if now.segments is None else cut_segments(now.segments, cut.with_columns(clears="false"), []).settled()
    return replace(now, leader_epochs=kept(now.leader_epochs), own_logs=own_logs, segments=segments)


def cut_learned(now: Round) -> Round:
    """Step 8 of kafka-high-watermark: who follows another leader, or in another epoch, from now on is cut."""
    if not now.inputs.cuts_to_hw:
        return now
    nothing = dict.fromkeys(("learned_cut_to", "learned_cut_start"), "CAST(null AS BIGINT)")
    if now.inputs.is_calm:
        return now.with_columns(**nothing, learned_cut_from="leo", learned_cut_epoch="believed_epoch")
    before = now.with_columns(**nothing)
    before = before.with_replicas(before.replicas.settled())
    after = keep_caches_of_followers(before)
    own_logs = None if after.own_logs is None else after.own_logs.settled()
    after = replace(after, leader_epochs=after.leader_epochs.settled(), own_logs=own_logs)
    if after.segments is not None:
        after = replace(after, segments=segments_after_fetching(after).settled())
    cut = cut_followers(after, "steps_down AND hears_new", "learned")
    return replace(cut, leader_epochs=now.leader_epochs, own_logs=now.own_logs, segments=now.segments)


def cut_followers(now: Round, when: str, name: str) -> Round:
    """kafka-high-watermark: the logs of those of whom this is so (SQL) are cut at their high watermarks, whole batches.

    `name`: what the columns begin with that tell of it: NAME_cut_to (null: no cut), NAME_cut_from, NAME_cut_epoch, and where the
    log began, NAME_cut_start.
    """
    if not (now.inputs.restarts or not now.inputs.number or name == "learned"):
        nothing = dict.fromkeys((f"{name}_cut_to", f"{name}_cut_from", f"{name}_cut_start"), "CAST(null AS BIGINT)")
        return now.with_columns(**nothing, **{f"{name}_cut_epoch": "believed_epoch"})
    now = now.with_columns(cuts=f"protocol = 'kafka-high-watermark' AND position IS NOT NULL AND ({when})")
    now = now.with_replicas(now.replicas.settled())
    columns = (*REPLICA, "protocol", "log_start", "leo", "client_leader", "client_epoch", "round", "least(leo, hw) AS cut_now")
    cuts = at_batches_at(now, now.replicas.where("cuts").select(*columns))
    now = write_down_cuts(now, cuts.where("cut_now < leo"))
    lost = lost_by_cuts(now, cuts)
    replicas = now.replicas.drop("cut_now", *lost.columns[2:]).join(cuts.select(*REPLICA, "cut_now"), REPLICA, "left")
    now = now.with_replicas(replicas.join(lost, REPLICA, "left")).with_columns(
        **{f"{name}_cut_to": "cut_now", f"{name}_cut_from": "leo", f"{name}_cut_epoch": "believed_epoch"},
        **{f"{name}_cut_start": "log_start"},
        **cut_columns(now, "cut_now"),
    )
    now = now.with_columns(hw=f"IF(cut_now IS NULL, hw, {clamped('hw')})")
    return now.with_replicas(now.replicas.drop("cut_now", "cuts", *lost.columns[2:]))
