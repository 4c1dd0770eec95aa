"""What T does: it appends (step 3), lets replicas into the ISR and throws them out (5), advances its high watermark (6)."""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.inputs.workload import OF_RATES
from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import ACKS, BATCH_COLUMNS, PARTITION, REPLICA, SERVES, Round, is_due, of_leader, over
from emulator.rounds.relational.verbs.elr import MINIMUM, change_isr

WORK = ("from_round", "to_round", "records", "record_bytes", "acked_on_append", "unacknowledged", *OF_RATES)


def append(now: Round) -> Round:
    """T takes the batches of its clients one by one; acks=all is refused while the ISR it knows is below the minimum."""
    now = (
        _join_workload(now)
        .with_columns(client_untold=of_leader("untold"))
        .with_columns(is_known="IF(client_untold, known_in_isr, in_isr)")
    )
    now = now.with_columns(
        appends=f"{SERVES} AND NOT clients_cut",
        known_members=over("count_if(is_known)"),
        isr_minimum=MINIMUM,
        **dict.fromkeys(("due", "due_on_append", "taken_now", "refused_now", "taken_on_append"), "0L"),
    )
    for number in range(now.inputs.batches_due):
        now = _append_one(now, number)
    return now.with_columns(
        appended="appended + taken_now",
        refused="refused + refused_now",
        leo_after_append="leo",
        new_log_start="CAST(null AS BIGINT)",
        deleted_to="CAST(null AS BIGINT)",
    )


def _join_workload(now: Round) -> Round:
    """What clients send in this round: records_0, record_bytes_0, acked_on_append_0, and so on for further batches."""
    replicas = now.replicas
    for number in range(now.inputs.batches_due):
        names = {name: f"{name}_{number}" for name in WORK} | {"workload_id": f"sent_{number}"}
        batch = now.inputs.workload.where(f"number = {number}").drop("number").renamed(**names)
        is_due = f"sent_{number} = workload_id AND from_round_{number} <= round AND round < to_round_{number}"
        replicas = replicas.join_where(batch.broadcast(), is_due, "left")
        replicas = replicas.drop(f"sent_{number}", f"from_round_{number}", f"to_round_{number}")
    now = now.with_replicas(replicas)
    return _records_by_rates(now) if now.inputs.has_rates else now


def _records_by_rates(now: Round) -> Round:
    """i rounds after its first a row has sent the whole records that its rate makes of i; one of none is no batch."""
    for number in range(now.inputs.batches_due):
        sent, acked = f"records_{number}", f"acked_on_append_{number}"
        now = now.with_columns(**{sent: records_of_rate(f"_{number}")})
        now = now.with_columns(**{sent: f"IF({sent} > 0, {sent}, null)", acked: f"IF({sent} > 0, {acked}, null)"})
    return now


def records_of_rate(of: str = "") -> str:
    """SQL: the records of a workload row in this round, by its rate where it has one. `of`: what its columns' names end with."""
    before = f"(round - since{of}) * rate_records{of} DIV rate_rounds{of}"
    with_this = f"(round - since{of} + 1) * rate_records{of} DIV rate_rounds{of}"
    return f"IF(rate_records{of} IS NULL, records{of}, ({with_this}) - ({before}))"


def _append_one(now: Round, number: int) -> Round:
    sent, acked = f"records_{number}", f"acked_on_append_{number}"
    now = now.with_columns(
        due=f"due + coalesce({sent}, 0)",
        due_on_append=f"due_on_append + IF(coalesce({acked}, false), {sent}, 0)",
        accepts=f"appends AND {sent} IS NOT NULL AND ({acked} OR known_members >= isr_minimum)",
        size=f"{sent} * record_bytes_{number}",
    )
    now = roll_segment(now, f"rolled_{number}").with_columns(
        **{f"base_{number}": "IF(accepts, leo, null)", f"end_{number}": f"IF(accepts, leo + {sent}, null)"},
        leo=f"leo + IF(accepts, {sent}, 0)",
        taken_now=f"taken_now + IF(accepts, {sent}, 0)",
        taken_on_append=f"taken_on_append + IF(accepts AND {acked}, {sent}, 0)",
        refused_now=f"refused_now + IF(appends AND NOT accepts, coalesce({sent}, 0), 0)",
    )
    return flush_messages(now)


