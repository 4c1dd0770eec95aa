"""What only ledgers have in a scenario file: their config, ensembles, commands, and what of the file they have no use for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import listing, quoted
from emulator.faults.bookies import bookie_timelines
from emulator.faults.kinds import LEDGER_KINDS, read_fault_rows
from emulator.rounds.bookkeeper.constants import POLICIES
from emulator.scenario.bookie_places import check_regions
from emulator.scenario.commands import CommandKind, check_config, check_replicas
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.globs import matching_topics
from emulator.scenario.ledger_configs import LEDGER_KEYS, MANAGED, OF_TOPICS, effective, is_managed
from emulator.scenario.ledger_ensembles import LOWEST_FREE_ID, new_ensembles
from emulator.scenario.model import Broker, Command, Topic
from emulator.scenario.placements import PLACEMENT_KEYS
from emulator.scenario.places import Location, Places
from emulator.scenario.protocols import LEDGER_PROTOCOLS
from emulator.scenario.rates import EVEN_ALLOWED
from emulator.scenario.shapes import MAX_PARTITIONS, CommandShape, ScenarioShape, TopicShape
from emulator.scenario.topics import missing_partitions

DRAWN = POLICIES[2:]
"""Policies that draw bookies: BookKeeper's own."""
REGION_AWARE = DRAWN[-1]
DECOMMISSION, ADD_BOOKIE = ("decommission_bookie", "add_bookie")
"""The commands that are about a bookie, not about ledgers."""
ONLY_LISTS = ("take_over", "read_topic")
"""The commands that are about topics which are lists of ledgers."""
OF_LISTS = (*ONLY_LISTS, "check_ledger")
"""Those that such a topic takes."""
SIZES = ("ensembleSize", "writeQuorumSize", "ackQuorumSize")

LEDGER_COMMANDS: Mapping[str, CommandKind] = {
    "recover_ledger": CommandKind("another client opens the ledger with recovery", ("topic",), ("partition", "retry")),
    "close_ledger": CommandKind("the writer's application closes the ledger", ("topic",), ("partition",)),
    "open_no_recovery": CommandKind("another client opens the ledger without recovery", ("topic",), ("partition",)),
    "check_ledger": CommandKind("its bookies get what they lack of the ledger", ("topic",), ("partition",)),
    "read_ledger": CommandKind("a reader reads all of the ledger's entries", ("topic",), ("partition",)),
    "take_over": CommandKind("another broker serves the topic, a list of ledgers", ("topic",), ("partition",)),
    "read_topic": CommandKind("a reader reads all of the topic, a list of ledgers", ("topic",), ("partition",)),
    DECOMMISSION: CommandKind("no ensemble takes the bookie any more", ("broker",)),
    ADD_BOOKIE: CommandKind("the bookie joins the cluster; before, it isn't there", ("broker",)),
}

_UNUSED = ("consumers",)
OF_REMOTE_STORAGE = ("copy_bytes_per_second",)
"""What ledgers that are offloaded have of the remote store's table."""
_UNUSED_OF_CLUSTER = (
    *("scale", "page_cache_bytes", "quota_window_rounds", "features"),
    *("fetch_round_trip_ms", "fetch_bytes_per_second", "fetches_per_round"),
)


BUDGETS = ("network_bytes_per_second", "disk_bytes_per_second")
"""What a bookie may have, and all ledgers of a scenario share."""
MOST_SHARING_LEDGERS, MOST_SHARING_LISTS = 10_000, 100
"""Ledgers by themselves, and topics that are lists of ledgers, that one task plays together."""


def has_ledgers(protocol: str) -> bool:
    """Tell whether a protocol is BookKeeper's."""
    return protocol in LEDGER_PROTOCOLS


def refuse_unused(places: Places) -> None:
    """Raises InputError for the first table or key that ledgers have no use for."""
    for key in _UNUSED:
        if key in places.data:
            raise places.error((key,), "ledgers have no use for it", "it with one of Kafka's protocols")
    for key in places.data.get("remote_storage", {}):
        if key not in OF_REMOTE_STORAGE:
            raise places.error(("remote_storage", key), "ledgers have no use for it", listing(OF_REMOTE_STORAGE))
    for key in _UNUSED_OF_CLUSTER:
        if key in places.data.get("cluster", {}):
            raise places.error(("cluster", key), "ledgers have no use for it", "it with one of Kafka's protocols")


