"""What an import had to assume: counted while logs are resolved, told in one note each."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.importers.kafka.segments import SegmentedLog

_EXAMPLES = 3


@dataclass
class Assumptions:
    """Counts of replicas (or partitions) for which the files were silent or at odds."""

    leo_from_checkpoints: int = 0
    copied_from_other_replica: int = 0
    lowered_by_lag: int = 0
    absent_in_data_dir: int = 0
    empty_without_data_dir: int = 0
    epochs_from_other_replica: int = 0
    epochs_unknown: int = 0
    isr_below_hw: int = 0
    leader_behind_epoch: int = 0
    log_from_offsets: int = 0
    leo_raised: int = 0
    latest_tiered_unknown: int = 0
    latest_tiered_raised: int = 0
    remote_assumed: int = 0
    remote_segments_assumed: int = 0
    remote_beyond_log: int = 0
    trailing_segments: list[str] = field(default_factory=list)

    def count_tail(self, folder: str, segments: SegmentedLog) -> None:
        """Remembers a segment that goes on after its last whole batch."""
        if segments.trailing_bytes > 0:
            self.trailing_segments.append(f"{folder}: {segments.trailing_bytes} bytes")

    def notes(self) -> list[str]:
        """Says in sentences what was assumed, only what occurred."""
        counted = (
            (
                self.leo_from_checkpoints,
                "{} logs have no .log segments: LEO is the largest of HW, flushed offset and last epoch start",
            ),
            (len(self.trailing_segments), self._tail_sentence()),
            (
                self.copied_from_other_replica,
                "{} replicas have no data directory: log as the leader's, else as another replica's that has one",
            ),
            (self.lowered_by_lag, "{} of them end offsetLag below the leader's HW, as log directories say"),
            (
                self.empty_without_data_dir,
                "{} replicas are of partitions without any data directory: empty logs, offsets 0",
            ),
            (self.absent_in_data_dir, "{} replicas are not in their broker's data directory: empty logs"),
            (
                self.epochs_from_other_replica,
                "{} logs have no epoch checkpoint: epochs as the leader's, else as another replica's, up to their LEO",
            ),
            (self.epochs_unknown, "{} logs have no known epochs: all records in epoch 0"),
            (
                self.isr_below_hw,
                "{} ISR members end below their leader's HW: files of different moments, taken as they are",
            ),
            (
                self.leader_behind_epoch,
                "{} leaders have not the largest epoch of their partition in their cache, taken as it is",
            ),
            (
                self.log_from_offsets,
                "{} leaders are in no data directory: log from listed offsets, the rest as another replica's",
            ),
            (self.leo_raised, "{} leaders' segments end below the latest offset listed, taken to end there: older files"),
            *self._remote_notes(),
        )
        return [sentence.format(count) for count, sentence in counted if count]

    def _remote_notes(self) -> tuple[tuple[int, str], ...]:
        return (
            (
                self.latest_tiered_unknown,
                "{} partitions with remote storage have no latest-tiered: only what a disk has given up is taken as tiered",
            ),
            (
                self.latest_tiered_raised,
                "{} partitions have given up more on a disk than latest-tiered says, taken as tiered: files of different moments",
            ),
            (
                self.remote_assumed,
                f"{{}} partitions have remote data and no remote log metadata: {self.remote_segments_assumed} remote segments "
                "assumed, as on the leader's disk and of their mean size before that",
            ),
            (self.remote_beyond_log, "{} remote segments end beyond their leader's log: another lineage, or newer files"),
        )

    def _tail_sentence(self) -> str:
        examples = "; ".join(self.trailing_segments[:_EXAMPLES]).replace("{", "{{").replace("}", "}}")
        return "{} active segments go on after their last whole batch, LEO taken up to there: " + examples
