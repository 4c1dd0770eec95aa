"""The shape of a scenario file: its tables, keys, types and ranges, as pydantic models.

What needs more than one table to be checked (does the broker exist, is the range possible) is checked where the
scenario is resolved.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from emulator.scenario.durations import DEFAULT_ROUND_MS, InRounds
from emulator.scenario.model import TIME_BUCKETS

SegmentState = Literal["COPY_STARTED", "COPY_FINISHED", "DELETE_STARTED", "DELETE_FINISHED"]
SEGMENT_STATES: tuple[SegmentState, ...] = get_args(SegmentState)
"""Of a remote segment, as RemoteLogSegmentState has them."""

MAX_ROUNDS = 10**10
MAX_ROUND_MS = 86_400_000
MIN_ROUND_TRIP_MS = 0.001
MAX_BROKERS = 100_000
MAX_PARTITIONS = 50_000_000
MAX_REPLICAS = 12
MAX_TIME_BUCKETS = 1_000
MAX_SEEDS = 10_000
MAX_RECORDS_PER_ROUND = 10**9
MAX_RECORD_BYTES = 2**31 - 1
INT_MAX = 2**31 - 1
AFTER_APPEND = "after-append"
"""The moment of a fault that is later than any fraction of a round; as a number 1."""
MOMENTS_ALLOWED = f'0 or more and below 1, or "{AFTER_APPEND}"'
LONG_MAX = 2**63 - 1


def _rack_name(value: object) -> object:
    return str(value) if type(value) is int else value


def _moment(value: object) -> object:
    if value == AFTER_APPEND:
        return 1.0
    if type(value) not in (int, float) or not 0 <= value <= 1:  # type: ignore[operator]
        raise PydanticCustomError("not_a_moment", "not a moment", {"allowed": MOMENTS_ALLOWED})
    return value


Name = Annotated[str, Field(min_length=1, max_length=200)]
TopicName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
Path = Annotated[str, Field(min_length=1, max_length=4096)]
Rack = Annotated[str, BeforeValidator(_rack_name), Field(min_length=1, max_length=200)]
Moment = Annotated[float, BeforeValidator(_moment)]
Round = Annotated[int, Field(ge=0, le=MAX_ROUNDS), InRounds]
Rounds = Annotated[int, Field(ge=1, le=MAX_ROUNDS), InRounds]
BrokerId = Annotated[int, Field(ge=0, le=INT_MAX)]
PartitionId = Annotated[int, Field(ge=0, lt=MAX_PARTITIONS)]
Epoch = Annotated[int, Field(ge=0, le=INT_MAX)]
Offset = Annotated[int, Field(ge=0, le=LONG_MAX)]
Long = Annotated[int, Field(ge=-LONG_MAX, le=LONG_MAX)]
LongRound = Annotated[Long, InRounds]
"""A round whose range is looked at where it is resolved."""
EpochEntry = Annotated[list[Offset], Field(min_length=2, max_length=2)]
RoundTrip = Annotated[float, Field(ge=MIN_ROUND_TRIP_MS, le=MAX_ROUND_MS)]
Replicas = Annotated[list[BrokerId], Field(min_length=1, max_length=MAX_REPLICAS)]


class Shape(BaseModel):
    """A table of the scenario file: no unknown keys, no type taken for another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = _keys_of(cls)
            for key in data:
                if key not in known:
                    raise PydanticCustomError("unknown_key", "unknown key", {"key": key, "known": known})
        return data


@cache
def _keys_of(shape: type[Shape]) -> list[str]:
    return [field.alias or name for name, field in shape.model_fields.items()]


class ScaleShape(Shape):
    """Copies of an imported cluster's partitions, spread over more brokers."""

    partitions: Annotated[int, Field(ge=1, le=MAX_PARTITIONS)] | None = None
    brokers: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None
    racks: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None


