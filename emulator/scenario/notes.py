"""What is said of a run before it starts: what its scenarios ask for that has no effect, or less than a reader may think."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.compute as pc

from emulator.errors import MOST_NAMED, few, listing, some, some_scenarios
from emulator.scenario.clusters import SESSION_TIMEOUT, session_timeout_ms
from emulator.scenario.config_keys import AT_START, FLUSHER, KEYS, NEVER, OF_ONE_BROKER, ConfigValue
from emulator.scenario.configs import decided_by_others, effective
from emulator.scenario.configs_in_run import values
from emulator.scenario.consumers import QUOTA as CLIENT_QUOTA
from emulator.scenario.durations import rounds_of
from emulator.scenario.globs import matching_topics
from emulator.scenario.idle_commands import idle_commands
from emulator.scenario.ledger_notes import notes_of_ledgers
from emulator.scenario.ledgers import has_ledgers
from emulator.scenario.model import TIME_BUCKETS, Run, Scenario, Topic
from emulator.scenario.protocols import PARTITIONS, group_protocol, system_of
from emulator.scenario.quorums import has_groups, idle_faults, idle_keys
from emulator.scenario.reader_notes import notes_of_readers
from emulator.scenario.round_notes import notes_of_rounds
from emulator.scenario.start_notes import notes_of_start
from emulator.scenario.tier_notes import notes_of_tiers, slow_reads
from emulator.scenario.time_buckets import BUCKET_UNIT_ROUNDS, bucket_length
from emulator.scenario.topics import NO_REPLICA

FETCHERS, MIN_BYTES, PRE_VOTE = "num.replica.fetchers", "replica.fetch.min.bytes", "pre.vote"
OF_TABLES = ("topics", "workload", "consumers", "faults", "fault_generators", "commands")
"""Lists of tables at the top of a file: a variant's are laid over the base's."""


def notes_of(run: Run) -> list[str]:
    """The notes of all scenarios, in lines: one that not all of them have names those that do."""
    having: dict[str, list[str]] = {}
    for scenario in run.scenarios:
        for note in _notes(scenario):
            having.setdefault(note, []).append(scenario.name)
    count = len(run.scenarios)
    idle = sorted({key for scenario in run.scenarios for key in keys_without_effect(scenario)})
    told = [f"no effect here: {', '.join(idle)}"] if idle else []
    notes = [note if len(names) == count else f"{note} ({some_scenarios(names, count)})" for note, names in having.items()]
    of_run = (notes_of_tiers, _empty_lists, _acks_of_others, _same_draws, _time_buckets)
    return [*told, *notes, *(note for notes_in in of_run for note in notes_in(run))]


def keys_without_effect(scenario: Scenario) -> Iterator[str]:
    """The config keys that a scenario gives and that change nothing, with what keeps them from it where they could elsewhere."""
    for config in (scenario.config, *(topic.config for topic in scenario.topics)):
        yield from (key for key in config if key in KEYS and not KEYS[key].effect)
    yield from (f"{key} ({other} decides)" for key, other in decided_by_others(scenario.config).items() if KEYS[key].effect)
    for command in scenario.commands:
        for key in command.config or {}:
            if key in KEYS and not KEYS[key].effect:
                yield key
            elif command.broker is not None and key not in OF_ONE_BROKER:
                yield f"{key} (by alter_config of one broker)"
            elif key in AT_START:
                yield f"{key} (by alter_config)"
    if _fetchers_share_nothing(scenario):
        yield f"{FETCHERS} (beside fetches_per_round)"
    if has_groups(scenario.protocol):
        configs = [scenario.config, *(topic.config for topic in scenario.topics)]
        yield from (f"{key} (of {scenario.protocol})" for key in idle_keys(scenario.protocol, configs))
    for row in scenario.consumers:
        yield from (f"{key} (of consumers)" for key in row.idle_keys)


def _fetchers_share_nothing(scenario: Scenario) -> bool:
    """Whether fetchers are given, but nothing asks how many (docs/kafka_rounds.md, Fetchers, Shared bandwidth, Last moments)."""
    if not scenario.protocol.startswith("kafka") or scenario.fetching.per_round is None:
        return False
    is_limited = any(b.network_bytes_per_second or b.disk_bytes_per_second for b in scenario.brokers)
    waits = int(effective(scenario.config, {}, MIN_BYTES)) > 1
    is_default = int(effective(scenario.config, {}, FETCHERS)) == KEYS[FETCHERS].default
    return not (is_default or is_limited or waits)


def _notes(scenario: Scenario) -> Iterator[str]:
    if scenario.protocol.startswith("kafka"):
        yield from _session_timeout(scenario)
        yield from _compaction(scenario)
        yield from notes_of_start(scenario)
        yield from _acks(scenario)
        yield from _throttles(scenario)
        yield from _flusher(scenario)
        yield from slow_reads(scenario)
        yield from _min_isr(scenario)
        yield from _slow_by_partition(scenario)
        yield from notes_of_rounds(scenario)
        yield from notes_of_readers(scenario)
        yield from idle_commands(scenario)
    elif scenario.faults.column("moment").null_count < scenario.faults.num_rows:
        yield f"moment of faults has no effect on {system_of(scenario.protocol)}: they play whole rounds"
    if has_groups(scenario.protocol):
        faults = idle_faults(scenario.protocol, scenario.faults, scenario.round_ms)
        if faults:
            yield f"no effect on {scenario.protocol}: {listing(faults)}"
        yield from _pre_vote(scenario)
    if has_ledgers(scenario.protocol):
        yield from _faults_without_effect(scenario)
        yield from _queues(scenario)
        yield from notes_of_ledgers(scenario)
    yield from _too_late(scenario)


def _pre_vote(scenario: Scenario) -> Iterator[str]:
    """KRaft has asked before every election since Kafka 4.0 (KIP-996), ours does where it is told to."""
    is_given = any(PRE_VOTE in config for config in (scenario.config, *(topic.config for topic in scenario.topics)))
    if group_protocol(scenario.protocol).fetches and not is_given:
        yield f"{scenario.protocol} stands for elections without asking first, as before Kafka 4.0: {PRE_VOTE} = true asks"


def _faults_without_effect(scenario: Scenario) -> Iterator[str]:
    """What faults say that ledgers pass over (docs/bookkeeper_rounds.md, What the faults say)."""
    faults = scenario.faults
    kinds = set(faults.column("kind").unique().to_pylist()) & {"link_cut", "stale_metadata"}
    slow = faults.filter(pc.equal(faults.column("kind"), "slow_link"))
    if slow.num_rows:
        idle = pc.or_(pc.is_valid(slow.column("peer")), pc.is_null(slow.column("bytes_per_second")))
        idle = pc.or_(idle, pc.equal(pc.fill_null(slow.column("direction"), "both"), "out"))
        kinds |= {"slow_link to a peer, out of a bookie, or with round_trip_ms alone"} if pc.any(idle).as_py() else set()
    if kinds:
        yield f"{listing(sorted(kinds))}: no effect on ledgers, whose bookies answer clients only"


def _queues(scenario: Scenario) -> Iterator[str]:
    """Ledgers to which more entries a round come than they may have in flight (docs/bookkeeper_rounds.md, send)."""
    names = dict.fromkeys(topic.name for topic in scenario.topics)
    most_due, in_flight = dict.fromkeys(names, 0.0), dict.fromkeys(names, 1)
    for row in scenario.workload.to_pylist():
        due = row["records_per_round"] or (row["records_per_second"] or 0) * scenario.round_ms / 1000
        for topic in matching_topics(row["topic"], names):
            most_due[topic] = max(most_due[topic], float(due))
            in_flight[topic] = max(in_flight[topic], row["max_in_flight"] or 1)
    waiting: dict[int, list[str]] = {}
    for topic in names:
        if most_due[topic] > in_flight[topic]:
            waiting.setdefault(in_flight[topic], []).append(topic)
    for limit, topics in waiting.items():
        what = f"max_in_flight = {limit} of {some('topic', topics)}"
        entries = "one entry goes" if limit == 1 else f"{limit} entries go"
        yield f"{what}: {entries} to a ledger a round at most, the rest of a round's waits"


def _session_timeout(scenario: Scenario) -> Iterator[str]:
    """Rounds that the file gives win over the key's milliseconds."""
    rounds, given = scenario.session_timeout_rounds, scenario.config.get(SESSION_TIMEOUT)
    if given is not None and rounds != rounds_of(session_timeout_ms(scenario.config), scenario.round_ms):
        yield f"session_timeout_rounds = {rounds} decides when brokers are fenced, not {SESSION_TIMEOUT} = {given}"


