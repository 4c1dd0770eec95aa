"""Followers and their leaders: the fetch request (step 4) and its response (7).

What is asked before a fetch in generations before KIP-320, and how they cut, is in truncating.py.
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round
from emulator.rounds.relational.verbs import truncating
from emulator.rounds.relational.verbs.chunks import append_chunks, in_bins, numbered
from emulator.rounds.relational.verbs.cutting import clamped, cut_columns, lost_by_cuts, write_down_cuts
from emulator.rounds.relational.verbs.links import LINK, REACHES, passing
from emulator.rounds.relational.verbs.logs import batches_between, end_offset_for_epoch, epoch_ends, last_epochs

REQUEST = (
    "pid", "broker", "scenario_id", "round", "source", "leo", "log_start", "isolated", "island", "last_epoch", "asked_epoch",
    "protocol", "client_leader", "client_epoch", "believed_epoch", "truncating",
)  # fmt: skip

OF_A_FETCH = ("own_trip_us", "fetched_per_second")
"""How long a fetch takes: its round trip, and the bytes that come in a second."""


def request_fetch(now: Round) -> Round:
    """The fetch, a join of replicas with replicas: followers ask the leader they believe in, from the end of their logs on.

    A request is a row of `fetches`: of the follower its `leo`, its `last_epoch` and more, of its `source` what begins so.
    """
    follows = "running AND position IS NOT NULL AND believed_leader >= 0 AND believed_leader != broker AND broker != leader"
    has_tiers = now.remote_segments is not None
    asking = f"{follows}{' AND builds_leader IS NULL' if has_tiers else ''}"
    followers = now.replicas.where(asking).with_columns(source="believed_leader")
    sent = passing(now, followers, "broker", "source").join(last_epochs(now.leader_epochs), REPLICA, "left")
    requests = sent.with_columns(asked_epoch="last_epoch").select(*REQUEST)
    leaders = now.replicas.select(
        "pid", "broker AS source", "position IS NOT NULL AND running AND leads AS source_leads",
        "believed_epoch AS source_epoch", "leo AS source_leo",
        "hw_at_start AS source_hw", f"{now.whole_start} AS source_log_start", "log_start AS source_local_start",
        "isolated AS source_isolated", "island AS source_island", "leo_at_start AS source_leo_at_start",
    )  # fmt: skip
    return replace(now, fetches=requests.join(leaders, ["pid", "source"], "left").where(REACHES))


def answer_fetches(now: Round) -> Round:
    """Who is asked and leads in the same epoch has an `answer`: data, or where the logs diverge.

    Logs that part end an epoch at different offsets. `answered_epoch`, `answered_end`: the epoch that the leader names, and its
    end there; `own_epoch`, `own_end`: the same in the follower's log. `is_noted`: it is T that answers with data.
    """
    assert now.fetches is not None
    looked_up = end_offset_for_epoch(now.fetches, now.leader_epochs, "source", "source_leo")
    if now.inputs.has_older:
        looked_up = truncating.ask(now, looked_up)
    noted = "answer = 'data' AND source = client_leader AND source_epoch = client_epoch"
    answered = looked_up.with_columns(answer=_answer(now)).with_columns(is_noted=noted)
    named = answered.with_columns(asked_epoch="IF(answer IN ('diverging', 'end of epoch'), floor_epoch, null)").drop("has_floor")
    named = named.renamed(floor_epoch="answered_epoch", end_offset="answered_end")
    own = end_offset_for_epoch(named, now.leader_epochs, "broker", "leo")
    own = own.renamed(floor_epoch="own_epoch", end_offset="own_end", has_floor="has_own")
    return replace(now, fetches=own.drop("asked_epoch"))


def _answer(now: Round) -> str:
    """SQL: what a leader answers. 'none': it does not, or with an error that changes nothing."""
    answer = (
        "CASE WHEN NOT coalesce(source_leads, false) THEN 'none'"
        f"{truncating.ANSWER if now.inputs.has_older else ''}"
        " WHEN source_epoch != believed_epoch THEN 'none'"
        " WHEN leo < source_log_start THEN 'below log start'"
        " WHEN last_epoch IS NULL OR floor_epoch IS NULL THEN"
        " CASE WHEN leo > source_leo THEN 'above LEO' WHEN last_epoch IS NULL THEN 'data' ELSE 'none' END"
        " WHEN floor_epoch < last_epoch OR end_offset < leo THEN 'diverging' ELSE 'data' END"
    )
    if now.remote_segments is None:
        return answer
    return f"CASE WHEN ({answer}) = 'data' AND leo < source_local_start THEN 'moved' ELSE {answer} END"


def note_fetches(now: Round) -> Round:
    """T notes how far each follower is, and whether it caught up, now or with what it had missed at the fetch before."""
    assert now.fetches is not None
    answered = now.fetches.select(*REPLICA, "source", "answer", "is_noted AS noted", "source_leo", "last_epoch")
    return (
        now.with_replicas(now.replicas.join(answered, REPLICA, "left"))
        .with_columns(is_noted="coalesce(noted, false)")
        .with_columns(
            remote_leo="IF(is_noted, leo, remote_leo)",
            caught_up_round=(
                "CASE WHEN is_noted AND leo >= source_leo THEN round"
                " WHEN is_noted AND leo >= previous_leader_leo THEN greatest(caught_up_round, previous_round)"
                " ELSE caught_up_round END"
            ),
            previous_round="IF(is_noted, round, previous_round)",
            previous_leader_leo="IF(is_noted, source_leo, previous_leader_leo)",
        )
    )


def drop_answers(now: Round) -> Round:
    """Forget the answers that are lost on the way."""
    assert now.fetches is not None
    return replace(now, fetches=passing(now, now.fetches.where("answer != 'none'"), "source", "broker"))


def choose_batches(now: Round) -> Round:
    """What comes: chunks of whole batches, one for each fetch of the round, as far as slow links and disks let them.

    `chunks`: a row for each of these fetches; `taken`: one for each replica and range of an epoch of which something comes.
    """
    assert now.fetches is not None
    wanted = _wanted(now, now.fetches.where("answer = 'data'"))
    most = "fetches_a_round * (fetch_max_bytes DIV (batch_records * record_bytes) + 1)"
    each = numbered(batches_between(_missing(now.logs, wanted), now.batches, most), "base_offset")
    if now.inputs.has_older:
        now, each = truncating.refuse_rests_of_batches(now, each)
    so_far = "sum(size) OVER (PARTITION BY pid, broker ORDER BY nth)"
    waiting = each.with_columns(size="batch_bytes", room="fetch_max_bytes").with_columns(so_far=so_far).settled()
    by_fetch = in_bins(waiting, now.inputs.most_fetches).where("bin < fetches_a_round")
    if now.inputs.most_fetches > 1:
        by_fetch = _within_round(by_fetch)
    by_fetch = by_fetch.where("allowance IS NULL OR so_far <= allowance").settled()
    chunks = by_fetch.group_by(*REPLICA, "bin").agg(
        "max(end_offset) AS ends", "sum(batch_bytes) AS bytes", "max(batch_round) AS newest"
    )
    taken = by_fetch.group_by(*REPLICA, "epoch", "from_offset").agg("max(end_offset) AS to_offset", "sum(batch_bytes) AS bytes")
    assert now.fetches is not None
    fetches = now.fetches.join(wanted.select(*REPLICA, "allowance"), REPLICA, "left")
    fetches, chunks, taken = now.replicas.engine.settle([fetches, chunks.drop("bin"), taken])
    return replace(now, fetches=fetches, chunks=chunks, taken=taken)


def _within_round(by_fetch: Query) -> Query:
    """Of batches by their fetch (`bin`) those of the first, and of others that end within the round.

    A fetch takes as long as a full one, or as its bytes do where it brings one larger batch.
    """
    fetched_bytes = "sum(batch_bytes) OVER (PARTITION BY pid, broker, bin)"
    begins = "row_number() OVER (PARTITION BY pid, broker, bin ORDER BY nth) = 1"
    fetch_us = "trip_us + greatest(fetched_bytes, fetch_max_bytes) * 1000000 DIV fetched_per_second"
    timed = by_fetch.with_columns(fetched_bytes=fetched_bytes, begins=begins)
    timed = timed.with_columns(took_us=f"IF(begins, {fetch_us}, 0L)")
    timed = timed.with_columns(until_us="sum(took_us) OVER (PARTITION BY pid, broker ORDER BY nth)")
    within = timed.where("bin = 0 OR round_us IS NULL OR until_us <= round_us")
    return within.drop("fetched_bytes", "begins", "took_us", "until_us")


def _wanted(now: Round, fetches: Query) -> Query:
    """What followers may have: as many fetches of so many bytes, and no more than their `allowance` (null: no limit)."""
    limits = ("fetch_max_bytes", "disk_bytes", "credit_bytes", "fetches_a_round", "fetch_us", "round_us", *OF_A_FETCH)
    wanted = fetches.join(now.replicas.select(*REPLICA, *limits), REPLICA)
    if now.inputs.links is None:
        wanted = wanted.with_columns(link_bytes="CAST(null AS BIGINT)", link_us="CAST(null AS BIGINT)")
    else:
        slow = now.inputs.links.where("link_bytes IS NOT NULL OR link_us IS NOT NULL")
        wanted = wanted.join_where(slow.broadcast(), f"{LINK} AND sender = source AND receiver = broker", "left")
    by_link = "IF(link_us + round_us IS NULL, fetches_a_round, greatest(1L, round_us DIV (link_us + fetch_us)))"
    return wanted.select(
        *REPLICA, "source", "leo AS log_start", "source_leo AS leo", "least(link_bytes, disk_bytes) + credit_bytes AS allowance",
        "fetch_max_bytes", f"{by_link} AS fetches_a_round", "source_log_start", "protocol", "round_us",
        "coalesce(link_us, own_trip_us) AS trip_us", "fetched_per_second",
    )  # fmt: skip


def _missing(logs: Query, wanted: Query) -> Query:
    """What of the source's log a follower lacks, a row for each epoch."""
    ranges = (
        epoch_ends(logs)
        .renamed(broker="source")
        .join(wanted, ["pid", "source"])
        .with_columns(from_offset="greatest(start_offset, log_start)", to_offset="least(coalesce(end_offset, leo), leo)")
    )
    holds_before = "greatest(start_offset, source_log_start) < from_offset AS holds_before"
    return ranges.where("from_offset < to_offset").select(
        "pid",
        "broker",
        "epoch",
        "from_offset",
        "to_offset",
        "allowance",
        "fetch_max_bytes",
        "fetches_a_round",
        "round_us",
        "trip_us",
        "fetched_per_second",
        "protocol",
        holds_before,
    )


