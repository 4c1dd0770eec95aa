"""What the threads work on: partitions and what is appended to them, and the limits of a fetch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Limits:
    """The limits of a fetch, of every broker alike; of Kafka's settings the defaults.

    `fetch_max_bytes`: replica.fetch.max.bytes. `response_max_bytes`: replica.fetch.response.max.bytes.
    `leader_max_bytes`: the leader's own fetch.max.bytes, which bounds what the follower asks for
    (KafkaApis.handleFetchRequest). `wait_max_us`: replica.fetch.wait.max.ms; replica.fetch.min.bytes is 1.
    `fetchers`: num.replica.fetchers. A fetch takes `round_trip_us` and what its bytes take at `bytes_per_second`.
    """

    fetch_max_bytes: int = 1_048_576
    response_max_bytes: int = 10_485_760
    leader_max_bytes: int = 57_671_680
    wait_max_us: int = 500_000
    fetchers: int = 1
    round_trip_us: int = 1000
    bytes_per_second: int = 200_000_000


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition, its leader's log and who follows it. It is equal to no other, and so a key of what is said of it.

    A batch of `batch_bytes` is in the leader's log as soon as so many bytes have come, at `bytes_per_second` from time 0
    on. `lacking_bytes`: by follower, whole batches that it lacks at time 0. Log bytes are counted from the end, at time 0,
    of the follower that lacks most.
    """

    topic: str
    number: int
    leader: int
    followers: tuple[int, ...]
    bytes_per_second: int = 0
    batch_bytes: int = 16_384
    lacking_bytes: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.leader in self.followers:
            raise ValueError(f"broker {self.leader} leads {self.topic}-{self.number} and follows it")
        for follower, lacking in self.lacking_bytes.items():
            if follower not in self.followers or lacking % self.batch_bytes:
                raise ValueError(
                    f"{self.topic}-{self.number}: {lacking} bytes lacking on {follower}: a follower, and whole batches"
                )

    def first_batches(self, follower: int | None = None) -> int:
        """Whole batches in the log at time 0: the leader's, or a follower's."""
        lacking = 0 if follower is None else self.lacking_bytes.get(follower, 0)
        return (max(self.lacking_bytes.values(), default=0) - lacking) // self.batch_bytes

    @cached_property
    def _begins_with(self) -> int:
        """Whole batches in the leader's log at time 0."""
        return self.first_batches()

    def batches_at(self, at_us: int) -> int:
        """Whole batches in the leader's log."""
        return self._begins_with + self.bytes_per_second * at_us // (SECOND_US * self.batch_bytes)

    def next_append_us(self, after_us: int) -> int | None:
        """When the leader's log has one batch more than it has at `after_us`; None: never."""
        if self.bytes_per_second == 0:
            return None
        batches = self.batches_at(after_us) - self._begins_with + 1
        return -(-batches * self.batch_bytes * SECOND_US // self.bytes_per_second)
