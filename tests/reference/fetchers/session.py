"""One fetch session: in which order a leader looks at its partitions, and what a response brings of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .inputs import Limits, Partition


@dataclass(frozen=True)
class Response:
    """What a fetch brings: whole batches by partition, of those that it brings any of, in order; bytes that are sent.

    More may be sent than whole batches: what is cut off at a limit is sent as well, and fetched again.
    """

    batches: dict[Partition, int]
    sent_bytes: int


class FetchSession:
    """A session of a thread with a leader.

    The leader's order holds, not the follower's: RemoteLeaderEndPoint.buildFetch adds partitions as
    AbstractFetcherThread has them (PartitionStates.updateAndMoveToEnd), but FetchSessionHandler.Builder.build sends only
    those that changed, and FetchSession.update changes them where they are in the leader's map. A new session begins with
    a full request; its order is that of the request (FullFetchContext.updateAndGenerateResponseData), and stays for the
    second fetch: only IncrementalFetchContext moves partitions.
    """

    def __init__(self, partitions: Sequence[Partition]) -> None:
        self.order = list(partitions)
        self._is_full = True

    def read(self, lacking: Mapping[Partition, int], limits: Limits) -> Response:
        """What the leader answers to a follower that lacks so many whole batches of each partition.

        ReplicaManager.readFromLog goes through all partitions and takes from what is left of the response's limit what it
        reads, in bytes of the log, not in whole batches (LogSegment.read). The first partition that has anything brings its
        first batch whole, however large (minOneMessage, KIP-74). Any other whose first batch has no room brings nothing
        (firstEntryIncomplete). A follower appends whole batches (ByteBufferLogInputStream.nextBatch).
        """
        left = min(limits.response_max_bytes, limits.leader_max_bytes)
        batches: dict[Partition, int] = {}
        sent = 0
        for partition in self.order:
            room = min(limits.fetch_max_bytes, left)
            if not batches:
                room = max(room, partition.batch_bytes)
            if lacking[partition] == 0 or room < partition.batch_bytes:
                continue
            read = min(room, lacking[partition] * partition.batch_bytes)
            batches[partition] = read // partition.batch_bytes
            left = max(0, left - read)
            sent += read
        self._move_to_end(batches)
        return Response(batches, sent)

    def _move_to_end(self, brought: dict[Partition, int]) -> None:
        """Those that data came of go to the back, in order (IncrementalFetchContext.PartitionIterator, KAFKA-12330)."""
        if not self._is_full:
            self.order = [partition for partition in self.order if partition not in brought] + list(brought)
        self._is_full = False
