"""What a broker makes of the events of remote segments that it read (RemoteLogMetadataCache, RemoteLogLeaderEpochState).

`events` are all of the partition, in the order in which they were written: by round, then by task, then by replica.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.types import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    FORGOTTEN,
    SERVED,
    UNREFERENCED,
    chosen,
    empty_index,
    segment_of,
)


def visible(events: str, slot: str, read_before: str) -> str:
    """The events that a replica knows: those of the rounds before `read_before`, and its own."""
    return f"filter({events}, e -> e.round < {read_before} OR e.slot = {slot})"


def apply_events(index: str, events: str, segments: str, check_transitions: str = "true") -> str:
    """The index after some more events, which come after all that it knows; what a state does not allow changes nothing."""
    to_delete = f"(state_ = 0 AND e_.state = {DELETE_STARTED})"
    changes = chosen(check_transitions, f"(e_.state = state_ + 1 OR {to_delete})", "e_.state != state_")
    state = "coalesce(get(filter(i_.entries, x -> x.segment = e_.segment), 0).state, -1)"
    of_segment = let("s_", segment_of(segments, "e_.segment"), _own_entries())
    changed = let("own_", of_segment, f"IF(e_.state = {COPY_FINISHED}, {_finish()}, {_list_or_forget()})")
    return f"aggregate({events}, {index}, (i_, e_) -> {let('state_', state, f'IF({changes}, {changed}, i_)')})"


def index_of(events: str, segments: str, check_transitions: str = "true") -> str:
    """The index of who knows these events."""
    return apply_events(empty_index(), events, segments, check_transitions)


def learned(
    index: str, events: str, segments: str, slot: str, read_before: str, reads_before: str, check_transitions: str = "true"
) -> str:
    """The index of a replica that has read up to `read_before`, once it has read up to `reads_before`.

    What comes after something that it wrote itself, but stands before it, makes it read all of them anew.
    """
    read = written(index, events, segments, slot, read_before, reads_before, "array()", check_transitions)
    return f"IF(exists({events}, e -> {_others(slot, read_before, reads_before)}), {read}, {index})"


def written(
    index: str, events: str, segments: str, slot: str, read_before: str, now: str, own: str, check_transitions: str = "true"
) -> str:
    """The index of a replica that writes the events `own` in this round: it has read all rounds before when that is done.

    `events`: those before; `segments` have those that it begins already.
    """
    others = _others(slot, read_before, now)
    is_late = f"(exists({events}, e -> {others}) AND exists({events}, e -> e.slot = {slot} AND e.round >= {read_before}))"
    start = f"IF(late_, {empty_index()}, {index})"
    new = f"filter({events}, e -> ({others}) OR (late_ AND (e.round < {read_before} OR e.slot = {slot})))"
    # Named, since Spark would ask it anew for every event.
    return let("late_", is_late, apply_events(start, f"concat({new}, {own})", segments, check_transitions))


def lookup(index: str, epoch: str, offset: str, lookup_by_epoch: str = "true") -> str:
    """The id of the copied segment that serves the offset in this epoch, null if none does.

    A mutant (`lookup_by_epoch` false) takes any copied segment that has the offset.
    """
    served = f"x.status = {SERVED} AND x.epoch = {epoch} AND x.start_offset <= {offset}"
    floor = f"array_max(filter({index}.entries, x -> {served}))"
    of_epoch = let("f_", floor, f"IF(f_.end_offset >= {offset}, f_.segment, null)")
    has = f"x.state = {COPY_FINISHED} AND {offset} BETWEEN x.start_offset AND x.end_offset"
    return chosen(lookup_by_epoch, of_epoch, f"array_min(transform(filter({index}.entries, x -> {has}), x -> x.segment))")


def is_any_known(index: str) -> str:
    """Whether any segment is known that is not deleted."""
    return f"(size({index}.entries) > 0)"


def in_order(entries: str) -> str:
    """Entries as they are listed: by epoch, by base offset, served ones first by where the epoch starts in them."""
    place = f"IF(x.status = {SERVED}, x.start_offset, CAST(i AS BIGINT))"
    key = "'epoch', x.epoch, 'base_offset', x.base_offset, 'status', x.status"
    ranked = f"transform({entries}, (x, i) -> named_struct({key}, 'place', {place}, 'segment', x.segment, 'state', x.state))"
    return f"filter(array_sort({ranked}), x -> x.status != {FORGOTTEN})"


def is_allowed(state: str, new: str, check_transitions: str = "true") -> str:
    """Whether an event may follow the state (null: none yet); the same one again may."""
    follows = f"({new} = coalesce({state}, -1) + 1 OR {new} <=> {state} OR ({state} <=> 0 AND {new} = {DELETE_STARTED}))"
    return chosen(check_transitions, follows, "true")


_FIELDS = (
    "id", "base_offset", "end_offset", "epochs", "checkpoint", "bytes", "newest_round", "slot", "leader_epoch", "state",
    "was_finished", "stored_bytes", "moved_bytes", "started_round", "copied_round", "deleted_round",
)  # fmt: skip


def remote_segment(segment: str, new: dict[str, str]) -> str:
    """The remote segment with some of its fields new."""
    return "named_struct(" + ", ".join(f"'{name}', {new.get(name, f'{segment}.{name}')}" for name in _FIELDS) + ")"


def _others(slot: str, read_before: str, reads_before: str) -> str:
    return f"e.slot != {slot} AND e.round >= {read_before} AND e.round < {reads_before}"


def _entry(new: dict[str, str]) -> str:
    """The entry `x` with some of its fields new."""
    names = ("epoch", "start_offset", "end_offset", "segment", "base_offset", "state", "status")
    return "named_struct(" + ", ".join(f"'{name}', {new.get(name, f'x.{name}')}" for name in names) + ")"


def _own_entries() -> str:
    """The entries of the segment `s_` as the event `e_` has them: epoch by epoch, served once it is copied."""
    new = {
        "end_offset": "coalesce(get(s_.epochs, i + 1).start_offset - 1, s_.end_offset)",
        "segment": "e_.segment",
        "base_offset": "s_.base_offset",
        "state": "e_.state",
        "status": f"IF(e_.state = {COPY_FINISHED}, {SERVED}, {UNREFERENCED})",
    }
    return f"transform(s_.epochs, (x, i) -> {_entry(new)})"


def _finish() -> str:
    """The copy of `own_` is done: of an epoch that it has furthest, served ones that start no earlier are put aside.

    Where another one reaches further, one that starts at the same offset is forgotten (KAFKA-15168, and as Kafka does).
    """
    furthest = "filter(own_, o -> NOT exists(i_.highest, h -> h.epoch = o.epoch AND h.end_offset > o.end_offset))"
    served = f"x.segment != e_.segment AND x.status = {SERVED}"
    behind = "exists(top_, o -> o.epoch = x.epoch AND x.start_offset >= o.start_offset)"
    hidden = "exists(own_, o -> o.epoch = x.epoch AND x.start_offset = o.start_offset)"
    left = "filter(i_.entries, x -> x.segment != e_.segment AND NOT array_contains(aside_, x))"
    entries = (
        f"concat(transform({left}, x -> IF({served} AND {hidden}, {_entry({'status': str(FORGOTTEN)})}, x)),"
        f" transform(sort_array(aside_, false), x -> {_entry({'status': str(UNREFERENCED)})}), own_)"
    )
    highest = (
        "concat(filter(i_.highest, h -> NOT exists(top_, o -> o.epoch = h.epoch)),"
        " transform(top_, o -> named_struct('epoch', o.epoch, 'end_offset', o.end_offset)))"
    )
    aside = f"filter(i_.entries, x -> {served} AND {behind})"
    return let("top_", furthest, let("aside_", aside, f"named_struct('entries', {entries}, 'highest', {highest})"))


def _list_or_forget() -> str:
    """The segment's copy begins, or its deletion: it is listed but not served; or it is deleted: it is listed no more."""
    stays = f"x.segment != e_.segment OR (x.status = {UNREFERENCED} AND e_.state < {DELETE_FINISHED})"
    left = f"transform(filter(i_.entries, x -> {stays}), x -> IF(x.segment = e_.segment, {_entry({'state': 'e_.state'})}, x))"
    is_listed = f"exists(i_.entries, x -> x.segment = e_.segment AND x.epoch = o.epoch AND x.status = {UNREFERENCED})"
    added = f"filter(own_, o -> e_.state < {DELETE_FINISHED} AND NOT {is_listed})"
    return f"named_struct('entries', concat({left}, {added}), 'highest', i_.highest)"
