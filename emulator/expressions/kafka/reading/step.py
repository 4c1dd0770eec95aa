"""A reader after the round: what its answer changes.

SQL texts over the reader `r`, what its group wants `w` and the answer `d` (decide.decided), one change after the other.
"""

from __future__ import annotations

from emulator.expressions.columns import let, with_changes
from emulator.expressions.kafka.reading import local, remote
from emulator.expressions.kafka.reading.decide import decided, knows
from emulator.expressions.kafka.reading.types import (
    CAUSES,
    LOSS,
    NO_POLICY,
    READER_FIELDS,
    SKIP,
    STRETCH,
    STRETCH_TYPE,
    UNREAD,
    Asked,
    answer,
    code,
)
from emulator.expressions.kafka.tier.lineage import epoch_of

_DELAYED = f"({code('not_committed')}, {code('follower_behind')})"
"""Causes that an ordinary round has too: their first round is none."""
_OF_NOBODY = f"({code('leaderless')}, {code('offset_unavailable')})"
_ERRORS = f"({code('store_away')}, {code('segment_gone')})"
_NO_ROWS = f"CAST(array() AS ARRAY<{UNREAD}>)"


def new_reader() -> str:
    """A reader that has not started."""
    counters = {name: "0L" for name, kind in READER_FIELDS.items() if kind == "BIGINT" and name != "position"}
    own = {"remote_round": "-1", "replica_until": "0", "waited": f"array_repeat(0, {len(CAUSES)})", "unread": _NO_ROWS}
    return changed_reader({**dict.fromkeys(READER_FIELDS, "null"), **counters, **own})


def paused() -> str:
    """A reader whose group is not in force: its consumers are gone, and with them what they knew of followers."""
    return _then(ended(), changed_reader({"replica": "null"}))


def answered(row: Asked, then: str) -> str:
    """The text `then` over the reader `r` as it asks, `knew_` and the round's answer `d`."""
    told = f"{row.is_lead} AND {row.serves} AND r.stopped IS NULL AND NOT {row.is_deleted}"
    asking = changed_reader(
        {
            "leader": f"IF({told}, {row.client_leader}, r.leader)",
            "leader_epoch": f"IF({told}, {row.client_epoch}, r.leader_epoch)",
            "replica": f"IF(r.stopped IS NULL AND ({row.round} >= r.replica_until OR ({told} AND NOT knew_)), null, r.replica)",
        }
    )
    return let("knew_", knows(row.client_leader, row.client_epoch), let("r", asking, let("d", decided(row), then)))


def advanced(row: Asked) -> str:
    """The reader after its answer, but for a remote read, which waits for those of others (`read`)."""
    slot = f"IF(d.cause IN {_OF_NOBODY}, CAST(null AS INT), {row.slot})"
    is_error = f"IF(d.answer = {answer('wait')} AND d.cause IN {_ERRORS}, 1, 0)"
    cause = f"IF(d.cause = {code('no_position')}, r.reset_cause, d.cause)"
    until = f"{row.round} + w.max_age_rounds"
    of_answer = {
        "gone": changed_reader({"stopped": code("topic_deleted")}),
        "wait": changed_reader(
            {"reset_cause": "coalesce(d.epoch, r.reset_cause)", "remote_errors": f"r.remote_errors + {is_error}"}
        ),
        "left": changed_reader({"replica": "r.leader", "replica_until": until}),
        "started": changed_reader({"position": "d.end", "epoch": "null"}),
        "reset": _reset(row),
        "truncated": _truncated(row),
        "stopped": changed_reader({"stopped": "d.cause", "reset_cause": cause}),
        "replica_named": changed_reader({"replica": "d.end", "replica_until": f"{until} + 1"}),
        "empty": changed_reader({"empty_fetches": "r.empty_fetches + 1"}),
        "local": _read_locally(row),
    }
    changed = "CASE d.answer " + " ".join(f"WHEN {answer(name)} THEN {text}" for name, text in of_answer.items()) + " ELSE r END"
    after = _then(changed, f"IF(waits_, {_waited(row, 'd.cause', slot, 'd.to_offset')}, r)")
    return let("waits_", _gets_nothing(), _then(f"IF(waits_ OR d.answer <= {answer('wait')}, r, {ended()})", after))