def _compaction(scenario: Scenario) -> Iterator[str]:
    """UnifiedLog.deleteOldSegments deletes by size and age where cleanup.policy has "delete"; the cleaner is not emulated."""
    compacted = [topic.name for topic in scenario.topics if any("compact" in str(p) for p in policies(scenario, topic))]
    if compacted:
        yield f"compaction is not emulated: logs of {some('topic', compacted)} keep what it would free"


def policies(scenario: Scenario, topic: Topic) -> set[ConfigValue]:
    """Every cleanup.policy that a topic has in the run."""
    return values(scenario, topic, "cleanup.policy")


def _acks(scenario: Scenario) -> Iterator[str]:
    """Who is told what: ProducerConfig, acks; min.insync.replicas is asked of acks=all alone (ReplicaManager.appendRecords)."""
    topics = topics_by_acks(scenario)
    if topics["1"]:
        yield f"acks=1 of {some('topic', topics['1'])}: the leader alone acknowledges; what followers lack when it goes is lost"
    if topics["0"]:
        yield f"acks=0 of {some('topic', topics['0'])}: producers wait for nobody; what is lost of it, they are not told"
    asking_less = {*topics["0"], *topics["1"]}
    unguarded = [
        topic.name
        for topic in scenario.topics
        if topic.name in asking_less and any(int(value) > 1 for value in values(scenario, topic, "min.insync.replicas"))
    ]
    if unguarded:
        yield f"min.insync.replicas of {some('topic', unguarded)} guards what is sent with acks=all only, not with acks 0 or 1"


