"""What one round brings a reader: where to start, that its log was cut, which replica to ask, an error, or records.

SQL texts over a reader `r` (null replica: it asks the leader), what its group wants `w`, whether it knew this leader before
`knew_`, and the row of the replica that it asks (types.Asked).
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.reading import local, remote
from emulator.expressions.kafka.reading.types import EARLIEST, LATEST, NO_POLICY, Asked, answer, code


def knows(client_leader: str, client_epoch: str) -> str:
    """Whether the reader `r` was checked against this leader in this epoch."""
    return f"coalesce(r.leader = {client_leader} AND r.leader_epoch = {client_epoch}, false)"


def asks(client_leader: str, client_epoch: str, round_: str) -> str:
    """The slot that the reader `r` asks in this round: the client leader, or the follower that this one named."""
    follows = f"{knows(client_leader, client_epoch)} AND {round_} < r.replica_until"
    return f"IF(r.replica IS NOT NULL AND {follows}, r.replica, {client_leader})"


def decided(row: Asked) -> str:
    """The round's answer: a struct (answer, cause, to_offset, end, epoch), null where something does not belong to it.

    to_offset: where what there was to read ends, if there is nothing for the reader. end: a new position; of records the end of
    the read; of replica_named the slot.
    """
    return let("placed_", _placed(row), f"IF(placed_ IS NULL, {_fetched(row)}, placed_)")


def _placed(row: Asked) -> str:
    """What comes before a fetch, null if there is nothing."""
    by_follower = _case(
        (f"NOT {row.serves}", _left("follower_away", row)),
        (f"{row.believed_epoch} != r.leader_epoch", _left("follower_epoch", row)),
    )
    by_leader = let(
        "cut_", f"IF(knew_ OR r.epoch IS NULL, null, {_cut(row)})", f"IF(cut_ IS NULL AND r.replica IS NULL, {_named(row)}, cut_)"
    )
    return _case(
        ("r.stopped IS NOT NULL", _struct("none")),
        (row.is_deleted, _struct("gone")),
        (f"NOT {row.is_lead}", by_follower),
        (f"NOT {row.serves}", _waits("leaderless", row.leader_hw)),
        ("r.position IS NULL", let("reset_", "w.start", let("cause_", "CAST(null AS INT)", _found(row)))),
        ("r.reset_cause IS NOT NULL", let("reset_", "w.reset", let("cause_", "r.reset_cause", _found(row)))),
        otherwise=by_leader,
    )


def _cut(row: Asked) -> str:
    """KIP-320: a new leader is asked for the end of the position's epoch; null if all is well."""
    end = f"coalesce(array_min(transform(filter({row.epochs}, x -> x.epoch > r.epoch), x -> x.start_offset)), {row.leo})"
    epoch = f"coalesce(array_max(transform(filter({row.epochs}, x -> x.epoch <= r.epoch), x -> x.epoch)), r.epoch)"
    unknown = f"coalesce(r.epoch > element_at({row.epochs}, -1).epoch, true)"
    cut = _struct("truncated", cause=code("truncated"), end="end_", epoch=epoch)
    return let("end_", end, _case((unknown, _reset("epoch_unknown", row)), ("end_ < r.position", cut)))


def _named(row: Asked) -> str:
    """KIP-392: the leader names a follower in the reader's rack; null if it answers itself."""
    in_rack = f"(w.serves_rack & {row.isr} & shiftleft(1, x.slot)) != 0"
    has_it = "coalesce(x.remote_leo, 0L) >= r.position AND r.position >= x.log_start_offset"
    order = "'remote_leo', coalesce(x.remote_leo, 0L), 'caught_up', coalesce(x.caught_up_round, -1), 'broker', x.broker"
    best = (
        f"array_max(transform(filter({row.followers}, x -> {in_rack} AND {has_it}),"
        f" x -> named_struct({order}, 'slot', x.slot))).slot"
    )
    named = let("best_", best, _case(("best_ IS NOT NULL", _struct("replica_named", end="best_"))))
    return f"IF(w.serves_rack & shiftleft(1, {row.slot}) = 0, {named}, null)"