def _gets_nothing() -> str:
    """Whether the answer leaves the reader where it is, though there may be something to read."""
    stays = f"(d.answer = {answer('reset')} AND d.end = r.position)"
    is_behind = f"(d.answer = {answer('empty')} AND d.to_offset > r.position)"
    return f"(d.answer IN ({answer('wait')}, {answer('left')}) OR {stays} OR {is_behind})"


def read(row: Asked, cause: str, granted_bytes: str, is_hit: str, index_bytes: str, refused: str) -> str:
    """The reader after the remote read that it was answered with: it gets so many bytes, or waits (`cause` is not null)."""
    wanted_end = remote.end_within("s_", "r.position", allowed_bytes(row), "d.end")
    got = {
        **_taken(row, remote.bytes_between("s_", "r.position", "e_"), epoch_of("s_.epochs", "e_ - 1"), "e_"),
        "remote_bytes": f"r.remote_bytes + {remote.bytes_between('s_', 'r.position', 'e_')}",
        "remote_requests": "r.remote_requests + 1",
        "remote_round": row.round,
        "throttled_rounds": f"r.throttled_rounds + IF(e_ < {wanted_end}, 1, 0)",
        "index_hits": f"r.index_hits + IF({is_hit}, 1, 0)",
        "index_misses": f"r.index_misses + IF({is_hit}, 0, 1)",
        "index_bytes": f"r.index_bytes + IF({is_hit}, 0L, {index_bytes})",
    }
    end = remote.end_within("s_", "r.position", granted_bytes, "d.end")
    taken = let("s_", row.segment, let("e_", end, changed_reader(got)))
    failed = changed_reader({"remote_errors": f"r.remote_errors + IF({refused}, 1, 0)"})
    waits = _then(failed, _waited(row, cause, row.slot, row.leader_hw))
    return f"IF({cause} IS NULL, {_then(ended(), taken)}, {waits})"


def allowed_bytes(row: Asked) -> str:
    """Bytes that a reader and the store allow a remote read."""
    return f"least(w.fetch_bytes, coalesce({row.store_bytes}, w.fetch_bytes))"


def with_lag(leader_hw: str) -> str:
    """The reader with its largest lag at the end of a round in which it was in force."""
    return changed_reader({"max_lag": f"greatest(r.max_lag, coalesce({leader_hw} - r.position, 0L))"})


def _then(first: str, second: str) -> str:
    """One change of the reader after the other."""
    return let("r", first, second)


def _reset(row: Asked) -> str:
    """Take another position instead of one that can't be read, and account for what lies between."""
    skip = _row(SKIP, row.round, row.round, "r.position", "d.end", "d.cause", "null")
    loses = f"(r.epoch IS NOT NULL AND {row.leo} < r.position)"
    loss = _row(LOSS, row.round, row.round, row.leo, "r.position", "d.cause", "null")
    return changed_reader(
        {
            "position": "d.end",
            "epoch": "null",
            "reset_cause": "null",
            "resets": "r.resets + 1",
            "skipped": "r.skipped + greatest(d.end - r.position, 0L)",
            "read_again": f"r.read_again + greatest(least(r.position, {row.leo}) - d.end, 0L)",
            "read_lost": f"r.read_lost + IF({loses}, r.position - {row.leo}, 0L)",
            "unread": f"concat(r.unread, {_if_so('d.end > r.position', skip)}, {_if_so(loses, loss)})",
        }
    )


def _truncated(row: Asked) -> str:
    """Go back to where the leader's log parts from what was read; without a policy the application sees an error."""
    loss = _row(LOSS, row.round, row.round, "d.end", "r.position", "d.cause", "null")
    stops = f"w.reset = {NO_POLICY}"
    return changed_reader(
        {
            "position": f"IF({stops}, r.position, d.end)",
            "epoch": f"IF({stops}, r.epoch, d.epoch)",
            "stopped": f"IF({stops}, d.cause, r.stopped)",
            "truncations": "r.truncations + 1",
            "read_lost": "r.read_lost + r.position - d.end",
            "unread": f"concat(r.unread, array({loss}))",
        }
    )