class ClusterShape(Shape):
    """Brokers by number, file or import, and what holds for all of them."""

    brokers: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None
    first_broker_id: Annotated[int, Field(ge=0, le=1)] = 1
    brokers_file: Path | None = None
    import_folder: Path | None = Field(None, alias="import")
    scale: ScaleShape | None = None
    racks: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None
    regions: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None
    session_timeout_rounds: Rounds | None = None
    network_bytes_per_second: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    disk_bytes_per_second: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    page_cache_bytes: Annotated[int, Field(ge=0, le=LONG_MAX)] | None = None
    quota_window_rounds: Rounds | None = None
    fetch_round_trip_ms: RoundTrip = 1
    fetch_bytes_per_second: Annotated[int, Field(ge=1, le=LONG_MAX)] = 200_000_000
    fetches_per_round: Annotated[int, Field(ge=1, le=INT_MAX)] | None = None
    config: dict[str, Any] = {}
    features: dict[str, Any] = {}


class TopicShape(Shape):
    """A topic, placed by rule or by hand; only its config for one that is imported."""

    name: TopicName
    partitions: Annotated[int, Field(ge=1, le=MAX_PARTITIONS)] | None = None
    replication_factor: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] | None = None
    placement: Name | None = None  # which there are depends on the protocol
    placement_start: Annotated[int, Field(ge=0, le=INT_MAX)] | None = None
    placement_shift: Annotated[int, Field(ge=0, le=INT_MAX)] | None = None
    scatter_width: Annotated[int, Field(ge=1, le=MAX_BROKERS)] | None = None
    backup_racks: Annotated[list[Rack], Field(min_length=1)] | None = None
    assignment: Annotated[list[Replicas], Field(min_length=1)] | None = None
    config: dict[str, Any] = {}


class WorkloadShape(Shape):
    """Appends per round to partitions of topics."""

    name: Name | None = None
    topic: Name
    partitions: Name | None = None
    from_round: LongRound = 0
    to_round: LongRound | None = None
    records_per_round: Long | None = None
    records_per_second: float | None = None
    record_bytes: Long = 1000
    acks: Literal["0", "1", "all"] = "all"
    max_in_flight: Annotated[int, Field(ge=1, le=INT_MAX)] | None = None


class ConsumerShape(Shape):
    """What a consumer group reads, and how; `start` is looked at where it is resolved."""

    name: Name | None = None
    group: Name
    topic: Name
    partitions: Name | None = None
    start: Any = None
    records_per_round: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    records_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    bytes_per_round: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    from_round: LongRound = 0
    to_round: LongRound | None = None
    rack: Rack | None = None
    members: Annotated[int, Field(ge=1, le=INT_MAX)] | None = None
    config: dict[str, Any] = {}


class FaultShape(Shape):
    """A fault in an interval of rounds; which of the columns it needs is its kind's."""

    kind: str
    from_round: LongRound
    to_round: LongRound | None = None
    broker: BrokerId | None = None
    peer: BrokerId | None = None
    direction: Literal["both", "out", "in"] | None = None
    rack: Rack | None = None
    topic: Name | None = None
    partition: PartitionId | None = None
    bytes_per_second: Long | None = None
    round_trip_ms: RoundTrip | None = None
    name: Name | None = None
    clients: bool | None = None
    lag_rounds: LongRound | None = None
    from_offset: Offset | None = None
    to_offset: Offset | None = None
    power: bool | None = None
    moment: Moment | None = None


class SweepShape(Shape):
    """What cases vary: what each fault strikes, the values of a setting, or seeds."""

    each: Literal["broker", "rack", "pair"] | None = None
    fault: FaultShape | None = None
    set: Name | None = None
    values: Annotated[list[Any], Field(min_length=1)] | None = None
    topic: Name | None = None
    seeds: Annotated[int, Field(ge=1, le=MAX_SEEDS)] | None = None


class CommandShape(Shape):
    """What an administrator does at a round; which of the keys it takes is its kind's."""

    name: Name | None = None
    round: Round
    kind: str
    topic: Name | None = None
    partition: PartitionId | None = None
    replicas: Replicas | None = None
    offset: Annotated[int, Field(ge=-1, le=LONG_MAX)] | None = None
    broker: BrokerId | None = None
    config: Annotated[dict[str, Any], Field(min_length=1)] | None = None
    retry: bool | None = None