def _min_isr(scenario: Scenario) -> Iterator[str]:
    """Partition.effectiveMinIsr, since 3.7: a partition with fewer replicas asks for all of them."""
    fewest = {topic.name: int((topic.assignment != NO_REPLICA).sum(axis=1).min()) for topic in scenario.topics}
    for command in scenario.commands:
        if command.kind == "reassign" and command.replicas:
            for name in matching_topics(command.topic or "*", fewest):
                fewest[name] = min(fewest[name], len(command.replicas))
    above = []
    for topic in scenario.topics:
        most = max(int(value) for value in values(scenario, topic, "min.insync.replicas"))
        if most > fewest[topic.name]:
            above.append(topic.name)
    if above:
        yield f"min.insync.replicas of {some('topic', above)} is at times above its replicas: then it asks for all of them"


def _acks_of_others(run: Run) -> Iterator[str]:
    """What partitions of a file have of acks, and its groups and ledgers leave out: there a quorum acknowledges all."""
    others = dict.fromkeys(scenario.protocol for scenario in run.scenarios if system_of(scenario.protocol) != PARTITIONS)
    if not others:
        return
    given: dict[str, None] = {}
    for scenario in run.scenarios:
        if system_of(scenario.protocol) != PARTITIONS:
            continue
        topics = topics_by_acks(scenario)
        given.update((f"acks={acks} of {some('topic', topics[acks])}", None) for acks in ("0", "1") if topics[acks])
        if any(int(value) > 1 for topic in scenario.topics for value in values(scenario, topic, "min.insync.replicas")):
            given["min.insync.replicas"] = None
    if given:
        yield f"no effect on {listing(others)}, where a quorum acknowledges every record: {listing(given)}"


def topics_by_acks(scenario: Scenario) -> dict[str, list[str]]:
    """The topics that are sent records with acks "0", "1" and "all", in their order."""
    whole, fraction = (scenario.workload.column(f"records_per_{unit}") for unit in ("round", "second"))
    is_sent = pc.or_(pc.not_equal(whole, 0), pc.greater(pc.fill_null(fraction, 0), 0))
    sent = scenario.workload.filter(is_sent)
    pairs = dict.fromkeys(zip(sent.column("topic").to_pylist(), sent.column("acks").to_pylist(), strict=True))
    names, found = dict.fromkeys(topic.name for topic in scenario.topics), {acks: set[str]() for acks in ("0", "1", "all")}
    for topics, acks in pairs:
        found[acks].update(matching_topics(topics, names))
    return {acks: [name for name in names if name in of_acks] for acks, of_acks in found.items()}


def _throttles(scenario: Scenario) -> Iterator[str]:
    """KIP-73: a rate is for the replicas that a topic lists. KIP-13: a group's is for groups."""
    changed = [command.config or {} for command in scenario.commands if command.kind == "alter_config"]
    for side in ("leader", "follower"):
        rate, listed = f"{side}.replication.throttled.rate", f"{side}.replication.throttled.replicas"
        is_set = any(rate in config for config in (scenario.config, *changed))
        if is_set and not any(value for topic in scenario.topics for value in values(scenario, topic, listed)):
            yield f"{rate} limits nothing: no topic has {listed}"
    if not scenario.consumers and any(CLIENT_QUOTA in config for config in (scenario.config, *changed)):
        yield f"{CLIENT_QUOTA} limits nothing: nobody reads"