def _read_locally(row: Asked) -> str:
    memory = local.is_in_page_cache(row.log, row.log_bytes, "r.position", row.page_cache_bytes, row.cold_below)
    new = {
        **_taken(row, "b_", epoch_of(row.epochs, "d.end - 1"), "d.end"),
        "page_cache_bytes": "r.page_cache_bytes + IF(m_, b_, 0L)",
        "page_cache_requests": "r.page_cache_requests + IF(m_, 1, 0)",
        "disk_bytes": "r.disk_bytes + IF(m_, 0L, b_)",
        "disk_requests": "r.disk_requests + IF(m_, 0, 1)",
    }
    return let("b_", local.bytes_between(row.log, "r.position", "d.end"), let("m_", memory, changed_reader(new)))


def _taken(row: Asked, size_bytes: str, epoch: str, end: str) -> dict[str, str]:
    """What records change wherever they come from."""
    is_outside = f"coalesce(w.in_rack & shiftleft(1, {row.slot}), 1) = 0"
    return {
        "position": end,
        "epoch": epoch,
        "records": f"r.records + {end} - r.position",
        "follower_bytes": f"r.follower_bytes + IF({row.is_lead}, 0L, {size_bytes})",
        "cross_rack_bytes": f"r.cross_rack_bytes + IF({is_outside}, {size_bytes}, 0L)",
    }


def _waited(row: Asked, cause: str, slot: str, to_offset: str) -> str:
    """A round without records: nothing if nothing was there, else the stretch goes on, or another one begins."""
    goes_on = (
        f"coalesce(r.stretch.cause = {cause} AND r.stretch.slot <=> {slot} AND r.stretch.last_round = {row.round} - 1, false)"
    )
    on = {
        "stretch": _stretch(cause, slot, "r.stretch.from_round", row.round, "r.stretch.from_offset", to_offset),
        "waited": _one_more(cause, "true"),
    }
    begun = {
        "stretch": _stretch(cause, slot, row.round, row.round, "r.position", to_offset),
        "waited": _one_more(cause, f"{cause} NOT IN {_DELAYED}"),
    }
    return (
        f"CASE WHEN r.position IS NULL THEN {changed_reader({'waited': _one_more(cause, 'true')})}"
        f" WHEN coalesce({to_offset} <= r.position, true) THEN r WHEN {goes_on} THEN {changed_reader(on)}"
        f" ELSE {_then(ended(), changed_reader(begun))} END"
    )


def _one_more(cause: str, counts: str) -> str:
    return f"transform(r.waited, (x, i) -> x + IF(i = {cause} AND {counts}, 1, 0))"


def _stretch(cause: str, slot: str, from_round: str, last_round: str, from_offset: str, to_offset: str) -> str:
    return (
        f"named_struct('cause', {cause}, 'slot', {slot}, 'from_round', {from_round}, 'last_round', {last_round},"
        f" 'from_offset', {from_offset}, 'to_offset', {to_offset})"
    )


def ended() -> str:
    """A stretch ends: it gives a row, unless it was no more than the delay of a commit."""
    is_delayed = f"r.stretch.cause IN {_DELAYED}"
    first = f"r.stretch.from_round + IF({is_delayed}, 1, 0)"
    offsets = ("r.stretch.from_offset", "r.stretch.to_offset")
    row = _row(STRETCH, first, "r.stretch.last_round", *offsets, "r.stretch.cause", "r.stretch.slot")
    counts = f"NOT {is_delayed} OR r.stretch.from_round < r.stretch.last_round"
    ended = {"stretch": f"CAST(null AS {STRETCH_TYPE})", "unread": f"concat(r.unread, {_if_so(counts, row)})"}
    return f"IF(r.stretch IS NULL, r, {changed_reader(ended)})"


def _if_so(condition: str, row: str) -> str:
    return f"IF({condition}, array({row}), {_NO_ROWS})"


def _row(kind: int, from_round: str, last_round: str, from_offset: str, to_offset: str, cause: str, slot: str) -> str:
    fields = (
        f"named_struct('kind', {kind}, 'from_round', {from_round}, 'to_round', {last_round} + 1, 'from_offset', {from_offset},"
        f" 'to_offset', {to_offset}, 'cause', {cause}, 'slot', CAST({slot} AS INT))"
    )
    return f"CAST({fields} AS {UNREAD})"


def changed_reader(new: dict[str, str]) -> str:
    """The reader `r` with some of its fields new."""
    return with_changes("r", READER_FIELDS, **new)