def take_answers(now: Round) -> Round:
    """Bring what the answers say to the replicas they are for."""
    assert now.fetches is not None and now.taken is not None
    cut = (
        "CASE answer WHEN 'diverging' THEN least(leo, answered_end, coalesce(own_end, leo)) WHEN 'above LEO' THEN source_leo END"
    )
    said = now.fetches.with_columns(cut_now=cut)
    if now.inputs.has_older:
        said = truncating.take_ends_of_epochs(now, said)
    if not now.inputs.is_calm or now.inputs.has_older:
        now = write_down_cuts(now, said.where("cut_now < leo"))
    assert now.taken is not None
    lost = lost_by_cuts(now, said)
    said = said.select(
        *REPLICA, "answer AS arrived", "cut_now", "source_leo AS there_leo", "source_hw",
        "source_log_start", "allowance", *(["asks_again"] if now.inputs.has_older else []),
    )  # fmt: skip
    taken = now.taken.group_by(*REPLICA).agg("max(to_offset) AS fetched_to", "sum(bytes) AS bytes_taken")
    replicas = now.replicas
    for rows in (said, lost, taken):
        replicas = replicas.join(rows, REPLICA, "left")
    return now.with_replicas(replicas.drop("cut_to")).with_columns(
        cut_to="cut_now",
        cut_from="leo",
        fetch_epoch="believed_epoch",
        source_hw_now="IF(source = client_leader, greatest(source_hw, reached), source_hw)",
    )


