"""Which remote segments belong to a log: SQL texts over epoch caches (RemoteLogManager).

`epochs` is an epoch cache (types.EPOCHS), `leo` the end of its log.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.tier.types import COPY_FINISHED, FORGOTTEN, chosen


def without_empty_epochs(epochs: str) -> str:
    """The epochs that have records: those whose successor starts elsewhere (buildFilteredLeaderEpochMap)."""
    return f"filter({epochs}, (x, i) -> coalesce(get({epochs}, i + 1).start_offset != x.start_offset, true))"


def epochs_in_range(epochs: str, from_offset: str, to_offset: str) -> str:
    """The epochs of [from, to), the first of them cut to it (LeaderEpochFileCache.epochEntriesInRange)."""
    from_there = f"filter({epochs}, (x, i) -> coalesce(get({epochs}, i + 1).start_offset > {from_offset}, true))"
    cut = f"named_struct('epoch', x.epoch, 'start_offset', greatest(x.start_offset, {from_offset}))"
    return f"filter(transform({from_there}, x -> {cut}), x -> x.start_offset < {to_offset})"


def epoch_of(epochs: str, offset: str) -> str:
    """The epoch of the record at an offset, null below the first one."""
    return f"array_max(filter({epochs}, x -> x.start_offset <= {offset})).epoch"


def is_in_lineage(segment: str, epochs: str, leo: str) -> str:
    """Whether a segment's records are those of the log (isRemoteSegmentWithinLeaderEpochs).

    Of its epochs those from the log's first on must be the log's, one after the other, and end no later than there; the first
    of them may start later than in the log, and the log's first one anywhere.
    """
    own = let("a_", f"{segment}.epochs", without_empty_epochs("a_"))
    log = let("a_", epochs, without_empty_epochs("a_"))
    last = "element_at(own_, -1).epoch"
    shared = "filter(own_, o -> o.epoch >= log_[0].epoch)"
    alike = "filter(log_, x -> x.epoch BETWEEN own_[0].epoch AND element_at(own_, -1).epoch)"
    same = (
        "coalesce(get(alike_, 0).epoch = own_[0].epoch, false)"
        " AND (own_[0].epoch = log_[0].epoch OR own_[0].start_offset >= get(alike_, 0).start_offset)"
        " AND slice(alike_, 2, size(alike_)) = slice(own_, 2, size(own_))"
        f" AND NOT exists(log_, x -> x.epoch > {last} AND x.start_offset <= {segment}.end_offset)"
    )
    # Here own_ are only those that the log may share.
    inside = let("own_", shared, let("alike_", alike, f"({same})"))
    guard = f"size(own_) > 0 AND size(log_) > 0 AND {segment}.end_offset < {leo}"
    between = f"{last} BETWEEN log_[0].epoch AND element_at(log_, -1).epoch"
    return let("own_", own, let("log_", log, f"IF({guard}, IF({between}, {inside}, false), false)"))


def highest_remote_offset(index: str, epochs: str, leo: str, within_lineage: str = "true") -> str:
    """How far the log is tiered, -1: not at all (findHighestRemoteOffset).

    The newest epoch of the log of which anything was ever copied decides, no further than the log itself has it. A mutant
    (`within_lineage` false) takes the end of any copied segment.
    """
    newest = f"array_max(filter({index}.highest, h -> exists({epochs}, x -> x.epoch = h.epoch)))"
    end = f"coalesce(array_min(transform(filter({epochs}, x -> x.epoch > top_.epoch), x -> x.start_offset)), {leo})"
    of_log = let("top_", newest, f"IF(top_ IS NULL, -1L, least(top_.end_offset, {end} - 1))")
    copied = f"filter({index}.entries, x -> x.state = {COPY_FINISHED})"
    return chosen(within_lineage, of_log, f"coalesce(array_max(transform({copied}, x -> x.end_offset)), -1L)")


def remote_log_start(index: str, epochs: str, local_log_start: str) -> str:
    """Where a log starts by its remote segments: at the first one of its oldest epoch that has any (findLogStartOffset)."""
    listed = f"filter({index}.entries, x -> x.status != {FORGOTTEN} AND exists({epochs}, y -> y.epoch = x.epoch))"
    first = f"array_min(transform({listed}, x -> named_struct('epoch', x.epoch, 'base_offset', x.base_offset)))"
    return f"coalesce({first}.base_offset, {local_log_start})"
