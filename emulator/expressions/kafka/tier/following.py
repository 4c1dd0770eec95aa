"""Where a follower starts whose next record its leader has only in remote storage: SQL texts (TierStateMachine).

Names with `its_` are the leader's.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.lineage import epoch_of, epochs_in_range
from emulator.expressions.kafka.tier.metadata import lookup
from emulator.expressions.kafka.tier.types import EPOCHS, chosen, segment_of

START = "STRUCT<start_offset: BIGINT, log_start: BIGINT, epoch_before: INT>"
"""Where the leader tells a follower to start; epoch_before: of the record before it, null at the log start."""
BUILT = f"STRUCT<start_offset: BIGINT, log_start: BIGINT, epochs: {EPOCHS}>"
"""The log that a follower starts with: empty, at start_offset, with the epochs of what lies before it."""
ASKED = f"STRUCT<start_offset: BIGINT, epochs: {EPOCHS}, is_built: BOOLEAN>"
"""What the leader told so far (option 1): the newest epochs before the start, oldest first; is_built: these are all."""


def is_moved(its_log_start: str, its_local_log_start: str, offset: str) -> str:
    """Whether the leader answers a fetch at the offset with OFFSET_MOVED_TO_TIERED_STORAGE."""
    return f"({offset} >= {its_log_start} AND {offset} < {its_local_log_start})"


def earliest_pending_upload(highest_remote: str, log_start: str, local_log_start: str) -> str:
    """ListOffsets -6: the first offset that a leader has yet to copy, null: it doesn't know what is copied."""
    unknown = f"IF({local_log_start} = {log_start}, {log_start}, null)"
    return f"IF({highest_remote} < 0, {unknown}, greatest({highest_remote} + 1, {log_start}))"


def where_to_start(
    its_log_start: str, its_local_log_start: str, its_highest_remote: str, its_epochs: str, at_pending_upload: str
) -> str:
    """Where the leader tells a follower to start (START), null: it doesn't know yet.

    at_pending_upload: the follower is empty and starts behind what is tiered (KIP-1023); what is stale means the local start.
    """
    pending = earliest_pending_upload(its_highest_remote, its_log_start, its_local_log_start)
    offset = f"IF({at_pending_upload}, {let('p_', pending, f'IF(p_ IS NULL, null, greatest(p_, {its_local_log_start}))')}, "
    offset += f"{its_local_log_start})"
    before = f"IF(b_ > {its_log_start}, {let('o_', 'b_ - 1', epoch_of(its_epochs, 'o_'))}, null)"
    start = f"named_struct('start_offset', b_, 'log_start', {its_log_start}, 'epoch_before', {before})"
    return let("b_", offset, f"IF(b_ IS NULL, null, {start})")


def built_from_store(
    start: str,
    index: str,
    segments: str,
    metadata_up: str,
    store_up: str,
    build_epochs: str = "true",
    lookup_by_epoch: str = "true",
) -> str:
    """Option 2: the log (BUILT) by the remote segment that has the record before the start, null: try again later.

    metadata_up: the follower can ask for metadata. Mutants start without epochs (`build_epochs` false), or with those of any
    segment that has the record's offset (`lookup_by_epoch` false).
    """
    nothing = f"CAST(array() AS {EPOCHS})"
    at_log_start = _built(f"{start}.start_offset", f"{start}.log_start", nothing)
    of_segment = epochs_in_range("s_.checkpoint", f"{start}.log_start", "s_.end_offset + 1")
    behind = _built("s_.end_offset + 1", f"{start}.log_start", chosen(build_epochs, of_segment, nothing))
    found = segment_of(segments, lookup(index, f"{start}.epoch_before", f"{start}.start_offset - 1", lookup_by_epoch))
    asked = let("s_", f"IF({metadata_up} AND {store_up}, {found}, null)", f"IF(s_ IS NULL, null, {behind})")
    is_there = f"{start}.start_offset <= {start}.log_start"
    return f"CASE WHEN {start} IS NULL THEN null WHEN {is_there} THEN {at_log_start} ELSE {asked} END"


def asked_leader(so_far: str, start: str, its_epochs: str, its_leo: str, its_log_start: str) -> str:
    """Option 1: what the follower has been told (ASKED) after one more question; null: the leader doesn't know yet.

    so_far: ASKED of the round before, null before the first question, whose answer is `start`. Each later one is about the
    epoch before the oldest so far, whose start it tells (LeaderEpochFileCache.endOffsetFor).
    """
    none = f"CAST(array() AS {EPOCHS})"
    first = (
        f"named_struct('start_offset', {start}.start_offset, 'epochs', IF({start}.epoch_before IS NULL, {none},"
        f" {_epochs(f'{start}.epoch_before', f'{start}.start_offset')}), 'is_built', {start}.epoch_before IS NULL)"
    )
    floor = f"coalesce(array_max(filter({its_epochs}, x -> x.epoch <= q_)).epoch, q_)"
    end = f"coalesce(get(filter({its_epochs}, x -> x.epoch > q_), 0).start_offset, {its_leo})"
    is_known = f"coalesce(q_ <= array_max({its_epochs}).epoch, false)"
    answer = f"named_struct('epoch', IF({is_known}, {floor}, -1), 'start_offset', IF({is_known}, {end}, -1L))"
    more = f"(a_.start_offset > {its_log_start} AND a_.epoch >= 0)"
    rest = f"slice({so_far}.epochs, 2, size({so_far}.epochs))"
    later = (
        f"named_struct('start_offset', {so_far}.start_offset, 'epochs', concat(IF({more}, array(a_), {none}),"
        f" {_epochs('q_ + 1', 'a_.start_offset')}, {rest}), 'is_built', NOT {more})"
    )
    next_one = let("q_", f"{so_far}.epochs[0].epoch - 1", let("a_", answer, later))
    return f"CASE WHEN {so_far} IS NOT NULL THEN {next_one} WHEN {start} IS NULL THEN null ELSE {first} END"


def built_by_leader(asked: str, its_log_start: str) -> str:
    """Option 1: the log (BUILT) once the leader has told all epochs, null before that. Its log start may be above by then."""
    before = f"filter({asked}.epochs, x -> x.start_offset < {asked}.start_offset)"
    start = f"least({its_log_start}, {asked}.start_offset)"
    epochs = let("e_", before, epochs_in_range("e_", start, f"({asked}.start_offset + 1)"))
    return f"IF({asked}.is_built, {_built(f'{asked}.start_offset', its_log_start, epochs)}, null)"


def _built(start: str, log_start: str, epochs: str) -> str:
    return f"named_struct('start_offset', {start}, 'log_start', least({log_start}, {start}), 'epochs', {epochs})"


def _epochs(epoch: str, start: str) -> str:
    return f"CAST(array(named_struct('epoch', {epoch}, 'start_offset', {start})) AS {EPOCHS})"