def _fetched(row: Asked) -> str:
    """What a replica answers to a fetch."""
    end = f"IF(w.reads_committed, {row.last_stable_offset}, {row.hw})"
    by_count = "least(end_, r.position + w.records_per_round)"
    read = _struct("local", end=local.end_within(row.log, row.leo, "r.position", "w.fetch_bytes", by_count))
    body = _case(
        (f"r.position < {row.log_start}", _out_of_range("below_log_start", row)),
        (f"r.position > {row.leo}", _out_of_range("above_log_end", row)),
        (f"r.position < {row.local_log_start} AND NOT {row.is_tiered}", _out_of_range("below_log_start", row)),
        (f"r.position < {row.local_log_start}", _remote(row)),
        ("r.position >= end_", _empty(row)),
        otherwise=read,
    )
    return let("end_", end, body)


def _out_of_range(cause: str, row: Asked) -> str:
    """A leader's answer resets the position, a follower's sends the reader to the leader."""
    return f"IF({row.is_lead}, {_reset(cause, row)}, {_left('follower_out_of_range', row)})"


def _empty(row: Asked) -> str:
    """Nothing to give out; of what is there it says why."""
    at_lead = f"IF(r.position < {row.hw}, {code('open_transaction')}, {code('not_committed')})"
    cause = f"IF({row.is_lead}, {at_lead}, {code('follower_behind')})"
    return _struct("empty", cause=cause, to_offset=f"IF({row.is_lead}, {row.leo}, {row.leader_hw})")


def _remote(row: Asked) -> str:
    """A remote read, up to what the broker's other reads leave it: where it ends by segment, lineage and number."""
    last = (
        f"least(s_.end_offset + 1, greatest(end_, r.position + 1), {remote.end_of_lineage('s_', row.epochs, 'r.position')},"
        " r.position + w.records_per_round)"
    )
    one = remote.bytes_between("s_", "r.position", "r.position + 1")
    of_segment = _case(
        (f"NOT {row.store_up}", _waits("store_away", row.leader_hw)),
        ("s_.stored_bytes < s_.bytes", _waits("segment_gone", row.leader_hw)),
        (f"coalesce({row.store_bytes} < {one}, false)", _waits("store_slow", row.leader_hw)),
        otherwise=_struct("remote", end=f"CAST({last} AS BIGINT)"),
    )
    known = f"IF(s_ IS NULL, {_out_of_range('segment_unknown', row)}, {of_segment})"
    away = _waits("store_away", row.leader_hw)
    return f"IF({row.lists_metadata} AND NOT {row.store_up}, {away}, {let('s_', row.segment, known)})"


def _reset(cause: str, row: Asked) -> str:
    found = let("reset_", "w.reset", let("cause_", code(cause), _found(row)))
    return f"IF(w.reset = {NO_POLICY}, {_struct('stopped', cause=code(cause))}, {found})"


def _found(row: Asked) -> str:
    """Where `reset_` says, for `cause_` (null: the start); the leader may not know its end yet (KIP-207)."""
    end = f"IF(w.reads_committed, {row.last_stable_offset}, {row.hw})"
    start = f"CASE reset_ WHEN {LATEST} THEN {end} WHEN {EARLIEST} THEN {row.log_start} ELSE reset_ END"
    reset = _struct("reset", cause="cause_", end=start, to_offset=row.leader_hw)
    done = f"IF(cause_ IS NULL, {_struct('started', end=start)}, {reset})"
    waits = _struct("wait", cause=code("offset_unavailable"), to_offset=row.leader_hw, epoch="cause_")
    return _case(
        (f"reset_ = {NO_POLICY}", _struct("stopped", cause=code("no_position"))),
        (f"reset_ = {LATEST} AND {row.hw} < {row.leader_epoch_start}", waits),
        otherwise=done,
    )


def _waits(cause: str, to_offset: str) -> str:
    return _struct("wait", cause=code(cause), to_offset=to_offset)


def _left(cause: str, row: Asked) -> str:
    return _struct("left", cause=code(cause), to_offset=row.leader_hw)


def _struct(name: str, cause: str = "null", to_offset: str = "null", end: str = "null", epoch: str = "null") -> str:
    return (
        f"named_struct('answer', {answer(name)}, 'cause', CAST({cause} AS INT), 'to_offset', CAST({to_offset} AS BIGINT),"
        f" 'end', CAST({end} AS BIGINT), 'epoch', CAST({epoch} AS INT))"
    )


def _case(*branches: tuple[str, str], otherwise: str = "null") -> str:
    return "CASE " + " ".join(f"WHEN {guard} THEN {value}" for guard, value in branches) + f" ELSE {otherwise} END"