def _flusher(scenario: Scenario) -> Iterator[str]:
    """LogManager looks at flush.ms as often as its flusher runs, by default never."""
    topics = [topic.name for topic in scenario.topics if values(scenario, topic, "flush.ms") - {NEVER}]
    looks = 0 < int(effective(scenario.config, {}, FLUSHER)) < NEVER
    if topics and not looks:
        yield f"flush.ms flushes here, on a real broker only with {FLUSHER} beside it: {some('topic', topics)}"


def _slow_by_partition(scenario: Scenario) -> Iterator[str]:
    """A slow disk or link leaves each partition's follower so many bytes; they do not share them (docs/architecture.md)."""
    faults = scenario.faults.filter(pc.is_valid(scenario.faults.column("bytes_per_second")))
    shared = {"slow_disk": "disk_bytes_per_second", "slow_link": "network_bytes_per_second"}
    kinds = sorted(shared.keys() & {*faults.column("kind").to_pylist()})
    if kinds:
        yield (
            f"bytes_per_second of {listing(kinds)} limit each partition's fetches by themselves; what all of a broker share is"
            f" {' and '.join(shared[kind] for kind in kinds)}, of a single broker in brokers_file"
        )


def _empty_lists(run: Run) -> Iterator[str]:
    """Variants that give an empty list of tables, as if that took away the base's."""
    for key in OF_TABLES:
        emptied = [each for each in run.scenarios if each.overrides.get(key) == "[]"]
        names = [each.name for each in emptied if "sweep.variant" not in each.overrides]
        if names:
            yield f"{key} = [] of {some('variant', names)} takes nothing away: a variant's are added, or merged by name"


def _too_late(scenario: Scenario) -> Iterator[str]:
    """Faults, workload and readers that begin, and commands that are given, when the run is over."""
    commands = [f"{command.kind} in round {command.round}" for command in scenario.commands if command.round >= scenario.rounds]
    if commands:
        yield f"the last round is {scenario.rounds - 1}: nothing comes of {listing(few(commands[:MOST_NAMED], len(commands)))}"
    late = scenario.faults.filter(pc.greater_equal(scenario.faults.column("from_round"), scenario.rounds))
    if late.num_rows:
        first = late.slice(0, MOST_NAMED).select(["kind", "from_round"]).to_pylist()
        told = listing(few([f"{row['kind']} from round {row['from_round']}" for row in first], late.num_rows))
        yield f"the last round is {scenario.rounds - 1}: nothing comes of {told}"
    appends = scenario.workload.filter(pc.greater_equal(scenario.workload.column("from_round"), scenario.rounds))
    from_rounds = sorted({*appends.column("from_round").to_pylist()})
    begin = [f"workload from round {round_}" for round_ in from_rounds]
    begin += [f"group {row.group} from round {row.from_round}" for row in scenario.consumers if row.from_round >= scenario.rounds]
    if begin:
        yield f"the last round is {scenario.rounds - 1}: nothing comes of {listing(few(begin[:MOST_NAMED], len(begin)))}"


def _time_buckets(run: Run) -> Iterator[str]:
    """Buckets of another number than the file asks for, which it may be by more than one."""
    longest = max(run.scenarios, key=lambda scenario: scenario.rounds)
    length = bucket_length(longest.rounds, run.time_buckets)
    buckets = -(-longest.rounds // length)
    if run.time_buckets != TIME_BUCKETS and buckets != run.time_buckets:
        seconds = length * longest.round_ms / 1000
        yield (
            f"time_buckets = {run.time_buckets}: there are {buckets}, of {length} rounds ({seconds:,.6g} s), as each is a"
            f" multiple of {BUCKET_UNIT_ROUNDS} rounds"
        )


def _same_draws(run: Run) -> Iterator[str]:
    """A sweep over seeds of a file in which nothing is drawn, neither faults nor replicas."""
    draws: dict[str, list[Scenario]] = {}
    for scenario in run.scenarios:
        if "sweep.seed" in scenario.overrides:
            others = {name: value for name, value in scenario.overrides.items() if name != "sweep.seed"}
            draws.setdefault(str(sorted(others.items())), []).append(scenario)
    for same in draws.values():
        if len(same) > 1 and all(_is_drawn_alike(same[0], other) for other in same[1:]):
            yield f"seeds: all {len(same)} draws are the same, for the file draws neither faults nor replicas"
            return


def _is_drawn_alike(one: Scenario, other: Scenario) -> bool:
    of_both: Sequence[tuple[Any, Any]] = list(zip(one.topics, other.topics, strict=True))
    return one.faults.equals(other.faults) and all((a.assignment == b.assignment).all() for a, b in of_both)