def roll_segment(now: Round, rolled: str) -> Round:
    """Start a new segment for an accepted chunk of `size` bytes that is too big for the active one, or comes too late for it.

    `rolled`: the column that tells where; where segments are kept with those of the closed one.
    """
    due = "segment_size + size > segment_bytes OR round - segment_round >= segment_rounds"
    now = now.with_columns(rolls=f"accepts AND leo != segment_base AND ({due})")
    closed = (
        {} if now.segments is None else {f"{rolled}_{name}": f"segment_{name}" for name in ("base", "size", "round", "newest")}
    )
    return now.with_columns(
        **closed,
        **{rolled: "IF(rolls, leo, null)"},
        segment_base="IF(rolls, leo, segment_base)",
        segment_size="IF(rolls, 0L, segment_size) + IF(accepts, size, 0L)",
        segment_round="IF(accepts AND (rolls OR leo = segment_base), round, segment_round)",
        segment_newest="greatest(IF(rolls, null, segment_newest), IF(accepts, round, null))",
        flushed="IF(rolls, greatest(flushed, leo), flushed)",
    )


def flush_messages(now: Round) -> Round:
    """flush.messages is looked at after every chunk, of a log that has taken one (UnifiedLog.append)."""
    return now.with_columns(flushed="IF(accepts AND coalesce(leo - flushed >= flush_messages, false), leo, flushed)")


def keep_batches(now: Round) -> Round:
    """What was appended: all that is known of it, whoever has it."""
    if not now.inputs.batches_due:
        return now
    each = [
        {
            "base_offset": f"base_{k}", "end_offset": f"end_{k}", "record_bytes": f"record_bytes_{k}",
            "acked_on_append": f"acked_on_append_{k}", "unacknowledged": f"unacknowledged_{k}",
        }
        for k in range(now.inputs.batches_due)
    ]  # fmt: skip
    appended = (
        now.replicas.where("taken_now > 0")
        .select("pid", "client_epoch AS epoch", "round", *(name for batch in each for name in batch.values()))
        .stacked(each)
        .where("base_offset IS NOT NULL")
        .with_columns(batch_records="end_offset - base_offset", first_round="round", batch_rounds="1")
    )
    return replace(now, batches=with_batches(now.batches, appended.select(*BATCH_COLUMNS)))


def with_batches(batches: Query, appended: Query) -> Query:
    """The batches, and others: BATCH_COLUMNS. Like batches in a row become one row."""
    runs = batches.union(appended)
    alike = ["pid", "epoch", "batch_records", "record_bytes", *ACKS, "batch_rounds"]
    in_order = "OVER (PARTITION BY pid ORDER BY epoch, base_offset)"
    same = " AND ".join(f"lag({name}) {in_order} = {name}" for name in alike[1:])
    next_round = f"lag(first_round + (end_offset - base_offset) DIV batch_records) {in_order} = first_round"
    goes_on = f"coalesce(lag(end_offset) {in_order} = base_offset AND {next_round} AND {same}, false)"
    parts = runs.with_columns(begins_run=f"NOT {goes_on}").with_columns(run=f"count_if(begins_run) {in_order}")
    merged = parts.group_by(*alike, "run").agg(
        "min(base_offset) AS base_offset", "max(end_offset) AS end_offset", "min(first_round) AS first_round"
    )
    return merged.select(*BATCH_COLUMNS)


def delete_records(now: Round) -> Round:
    """T raises its log start where a delete_records says so, up to its high watermark."""
    if now.inputs.deletions is None:
        return now
    asked = now.inputs.deletions.renamed(command_round="round")
    serving = now.replicas.where("appends").join(asked.broadcast(), [*PARTITION, "round"])
    offsets = serving.with_columns(offset="IF(offset = -1, hw, offset)").where("offset > log_start AND offset <= hw")
    starts = offsets.group_by(*REPLICA).agg("max(offset) AS new_log_start")
    replicas = now.replicas.drop("new_log_start").join(starts, REPLICA, "left")
    return now.with_replicas(replicas).with_columns(deleted_to="new_log_start", log_start="coalesce(new_log_start, log_start)")