def check_sharing(places: Places, brokers: Sequence[Broker], topics: Sequence[Topic], config: Mapping[str, ConfigValue]) -> None:
    """Raises InputError if bookies have budgets, and more ledgers share them than one task plays together."""
    key = next((key for key in BUDGETS if any(getattr(broker, key) is not None for broker in brokers)), None)
    if key is None:
        return
    lists = sum(topic.partitions for topic in topics if is_managed(config, topic.config))
    ledgers = sum(topic.partitions for topic in topics) - lists
    for count, most, what in ((ledgers, MOST_SHARING_LEDGERS, "ledgers"), (lists, MOST_SHARING_LISTS, "lists of ledgers")):
        if count > most:
            place = ("cluster", key) if key in places.data.get("cluster", {}) else ("cluster", "brokers_file")
            problem = f"{count} {what} would share bookies' budgets, which one task has to play together"
            raise places.error(place, problem, f"up to {most} {what}, or no {' and no '.join(BUDGETS)}")


def refuse_other_systems(places: Places, protocol: str, workload: pa.Table, faults: pa.Table) -> None:
    """Raises InputError for what a workload or fault row says that only the other system understands."""
    if has_ledgers(protocol):
        if pc.any(pc.not_equal(workload.column("acks"), "all")).as_py():
            raise places.error(("workload",), "acks: a ledger's adds are acknowledged by ackQuorumSize bookies", 'acks = "all"')
        if workload.column("records_per_second").null_count < workload.num_rows:
            problem = "records_per_second: a ledger takes whole entries a round"
            raise places.error(("workload",), problem, EVEN_ALLOWED)
        return
    if workload.column("max_in_flight").null_count < workload.num_rows:
        raise places.error(("workload",), "max_in_flight: Kafka's producers are not limited by it", 'protocol = "bookkeeper"')
    for kind in faults.column("kind").unique().to_pylist():
        if kind in LEDGER_KINDS:
            raise places.error(("faults",), f"{kind} is about ledgers", f'protocol = "{next(iter(LEDGER_PROTOCOLS))}"')


def check_ledger_config(places: Places, location: Location, config: Mapping[str, object], for_topic: bool) -> None:
    """Raises InputError for the first entry that is not a known key with a value of its type and range."""
    check_config(places, location, config, for_topic, LEDGER_KEYS)


def count_ledgers(places: Places, shapes: Sequence[TopicShape], imported: Sequence[Topic] = ()) -> dict[str, int]:
    """The ledgers of each topic; raises InputError for a topic without any, or with keys that are for Kafka's partitions."""
    counts = {topic.name: topic.partitions for topic in imported}
    seen: set[str] = set()
    for index, shape in enumerate(shapes):
        here: Location = ("topics", index)
        if shape.name in seen:
            raise places.error((*here, "name"), f'the name "{shape.name}" is taken', "a name of its own")
        seen.add(shape.name)
        for key in ("partitions", "assignment") if shape.name in counts else ():
            if getattr(shape, key) is not None:
                raise places.error((*here, key), "the topic is imported, with its ledgers", "name, placement, config")
        for key in ("replication_factor", *(key for key in PLACEMENT_KEYS if key != "placement")):
            if getattr(shape, key) is not None:
                raise places.error((*here, key), "ledgers have no use for it", "config = { ensembleSize = ... }")
        if shape.placement not in (None, *POLICIES):
            problem = f"{quoted(shape.placement)} is not known"
            raise places.error((*here, "placement"), problem, " or ".join(quoted(policy) for policy in POLICIES))
        if shape.name in counts:
            continue
        if shape.assignment is not None and shape.partitions not in (None, len(shape.assignment)):
            problem = f"{shape.partitions} ledgers, but assignment has {len(shape.assignment)}"
            raise places.error((*here, "partitions"), problem, "as many as assignment has")
        if shape.assignment is None and shape.partitions is None:
            problem = missing_partitions(places, here, shape.name, [topic.name for topic in imported])
            raise places.error((*here, "partitions"), problem, "partitions, the number of ledgers, or assignment")
        counts[shape.name] = len(shape.assignment) if shape.assignment is not None else shape.partitions or 0
    total = sum(counts.values())
    if not 0 < total <= MAX_PARTITIONS:
        problem = "there are no topics" if total == 0 else f"there are {total} ledgers in all"
        raise places.error(("topics",), problem, f"1 to {MAX_PARTITIONS} ledgers in all, by [[topics]] or cluster.import")
    return counts