def truncate_diverging(now: Round) -> Round:
    """Cut at the least of the leader's and the follower's own end of the epoch and its LEO; a log out of range starts anew."""
    anew = "coalesce(arrived = 'below log start', false)"
    now = now.with_columns(**cut_columns(now, "cut_to"), starts_anew=anew)
    if now.inputs.has_older:
        now = now.with_columns(truncating="IF(coalesce(arrived = 'end of epoch', false), asks_again, truncating)")
    starts = ("log_start", "leo", "flushed", "segment_base", *(("whole_start",) if now.remote_segments is not None else ()))
    return now.with_columns(
        **{name: f"IF(starts_anew, source_log_start, {name})" for name in starts},
        truncated="truncated + IF(starts_anew, leo - log_start, 0L)",
        segment_size="IF(starts_anew, 0L, segment_size)",
        segment_newest="IF(starts_anew, null, segment_newest)",
        hw=f"CASE WHEN starts_anew THEN source_log_start WHEN cut_to IS NOT NULL THEN {clamped('hw')} ELSE hw END",
    )


def append_fetched(now: Round) -> Round:
    """A follower appends each response at once; its high watermark and log start follow its leader's.

    The high watermark is the leader's of before if data came or nothing waits, else the advanced one.
    """
    now = now.with_columns(
        size="coalesce(bytes_taken, 0L)", comes="fetched_to IS NOT NULL", has_data="coalesce(arrived = 'data', false)"
    )
    assert now.chunks is not None
    now = append_chunks(now, now.chunks, now.inputs.most_fetches).with_columns(
        leo="coalesce(fetched_to, leo)", replicated_bytes="replicated_bytes + size"
    )
    now = now.with_columns(told_hw="IF(comes OR NOT waits, source_hw, source_hw_now)").with_columns(
        hw=f"IF(has_data, {clamped('told_hw')}, hw)",
        credit_bytes="IF(has_data, IF(leo < there_leo, coalesce(allowance - size, 0L), 0L), credit_bytes)",
    )
    rises = f"has_data AND source_log_start > {now.whole_start} AND source_log_start <= hw"
    now = now.with_columns(new_log_start=f"IF({rises}, source_log_start, null)")
    if now.remote_segments is not None:
        now = now.with_columns(whole_start="coalesce(new_log_start, whole_start)")
    return now.with_columns(log_start="greatest(log_start, new_log_start)")