def judge_followers(now: Round) -> Round:
    """T judges all other replicas: who joins the ISR, who lags for good, who was caught up of late.

    One change waits for a controller that is out of touch: of the first that would join, else of all that lag. If it refuses
    that then, nothing waits any more.
    """
    now = now.with_columns(
        client_works=f"coalesce({of_leader(SERVES)}, false)",
        leader_leo=of_leader("leo"),
        leader_hw=of_leader("hw_at_start"),
        confirms=f"coalesce({of_leader(f'{SERVES} AND controller_up AND NOT untold')}, false)",
    ).with_columns(
        join_pends="join_pends AND NOT (confirms AND asked_in_vain)",
        shrink_pends="shrink_pends AND NOT (confirms AND asked_in_vain)",
        asked_in_vain="asked_in_vain AND NOT confirms",
    )
    now = now.with_columns(
        caught_up=(
            "position IS NOT NULL AND broker != client_leader AND (coalesce(remote_leo = leader_leo, false)"
            " OR coalesce(round - caught_up_round <= lag_rounds, false))"
        ),
        is_joiner=(
            "client_works AND is_noted AND NOT fenced AND NOT (is_known OR join_pends OR shrink_pends)"
            " AND leo >= leader_hw AND (protocol != 'kafka' OR leo >= lead_start)"
        ),
    )
    checks = f"client_works AND {is_due('isr_check_ms')} AND broker != client_leader"
    now = now.with_columns(
        lags=f"{checks} AND NOT caught_up AND NOT shrink_pends AND (is_known OR is_joiner)",
        asks=f"confirms OR NOT {over('bool_or(join_pends OR shrink_pends)')}",
        first_joiner=over("min_by(broker, IF(is_joiner, position, null))"),
    )
    return now.with_columns(
        is_joiner="is_joiner AND asks AND (confirms OR broker = first_joiner)",
        lags="lags AND asks AND (confirms OR first_joiner IS NULL)",
    )


def shrink_and_expand_isr(now: Round) -> Round:
    """Joins and shrinks are confirmed, with what was pending, if T is in touch with the controller; else one is pending."""
    now = now.with_columns(
        joins="confirms AND (is_joiner OR (join_pends AND NOT is_known AND NOT fenced))",
    ).with_columns(leaves="confirms AND (lags OR shrink_pends) AND (is_known OR joins)")
    now = now.with_columns(
        in_first_isr="is_known OR IF(confirms, joins, is_joiner)",
        in_second_isr="(is_known OR joins) AND NOT leaves",
        any_joins=over("bool_or(joins)"),
        any_leaves=over("bool_or(leaves)"),
        join_pends="client_works AND NOT confirms AND (join_pends OR is_joiner) OR (NOT client_works AND join_pends)",
        shrink_pends="client_works AND NOT confirms AND (shrink_pends OR lags) OR (NOT client_works AND shrink_pends)",
    ).with_columns(
        first_isr_size=f"IF(confirms, {over('count_if(in_first_isr)')}, known_members)",
        second_isr_size=over("count_if(in_second_isr)"),
        needed_members=MINIMUM,
        isr_expands=f"isr_expands + {over('count_if(joins)')}",
        isr_shrinks=f"isr_shrinks + {over('count_if(leaves)')}",
    )
    if now.inputs.has_elr:
        now = change_isr(now, "in_isr OR joins", "any_joins")
        return change_isr(now, "in_isr AND NOT leaves", "any_leaves")
    return now.with_columns(in_isr="(in_isr OR joins) AND NOT leaves")


def advance_high_watermark(now: Round) -> Round:
    """T's high watermark rises to what all of the maximal ISR have: the least of their LEOs, as T knows them.

    The maximal ISR: members, pending ones, and unfenced replicas outside that are caught up; with those who join, then without
    those who leave. Not while the ISR is below min.insync.replicas.
    """
    leaders_view = now.replicas.where("client_works").with_columns(
        known_leo="coalesce(remote_leo, 0L)",
        is_follower="position IS NOT NULL AND broker != client_leader",
        is_awaited="join_pends OR (caught_up AND NOT fenced)",
    )
    of_partition = ("pid", "needed_members", "leader_leo", "any_leaves", "first_isr_size", "second_isr_size")
    reached = leaders_view.group_by(*of_partition).agg(
        "min(known_leo) FILTER (WHERE is_follower AND (in_first_isr OR is_awaited)) AS with_joins",
        "min(known_leo) FILTER (WHERE is_follower AND (in_second_isr OR is_awaited)) AS without_leaving",
    )
    reached = reached.with_columns(
        with_joins="IF(first_isr_size >= needed_members, least(with_joins, leader_leo), null)",
        without_leaving="IF(any_leaves AND second_isr_size >= needed_members, least(without_leaving, leader_leo), null)",
    ).select("pid", "greatest(with_joins, without_leaving) AS reached")
    return now.with_replicas(now.replicas.join(reached, PARTITION, "left")).with_columns(
        hw="IF(broker = client_leader, greatest(hw, reached), hw)"
    )