def resolve_ledgers(
    places: Places,
    shape: ScenarioShape,
    brokers: Sequence[Broker],
    config: Mapping[str, ConfigValue],
    faults: pa.Table,
    session_timeout_rounds: int,
    imported: Sequence[Topic] = (),
) -> tuple[Topic, ...]:
    """The ledgers of every topic with their first ensembles: as the file has them, else by the policy; the imported ones first.

    Ledger p of a topic without `assignment` takes its bookies from number p on, round and round, among those that are registered
    in round 0, so that ledgers spread. Raises InputError for sizes that don't go together, an ensemble of another size, or too
    few bookies.
    """
    timelines = bookie_timelines(
        read_fault_rows(faults, shape.rounds),
        [(b.id, b.rack) for b in brokers],
        min(shape.rounds, 1),
        session_timeout_rounds,
    )
    away = {bookie for bookie, timeline in timelines.items() if not timeline.states[0].registered}
    joining = bookies_to_come(places, shape.commands)
    away |= joining
    registered = [b for b in brokers if b.id not in away]
    topics = {topic.name: topic for topic in imported}
    for index, topic in enumerate(shape.topics):
        if topic.name in topics:
            topics[topic.name] = _configured(places, index, topic, topics[topic.name], brokers)
        else:
            topics[topic.name] = _ledgers_of(places, index, topic, brokers, registered, config, joining)
    return tuple(topics.values())


def _configured(places: Places, index: int, shape: TopicShape, topic: Topic, brokers: Sequence[Broker]) -> Topic:
    """An imported topic with the file's config over its own."""
    check_ledger_config(places, ("topics", index, "config"), shape.config, for_topic=True)
    policy = shape.placement or topic.policy
    if policy == REGION_AWARE:
        check_regions(places, ("topics", index, "placement"), brokers)
    return Topic(topic.name, topic.assignment, {**topic.config, **shape.config}, policy)


def _ledgers_of(
    places: Places,
    index: int,
    shape: TopicShape,
    brokers: Sequence[Broker],
    registered: Sequence[Broker],
    config: Mapping[str, ConfigValue],
    joining: Set[int],
) -> Topic:
    here: Location = ("topics", index)
    check_ledger_config(places, (*here, "config"), shape.config, for_topic=True)
    size, write, ack = (int(effective(config, shape.config, key)) for key in SIZES)
    if not size >= write >= ack:
        problem = f"ensembleSize {size}, writeQuorumSize {write}, ackQuorumSize {ack}"
        raise places.error((*here, "config"), problem, "ensembleSize >= writeQuorumSize >= ackQuorumSize")
    policy = shape.placement or LOWEST_FREE_ID
    if policy == REGION_AWARE:
        check_regions(places, (*here, "placement"), brokers)
    if _check_list(places, here, shape, config):
        if len(brokers) < size:
            raise places.error((*here, "config"), f"ensembleSize {size}, but {len(brokers)} bookies", f"1 to {len(brokers)}")
        ensembles = _in_turn(brokers, size, shape.partitions or 0)
    elif shape.assignment is not None:
        ids = frozenset(b.id for b in brokers) - joining
        for ledger, ensemble in enumerate(shape.assignment):
            check_replicas(places, (*here, "assignment", ledger), ensemble, ids)
            if len(ensemble) != size:
                problem = f"{len(ensemble)} bookies in an ensemble of ensembleSize {size}"
                raise places.error((*here, "assignment", ledger), problem, f"{size} bookies")
        ensembles = np.array(shape.assignment, np.int32)
    else:
        ensembles = _new_ensembles(places, here, shape, registered, config, policy)
    return Topic(shape.name, ensembles, {**shape.config}, policy)


