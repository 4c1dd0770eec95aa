"""The guards of reading, one flag each: all of them on is the round of the page, one of them off is a mutant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadRules:
    """Which guards hold; the names in brackets are the parts of docs/consumer_rounds.md.

    remote_within_lineage (remote reads): a piece of a remote read ends where the serving log has another epoch than the
    segment. Off (Kafka): it goes on to the segment's end.

    check_epoch (check): a reader asks a new leader for the end of its epoch. Off (before KIP-320): it just goes on.

    below_high_watermark (read): what is not committed is not given out. Off: the log is read to its end.

    follower_keeps_position (follower): a follower that has not the position sends its readers back to the leader. Off: the
    reader resets its position.
    """

    remote_within_lineage: bool = True
    check_epoch: bool = True
    below_high_watermark: bool = True
    follower_keeps_position: bool = True


REAL = ReadRules()

MUTANTS: dict[str, ReadRules] = {
    "remote-read-to-segment-end": ReadRules(remote_within_lineage=False),
    "no-epoch-check": ReadRules(check_epoch=False),
    "read-to-log-end": ReadRules(below_high_watermark=False),
    "reset-by-follower": ReadRules(follower_keeps_position=False),
}