class InitialPartitionShape(Shape):
    """What the controller knows of a partition at the start."""

    topic: Name
    partition: PartitionId
    leader: Annotated[int, Field(ge=-1, le=INT_MAX)] | None = None
    leader_epoch: Epoch | None = None
    isr: list[BrokerId] | None = None
    elr: list[BrokerId] | None = None


class InitialReplicaShape(Shape):
    """The log that a replica starts with."""

    topic: Name
    partition: PartitionId
    broker: BrokerId
    log_start_offset: Offset = 0
    local_log_start_offset: Offset | None = None
    leo: Offset
    hw: Offset | None = None
    epochs: list[EpochEntry] | None = None
    flushed_offset: Offset | None = None
    record_bytes: Annotated[int, Field(ge=1, le=MAX_RECORD_BYTES)] | None = None
    segments: list[Offset] | None = None


class InitialRemoteSegmentShape(Shape):
    """A segment that is in remote storage at the start."""

    topic: Name
    partition: PartitionId
    base_offset: Offset
    end_offset: Offset
    epochs: list[EpochEntry] = []
    bytes: Offset
    state: SegmentState = "COPY_FINISHED"
    copier: BrokerId | None = None
    unread: bool | None = None
    moved_bytes: Offset | None = None


class FragmentShape(Shape):
    """From its first entry on, a ledger's entries go to this ensemble."""

    first_entry: Offset
    ensemble: Replicas


class InitialLedgerShape(Shape):
    """What a ledger starts with."""

    topic: Name
    partition: PartitionId
    state: Literal["OPEN", "IN_RECOVERY", "CLOSED"] = "OPEN"
    last_entry: Annotated[int, Field(ge=-1, le=LONG_MAX // 2)]
    bytes: Offset | None = None
    fragments: Annotated[list[FragmentShape], Field(min_length=1)] | None = None
    ledger: Annotated[int, Field(ge=0, le=INT_MAX)] | None = None
    offloaded: bool = False


class RemoteStorageShape(Shape):
    """The emulated remote store."""

    copy_bytes_per_second: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    metadata: Literal["topic", "list"] = "topic"
    metadata_lag_rounds: Annotated[int, Field(ge=0, le=INT_MAX), InRounds] = 0
    on_leadership_lost: Literal["cancel", "finish"] = "cancel"
    aux_state: Literal["remote", "leader"] = "remote"
    read_bytes_per_second: Annotated[int, Field(ge=1, le=LONG_MAX)] | None = None
    read_ms: Annotated[int, Field(ge=0, le=INT_MAX)] = 0


class InitialShape(Shape):
    """The state at the start, where it is not empty logs."""

    partitions: list[InitialPartitionShape] = []
    replicas: list[InitialReplicaShape] = []
    remote_segments: list[InitialRemoteSegmentShape] = []
    ledgers: list[InitialLedgerShape] = []


class ScenarioShape(Shape):
    """A whole scenario: the file without its variants, or with one of them merged in."""

    name: Name | None = None
    protocol: str = "kafka"
    rounds: Rounds
    round_ms: Annotated[int, Field(ge=1, le=MAX_ROUND_MS)] = DEFAULT_ROUND_MS
    seed: Annotated[int, Field(ge=0, le=LONG_MAX)] = 0
    mode: Literal["plain", "leap"] = "leap"
    time_buckets: Annotated[int, Field(ge=1, le=MAX_TIME_BUCKETS)] = TIME_BUCKETS
    cluster: ClusterShape
    topics: list[TopicShape] = []
    workload: list[WorkloadShape] = []
    workload_file: Path | None = None
    rate_window_rounds: Rounds = 1
    consumers: list[ConsumerShape] = []
    faults: list[FaultShape] = []
    faults_file: Path | None = None
    fault_generators: list[dict[str, Any]] = []  # emulator.faults.generator_kinds knows their kinds and keys
    commands: list[CommandShape] = []
    initial: InitialShape = InitialShape()
    initial_file: Path | None = None
    remote_storage: RemoteStorageShape = RemoteStorageShape()
    events: list[str] | None = None
    variants: list[dict[str, Any]] = []
    sweeps: list[SweepShape] = []
