"""Which remote segments belong to a log (RemoteLogManager, isRemoteSegmentWithinLeaderEpochs)."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.verbs.tiers import INSIDE

BY_EPOCH = "OVER (PARTITION BY pid, number ORDER BY epoch)"


def in_lineage(remote_epochs: Query, caches: Query) -> Query:
    """Whether segments' records are those of logs: pid, number, in_lineage. `caches`: one of a partition, with ends and leo.

    Epochs older than the log's first are left aside. Of the others each is in the log and goes on with the same epoch there,
    the first starts no earlier than there, and the segment ends below the log's next epoch, and its LEO.
    """
    of_log = caches.select(
        "pid", "epoch", "start_offset AS log_epoch_start", "end_offset AS next_start", "leo",
        "lead(epoch) OVER (PARTITION BY pid ORDER BY epoch) AS next_epoch",
    )  # fmt: skip
    whole = of_log.group_by("pid").agg("min(epoch) AS oldest", "max(epoch) AS newest", "max(leo) AS log_end")
    own = remote_epochs.where(INSIDE).with_columns(
        following_epoch=f"lead(epoch) {BY_EPOCH}", following_start=f"lead(first_offset) {BY_EPOCH}"
    )
    shared = own.join(whole, "pid").where("epoch >= oldest").join(of_log, ["pid", "epoch"], "left")
    shared = shared.with_columns(is_first=f"lag(epoch) {BY_EPOCH} IS NULL")
    fits = (
        "log_epoch_start IS NOT NULL AND segment_end < log_end"
        " AND (NOT is_first OR epoch = oldest OR first_offset >= log_epoch_start)"
        " AND IF(following_epoch IS NULL, next_start IS NULL OR segment_end < next_start,"
        " coalesce(following_epoch = next_epoch AND following_start = next_start, false))"
    )
    return shared.group_by("pid", "number").agg(f"bool_and({fits}) AS in_lineage")