def _new_ensembles(
    places: Places,
    here: Location,
    shape: TopicShape,
    registered: Sequence[Broker],
    config: Mapping[str, ConfigValue],
    policy: str,
) -> npt.NDArray[np.int32]:
    """The ensembles of ledgers that the file gives none, by their placement."""
    size, write, _ = (int(effective(config, shape.config, key)) for key in SIZES)
    if len(registered) < size:
        problem = f"ensembleSize {size} needs as many bookies in round 0, there are {len(registered)}"
        raise places.error((*here, "config"), problem, f"1 to {len(registered)}")
    if policy in DRAWN:  # drawn when all of the scenario is known
        return _in_turn(registered, size, shape.partitions or 0)
    least = min(int(effective(config, shape.config, "minNumRacksPerWriteQuorum")), write)
    enforced = bool(effective(config, shape.config, "enforceMinNumRacksPerWriteQuorum"))
    of_each = new_ensembles(registered, policy, size, write, least, enforced)
    if None in of_each:
        problem = f"no ensemble of {size} bookies has {least} racks in every write quorum"
        raise places.error((*here, "placement"), problem, "more racks, or enforceMinNumRacksPerWriteQuorum = false")
    return np.array(of_each, np.int32)[np.arange(shape.partitions or 0) % len(registered)]


def bookies_to_come(places: Places, commands: Sequence[CommandShape]) -> set[int]:
    """Bookies that join after round 0; raises InputError for one that is decommissioned before it is there."""
    joins: dict[int, int] = {}
    for index, command in enumerate(commands):
        if command.kind == ADD_BOOKIE and command.broker is not None:
            if command.broker in joins:
                raise places.error(("commands", index), f"bookie {command.broker} joins twice", "each bookie once")
            joins[command.broker] = command.round
    for index, command in enumerate(commands):
        if command.kind == DECOMMISSION and command.broker in joins and command.round <= joins[command.broker]:
            problem = f"bookie {command.broker} is decommissioned before it joins"
            raise places.error(("commands", index, "round"), problem, f"a round after {joins[command.broker]}")
    return {bookie for bookie, joined in joins.items() if joined > 0}


def _check_list(places: Places, here: Location, shape: TopicShape, config: Mapping[str, ConfigValue]) -> bool:
    """Whether the topic is a list of ledgers; raises InputError for what doesn't go with that."""
    if not is_managed(config, shape.config):
        for key in OF_TOPICS:
            if key != MANAGED and key in shape.config:
                problem = "means something for a topic that is a list of ledgers only"
                raise places.error((*here, "config", key), problem, f"{MANAGED} = true beside it")
        return False
    if shape.assignment is not None:
        problem = "the ledgers of a list take their bookies by the policy"
        raise places.error((*here, "assignment"), problem, "partitions, the number of topic partitions")
    least, most = (
        int(effective(config, shape.config, f"managedLedger{key}RolloverTimeMinutes")) for key in ("MinLedger", "MaxLedger")
    )
    if most < least:
        problem = f"managedLedgerMinLedgerRolloverTimeMinutes {least}, managedLedgerMaxLedgerRolloverTimeMinutes {most}"
        raise places.error((*here, "config"), problem, "the least time at or below the largest")
    return True


def _in_turn(brokers: Sequence[Broker], size: int, partitions: int) -> npt.NDArray[np.int32]:
    """Bookies for ledgers that aren't there yet: what stands for their ensembles until they are created."""
    ids = np.array([b.id for b in brokers], np.int32)
    return ids[(np.arange(partitions)[:, None] + np.arange(size)) % len(ids)]


def check_lists_commands(
    places: Places, commands: Sequence[Command], topics: Sequence[Topic], config: Mapping[str, ConfigValue]
) -> None:
    """Raises InputError for a command that a topic which is a list of ledgers doesn't take, or only such a topic does."""
    lists = {topic.name: is_managed(config, topic.config) for topic in topics}
    for index, command in enumerate(commands):
        for name in matching_topics(command.topic, lists) if command.topic is not None else ():
            if command.kind in ONLY_LISTS and not lists[name]:
                problem = f"{name} is no list of ledgers"
                raise places.error(("commands", index, "kind"), problem, f"{command.kind} for topics with {MANAGED} = true")
            if command.kind in LEDGER_COMMANDS and command.kind not in OF_LISTS and lists[name]:
                problem = f"{name} is a list of ledgers, which its owner opens and closes"
                raise places.error(("commands", index, "kind"), problem, listing(OF_LISTS))
