"""What is said of a scenario before it runs."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from emulator.cli import commands
from emulator.outcomes.idle_commands import lines_of
from emulator.scenario import load_run
from emulator.scenario.notes import notes_of

CLUSTER = """
name = "noted"
rounds = 100
[cluster]
brokers = 3
CLUSTER
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
TOPIC
"""


def notes(folder: Path, topic: str = "", cluster: str = "", more: str = "") -> list[str]:
    """The notes of a small scenario with these lines added."""
    path = folder / "noted.toml"
    path.write_text(CLUSTER.replace("CLUSTER", cluster).replace("TOPIC", topic) + more)
    return notes_of(load_run(str(path)))


def test_a_plain_scenario_has_none(tmp_path: Path) -> None:
    assert notes(tmp_path) == []


def test_what_is_given_for_remote_storage_that_no_topic_has_is_told(tmp_path: Path) -> None:
    start = "no effect without remote storage, which remote.storage.enable of a topic turns on: "
    local, enabled = '"local.retention.ms" = 60000', '"remote.storage.enable" = true'
    system = 'config = { "remote.log.storage.system.enable" = true, "remote.log.reader.threads" = 3 }'
    of_file = "[remote_storage]\nmetadata_lag_rounds = 3\n[[faults]]\nkind = 'slow_remote_storage'\nbytes_per_second = 5\n"
    of_file += "from_round = 1\nto_round = 2\n"
    of_store = "[remote_storage], slow_remote_storage"
    assert notes(tmp_path, f"config = {{ {local} }}") == [f"{start}local.retention.ms of topic t"]
    assert notes(tmp_path, cluster=system, more=of_file) == [f"{start}remote.log.reader.threads, {of_store}"]
    assert notes(tmp_path, f"config = {{ {local}, {enabled} }}", system, of_file) == []
    later = f"[[commands]]\nkind = 'alter_config'\nround = 50\ntopic = 't'\nconfig = {{ {enabled} }}\n"
    assert notes(tmp_path, f"config = {{ {local} }}", system, of_file + later) == []
    altered = later.replace(enabled, local)
    assert notes(tmp_path, cluster=system, more=altered) == [f"{start}local.retention.ms of topic t, remote.log.reader.threads"]
    one_has = "[[variants]]\nname = 'tiered'\ntopics = [{ name = 't', config = { " + enabled + " } }]\n"
    assert notes(tmp_path, f"config = {{ {local} }}", system, of_file + one_has) == []


def test_what_passes_bookies_budgets_by_is_told(tmp_path: Path) -> None:
    told = "bookies' budgets are about adds alone, not about "

    def notes_with(budget: str, config: str, topic: str, command: str) -> list[str]:
        path = tmp_path / "budgets.toml"
        cluster = f"[cluster]\nbrokers = 3\n{budget}\nconfig = {{ {config} }}\n"
        topics = f'[[topics]]\nname = "t"\npartitions = 2\nconfig = {{ {topic} }}\n'
        path.write_text(f'name = "noted"\nprotocol = "bookkeeper"\nrounds = 100\n{cluster}{topics}{command}')
        return notes_of(load_run(str(path)))

    network, copying = "network_bytes_per_second = 1000", "autoRecoveryDaemonEnabled = true, rereplicationEntryBatchSize = 7"
    assert notes_with("", copying, "", "") == []
    assert notes_with(network, "", "", "") == []
    assert notes_with(network, copying, "", "") == [f"{told}copies (up to 7 entries a round of each ledger)"]
    read = '[[commands]]\nkind = "read_ledger"\ntopic = "t"\nround = 3\n'
    check = read.replace("read_ledger", "check_ledger")
    assert notes_with(network, "", "", read) == [f"{told}readers"]
    assert notes_with("disk_bytes_per_second = 1000", "", "", check + read) == [
        f"{told}copies (up to 10 entries a round of each ledger), readers"
    ]
    offloading = "managedLedger = true, managedLedgerOffloadThresholdInSeconds = 60"
    kept = f"{offloading}, defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = -1"
    assert notes_with(network, "", kept, "") == [f"{told}offloading"]
    idle = "ledgers to be offloaded are deleted when they are closed: defaultRetentionTimeInMinutes is 0: topic t"
    assert notes_with(network, "", offloading, "") == [f"{told}offloading", idle]


def test_compaction_is_left_out(tmp_path: Path) -> None:
    told = ["compaction is not emulated: logs of topic t keep what it would free"]
    assert notes(tmp_path, 'config = { "cleanup.policy" = "compact" }') == told
    assert notes(tmp_path, cluster='config = { "log.cleanup.policy" = "compact,delete" }') == told
    later = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "cleanup.policy" = "compact" }\n'
    assert notes(tmp_path, more=later) == told


def test_local_log_starts_with_nothing_remote_below_them(tmp_path: Path) -> None:
    log = '[[initial.replicas]]\ntopic = "t"\npartition = PART\nbroker = 1\nleo = 9\nlocal_log_start_offset = 5\n'
    remote = '[[initial.remote_segments]]\ntopic = "t"\npartition = 0\nbase_offset = 0\nend_offset = 4\nbytes = 5000\n'
    one, other = log.replace("PART", "0"), log.replace("PART", "1")
    tiered = 'config = { "remote.storage.enable" = true }'
    cluster = 'config = { "remote.log.storage.system.enable" = true }'
    assert notes(tmp_path, tiered, cluster, one + remote) == []
    [told] = notes(tmp_path, tiered, cluster, one + other + remote)
    assert told.startswith("nothing is remote below given local log starts of topic t: ")
    assert notes(tmp_path, more=one.replace("local_log_start_offset = 5", "log_start_offset = 5")) == []


def test_lists_of_ledgers_that_keep_nothing(tmp_path: Path) -> None:
    """Retention deletes what either limit lets go: with one of them at its default of 0 the other keeps nothing."""
    time, size = "defaultRetentionTimeInMinutes", "defaultRetentionSizeInMB"
    for given, told in (
        (f"{time} = 60", [f"{time} = 60 keeps nothing where {size} is 0 (-1: no limit): topic t"]),
        (f"{size} = 5", [f"{size} = 5 keeps nothing where {time} is 0 (-1: no limit): topic t"]),
        (f"{time} = 60, {size} = -1", []),
        ("maxLedgers = 5", []),
    ):
        config = f"config = {{ managedLedger = true, {given} }}"
        assert [note for note in of_ledgers(tmp_path, config) if "keeps nothing" in note] == told


def test_placement_by_racks_without_racks(tmp_path: Path) -> None:
    placed = 'placement = "RackawareEnsemblePlacementPolicy"'
    told = "placement by racks has no effect, as no bookie is in one: topic t"
    assert told in of_ledgers(tmp_path, placed)
    assert told not in of_ledgers(tmp_path, placed, "racks = 3")


def test_repair_that_never_comes(tmp_path: Path) -> None:
    """Three bookies, all of them in each ensemble; and one that comes back empty in 40 rounds of 500 ms, or 41."""
    lost = '[[faults]]\nkind = "disk_loss"\nbroker = 2\nfrom_round = 5\nto_round = END\n'
    late = "what a disk_loss takes is not copied again where the bookie is back within lostBookieRecoveryDelay = 20 s: bookie 2"
    alone = "autorecovery has no bookie to copy to, as ensembles are of all 3: topic t"
    repairs = "config = { autoRecoveryDaemonEnabled = true, lostBookieRecoveryDelay = 20 }"
    small = "config = { ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2 }"
    slow = '[[faults]]\nkind = "slow_bookie"\nbroker = 3\nlag_rounds = 2\nfrom_round = 6\n'
    decommissioned = '[[commands]]\nkind = "decommission_bookie"\nbroker = 3\nround = 6\n'
    early, later = lost.replace("END", "45"), lost.replace("END", "46")
    second = early + early.replace("broker = 2", "broker = 3").replace("= 5", "= 44").replace("= 45", "= 60")
    for topic, cluster, faults, told in (
        (small, repairs, early, [late]),
        (small, repairs, later, []),
        (small, repairs, second, []),
        (small, repairs, early + slow, [late]),
        (small, repairs, lost.replace("= 5", "= 30").replace("to_round = END\n", ""), []),  # it never comes back
        ("", repairs, slow, []),
        ("", repairs, decommissioned, [alone]),
        ("", repairs, later, [alone]),
        ("", repairs, "", []),
        ("", "", early, []),
        (small, repairs.replace(" }", ", dataIntegrityCheckingEnabled = true }"), early, []),
    ):
        assert of_ledgers(tmp_path, f"{topic}\n{faults}", cluster) == told


def of_ledgers(tmp_path: Path, topic: str, cluster: str = "") -> list[str]:
    """The notes of a file with one topic of ledgers."""
    path = tmp_path / "ledgers.toml"
    head = f'protocol = "bookkeeper"\nrounds = 50\n[cluster]\nbrokers = 3\n{cluster}\n'
    path.write_text(f'{head}[[topics]]\nname = "t"\npartitions = 2\n{topic}\n')
    return notes_of(load_run(str(path)))


def test_ledgers_have_no_moments(tmp_path: Path) -> None:
    crash = '[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = 5\nmoment = 0.5\n'
    variant = '[[variants]]\nname = "l"\nprotocol = "bookkeeper"\n'
    told = ["moment of faults has no effect on ledgers: they play whole rounds (scenario l)"]
    assert notes(tmp_path, more=crash) == []
    assert notes(tmp_path, more=crash + variant) == told


def test_faults_without_effect_on_ledgers(tmp_path: Path) -> None:
    link = "[[faults]]\nbroker = 1\npeer = 2\nfrom_round = 5\n"
    variant = '[[variants]]\nname = "l"\nprotocol = "bookkeeper"\n'
    told = "link_cut: no effect on ledgers, whose bookies answer clients only (scenario l)"
    assert notes(tmp_path, more=link + 'kind = "link_cut"\n' + variant) == [told]
    slow = '[[faults]]\nkind = "slow_link"\nbroker = 1\nfrom_round = 5\n'
    for idle in ("peer = 2\nbytes_per_second = 9", "round_trip_ms = 9", 'bytes_per_second = 9\ndirection = "out"'):
        *_, told = notes(tmp_path, more=f"{slow}{idle}\n{variant}")
        assert told.startswith("slow_link to a peer, out of a bookie, or with round_trip_ms alone: no effect on ledgers")
    [told] = notes(tmp_path, more=f"{slow}bytes_per_second = 9\n{variant}")
    assert told.endswith("of a single broker in brokers_file (scenario base)")


def test_ledgers_with_a_queue_are_told(tmp_path: Path) -> None:
    """Kafka's producers are not limited, so that the note is of the ledgers alone."""
    ledgers = '[[variants]]\nname = "l"\nprotocol = "bookkeeper"\n'
    only = "to a ledger a round at most, the rest of a round's waits"
    assert notes(tmp_path, more=workload("records_per_round = 1") + ledgers) == []
    assert notes(tmp_path, more=workload("records_per_second = 2") + ledgers) == []
    for more in (workload("records_per_round = 5"), workload("records_per_second = 4"), workload("records_per_round = 2") * 2):
        assert notes(tmp_path, more=more + ledgers) == [f"max_in_flight = 1 of topic t: one entry goes {only} (scenario l)"]
    of_ledgers = CLUSTER.replace("CLUSTER", "").replace("replication_factor = 3\nTOPIC", "")
    limited = 'protocol = "bookkeeper"\n' + of_ledgers + workload("records_per_round = 5\nmax_in_flight = LIMIT")
    path = tmp_path / "of_ledgers.toml"
    for limit, told in ((5, []), (4, [f"max_in_flight = 4 of topic t: 4 entries go {only}"])):
        path.write_text(limited.replace("LIMIT", str(limit)))
        assert notes_of(load_run(str(path))) == told


def workload(*rows: str) -> str:
    """Rows of the workload of topic t that say so."""
    return "".join(f'[[workload]]\ntopic = "*"\nrecord_bytes = 10\n{row}\n' for row in rows)


def test_acks_below_all_are_told(tmp_path: Path) -> None:
    of_all, of_one, of_none = (f'records_per_round = 5\nacks = "{acks}"' for acks in ("all", "1", "0"))
    one = "acks=1 of topic t: the leader alone acknowledges; what followers lack when it goes is lost"
    none = "acks=0 of topic t: producers wait for nobody; what is lost of it, they are not told"
    assert notes(tmp_path, more=workload(of_all)) == []
    assert notes(tmp_path, more=workload(of_all, of_one)) == [one]
    assert notes(tmp_path, more=workload(of_none, of_one)) == [one, none]
    assert notes(tmp_path, more=workload('records_per_round = 0\nacks = "1"')) == []


def test_min_insync_replicas_of_less_than_acks_all_are_told(tmp_path: Path) -> None:
    told = "min.insync.replicas of topic t guards what is sent with acks=all only, not with acks 0 or 1"
    of_all, of_one = (workload(f'records_per_round = 5\nacks = "{acks}"') for acks in ("all", "1"))
    two = 'config = { "min.insync.replicas" = 2 }'
    assert notes(tmp_path, two, more=of_all) == []
    assert notes(tmp_path, two, more=of_one)[1:] == notes(tmp_path, cluster=two, more=of_one)[1:] == [told]
    assert len(notes(tmp_path, 'config = { "min.insync.replicas" = 1 }', more=of_one)) == 1


def test_a_throttle_of_no_replicas_is_told(tmp_path: Path) -> None:
    rate = 'config = { "leader.replication.throttled.rate" = 1000 }'
    told = ["leader.replication.throttled.rate limits nothing: no topic has leader.replication.throttled.replicas"]
    assert notes(tmp_path, cluster=rate) == told
    assert notes(tmp_path, 'config = { "follower.replication.throttled.replicas" = "*" }', rate) == told
    assert notes(tmp_path, 'config = { "leader.replication.throttled.replicas" = "0:1" }', rate) == []
    at_broker = '[[commands]]\nround = 5\nkind = "alter_config"\nbroker = 1\n'
    later = at_broker + 'config = { "follower.replication.throttled.rate" = 1000 }\n'
    assert notes(tmp_path, more=later) == [told[0].replace("leader", "follower")]


def test_faults_after_the_end_are_told(tmp_path: Path) -> None:
    faults = "".join(
        f'[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = {at}\nto_round = 900\n' for at in (99, 100, 250)
    )
    assert notes(tmp_path, more=faults) == [
        "the last round is 99: nothing comes of broker_crash from round 100, broker_crash from round 250"
    ]


def test_commands_after_the_end_are_told(tmp_path: Path) -> None:
    commands = "".join(
        f'[[commands]]\nround = {at}\nkind = "preferred_leader_election"\ntopic = "t"\npartition = 0\n' for at in (99, 100)
    )
    assert notes(tmp_path, more=commands) == ["the last round is 99: nothing comes of preferred_leader_election in round 100"]


def test_draws_of_nothing_are_told(tmp_path: Path) -> None:
    seeds, drawn = "[[sweeps]]\nseeds = 3\n", '[[fault_generators]]\nkind = "random_failures"\ncount = 1\nfrom_round = 5\n'
    told = ["seeds: all 3 draws are the same, for the file draws neither faults nor replicas"]
    assert notes(tmp_path, more=seeds) == told
    assert notes(tmp_path, 'placement = "random"', more=seeds) == []
    assert notes(tmp_path, more=seeds + drawn) == []


def test_a_note_of_some_scenarios_names_them(tmp_path: Path) -> None:
    variant = '[[variants]]\nname = "v"\ntopics = [{ name = "t", config = { "cleanup.policy" = "compact" } }]\n'
    assert [note.endswith("(scenario v)") for note in notes(tmp_path, more=variant)] == [True]


def test_a_note_of_many_cases_names_one(tmp_path: Path) -> None:
    sweeps = '[[sweeps]]\nset = "acks"\nvalues = ["all", "1"]\n[[sweeps]]\nset = "segment.bytes"\nvalues = [5000, 6000]\n'
    [told] = notes(tmp_path, more=workload("records_per_round = 1") + sweeps)
    assert told.endswith('is lost (2 of 5 scenarios, such as "acks = 1, segment.bytes = 5000")')


def test_flush_ms_without_the_flusher(tmp_path: Path) -> None:
    told = ["flush.ms flushes here, on a real broker only with log.flush.scheduler.interval.ms beside it: topic t"]
    often = 'config = { "log.flush.scheduler.interval.ms" = 500 }'
    altered = '[[commands]]\nkind = "alter_config"\nround = 5\ntopic = "t"\nconfig = { "flush.ms" = 1000 }\n'
    assert notes(tmp_path, 'config = { "flush.ms" = 1000 }') == told
    assert notes(tmp_path, "", 'config = { "log.flush.interval.ms" = 1000 }') == told
    assert notes(tmp_path, more=altered) == told
    assert notes(tmp_path, 'config = { "flush.ms" = 1000 }', often) == []
    assert notes(tmp_path, "", often) == []
    for never in ("0", "9223372036854775807"):
        assert notes(tmp_path, 'config = { "flush.ms" = 1000 }', often.replace("500", never)) == told
    late = '[[commands]]\nkind = "alter_config"\nround = 5\n' + often
    assert notes(tmp_path, more=late) == ["no effect here: log.flush.scheduler.interval.ms (by alter_config)"]


def test_remote_reads_that_a_real_broker_gives_up(tmp_path: Path) -> None:
    """1 MiB at 2 MB/s is 524 ms, at 3 MB/s 350; a fault that slows the store counts as well."""
    tiered = 'config = { "remote.storage.enable" = true, "local.retention.ms" = 60000 }'
    system = 'config = { "remote.log.storage.system.enable" = true }'
    reads = '[[consumers]]\ngroup = "g"\ntopic = "t"\n'
    slow = "[[faults]]\nkind = 'slow_remote_storage'\nbytes_per_second = 1000000\nfrom_round = 1\nto_round = 9\n"

    def told(store: str, more: str = reads) -> list[str]:
        found = notes(tmp_path, tiered, system, f"[remote_storage]\n{store}\n{more}")
        return [note.split(":")[0] for note in found if note.startswith("a remote read")]

    assert told("read_bytes_per_second = 2000000") == ["a remote read of 1,048,576 bytes takes 524 ms"]
    assert told("read_bytes_per_second = 3000000") == []
    assert told("read_bytes_per_second = 3000000\nread_ms = 200") == ["a remote read of 1,048,576 bytes takes 550 ms"]
    assert told("read_bytes_per_second = 3000000", reads + slow) == ["a remote read of 1,048,576 bytes takes 1,049 ms"]
    assert told("read_bytes_per_second = 2000000", "") == []
    assert told("read_bytes_per_second = 3000000", reads + slow.replace("= 1\n", "= 200\n").replace("= 9", "= 209")) == []
    other = '[[topics]]\nname = "u"\npartitions = 1\nreplication_factor = 3\n'
    assert told("read_bytes_per_second = 2000000", other + reads.replace('"t"', '"u"')) == []


def test_notes_go_to_standard_error(tmp_path: Path) -> None:
    notes(tmp_path, 'config = { "cleanup.policy" = "compact" }')
    told = CliRunner().invoke(commands, ["run", str(tmp_path / "noted.toml"), "--dry-run"], standalone_mode=False)
    assert "note: compaction is not emulated" in told.stderr
    assert "note" not in told.stdout


def test_acks_that_groups_and_ledgers_leave_out(tmp_path: Path) -> None:
    """A raft variant of a file with acks=0 acknowledges by its quorum; alone such a file is refused."""
    workload = '[[workload]]\ntopic = "t"\nrecords_per_round = 1\nacks = "0"\n'
    raft = '[[variants]]\nname = "r"\nprotocol = "raft"\n'
    ledgers = '[[variants]]\nname = "b"\nprotocol = "bookkeeper"\n'
    guarded = 'config = { "min.insync.replicas" = 2 }'
    told = "no effect on raft, where a quorum acknowledges every record: "
    assert f"{told}acks=0 of topic t, min.insync.replicas" in notes(tmp_path, guarded, "", workload + raft)
    assert f"{told}acks=0 of topic t" in notes(tmp_path, "", "", workload + raft)
    assert f"{told}min.insync.replicas" in notes(tmp_path, guarded, "", workload.replace('"0"', '"all"') + raft)
    both = told.replace("raft", "raft, bookkeeper")
    assert f"{both}acks=0 of topic t" in notes(tmp_path, "", "", workload + raft + ledgers)
    assert not any(note.startswith("no effect on") for note in notes(tmp_path, "", "", workload.replace('"0"', '"all"') + raft))
    assert not any(note.startswith("no effect on") for note in notes(tmp_path, guarded, "", workload))


def test_kraft_without_pre_vote(tmp_path: Path) -> None:
    """Kafka has asked before every election since 4.0 (KIP-996)."""
    protocols = '[[variants]]\nname = "k"\nprotocol = "kraft"\n[[variants]]\nname = "r"\nprotocol = "raft"\n'
    told = "kraft stands for elections without asking first, as before Kafka 4.0: pre.vote = true asks (scenario k)"
    assert told in notes(tmp_path, "", "", protocols)
    asks = protocols.replace('"kraft"\n', '"kraft"\ncluster = { config = { "pre.vote" = true } }\n')
    assert not any("pre.vote" in note for note in notes(tmp_path, "", "", asks))


def command(kind: str, round_: int, more: str = "", topic: str = 'topic = "t"\n') -> str:
    return f'[[commands]]\nround = {round_}\nkind = "{kind}"\n{topic}{more}\n'


def test_commands_of_which_nothing_can_come_are_told(tmp_path: Path) -> None:
    one = "partition = 1\n"
    cancelled = command("cancel_reassignment", 5, one)
    told = "cancel_reassignment of t 1 in round 5 has no effect: there is no reassign before it"
    assert notes(tmp_path, more=cancelled) == [told]
    start = load_run(str(tmp_path / "noted.toml")).scenarios[0].topics[0].assignment[1].tolist()
    same, other = (f"{one}replicas = {replicas}\n" for replicas in (start, start[::-1]))
    told = "reassign of t 1 in round 4 has no effect: these are its replicas already, or under way to be"
    assert notes(tmp_path, more=command("reassign", 4, same)) == [told]
    assert notes(tmp_path, more=command("reassign", 3, other) + command("reassign", 4, other)) == [told]
    assert notes(tmp_path, more=command("reassign", 3, other) + cancelled + command("reassign", 7, other)) == []


def test_configs_that_are_in_force_are_told(tmp_path: Path) -> None:
    both = 'config = { "min.insync.replicas" = 1, "segment.bytes" = 9000 }\n'
    [told] = notes(tmp_path, more=command("alter_config", 6, both))
    assert told == "alter_config of t in round 6 has no effect: min.insync.replicas = 1 is in force already"
    everywhere = command("alter_config", 9, 'config = { "min.insync.replicas" = 2 }\n', topic="")
    assert notes(tmp_path, more=command("alter_config", 6, both) + everywhere) == []
    [told] = notes(tmp_path, more=everywhere + everywhere.replace("9", "12"))
    assert told == "alter_config in round 12 has no effect: min.insync.replicas = 2 is in force already"
    elr = 'features = { "eligible.leader.replicas.version" = 1 }'
    assert notes(tmp_path, cluster=elr, more=command("alter_config", 6, both)) == []


def test_commands_of_which_nothing_came_are_told(tmp_path: Path) -> None:
    """t 0 is led by its first replica; of t 1 a reassignment is over before it is cancelled."""
    replicas = "partition = 1\nreplicas = REPLICAS\n"
    more = command("preferred_leader_election", 50) + command("cancel_reassignment", 60, "partition = 1\n")
    notes(tmp_path, more=more)
    run = load_run(str(tmp_path / "noted.toml"))
    start = run.scenarios[0].topics[0].assignment[1].tolist()
    notes(tmp_path, more=more + command("reassign", 20, replicas.replace("REPLICAS", str(start[:2]))))
    run = load_run(str(tmp_path / "noted.toml"))
    assert lines_of(run.scenarios, {(0, "t", 0): [(50, "election")], (0, "t", 1): [(20, "reassignment_completed")]}) == [
        "preferred_leader_election in round 50 had no effect on 1 of 2 partitions, t 1: nobody was elected then",
        "cancel_reassignment in round 60 had no effect on t 1: nothing was under way any more",
    ]
    nothing_over = {(0, "t", partition): [(50, "election"), (60, "election")] for partition in (0, 1)}
    assert lines_of(run.scenarios, nothing_over) == []


def test_of_two_spellings_the_one_without_effect_is_told(tmp_path: Path) -> None:
    """As where a variant gives the broker's key and the base has the topic's."""
    given = '"log.roll.hours" = 1, "log.roll.ms" = 60000, "segment.bytes" = 9000, "log.segment.bytes" = 500'
    told = "no effect here: log.roll.hours (log.roll.ms decides), log.segment.bytes (segment.bytes decides)"
    assert notes(tmp_path, cluster=f"config = {{ {given} }}") == [told]


def test_what_slow_disks_and_links_limit(tmp_path: Path) -> None:
    disk = '[[faults]]\nkind = "slow_disk"\nbroker = 1\nbytes_per_second = 1000\nfrom_round = 5\n'
    link = '[[faults]]\nkind = "slow_link"\nbroker = 1\nSLOW\nfrom_round = 5\n'
    [told] = notes(tmp_path, more=disk + link.replace("SLOW", "bytes_per_second = 1000"))
    assert told == (
        "bytes_per_second of slow_disk, slow_link limit each partition's fetches by themselves; what all of a broker share is"
        " disk_bytes_per_second and network_bytes_per_second, of a single broker in brokers_file"
    )
    [told] = notes(tmp_path, more=disk)
    assert "slow_link" not in told and "network_bytes_per_second" not in told
    assert notes(tmp_path, more=link.replace("SLOW", "round_trip_ms = 50")) == []


def test_round_trips_above_a_round_are_told(tmp_path: Path) -> None:
    """A round of 100 ms holds a fetch of 600 ms: what a crash takes along is 100 ms of writes, not 300 (test_last_moments.py)."""
    link = 'round_ms = 100\n[[faults]]\nkind = "slow_link"\nbroker = 1\nround_trip_ms = MS\nfrom_round = 5\n'
    in_rounds = "a fetch is over within its round of 100 ms all the same"

    def told(ms: int, cluster: str = "") -> list[str]:
        path = tmp_path / "links.toml"
        rounds, fault = link.replace("MS", str(ms)).split("\n", 1)
        path.write_text(f"{rounds}\n{CLUSTER.replace('CLUSTER', cluster).replace('TOPIC', '')}{fault}")
        return [note.partition(",")[0] for note in notes_of(load_run(str(path)))]

    assert told(100) == []
    assert told(101) == [f"round_trip_ms of slow_link = 101: {in_rounds}"]
    assert told(101, "fetches_per_round = 1") == []
    assert told(50, "fetch_round_trip_ms = 100.5") == [f"fetch_round_trip_ms = 100.5: {in_rounds}"]


def test_reads_that_are_no_whole_part_of_a_round_are_told(tmp_path: Path) -> None:
    reads = '[[consumers]]\ngroup = "g"\ntopic = "t"\n[remote_storage]\nread_ms = MS\n'
    tiered = 'config = { "remote.storage.enable" = true }', 'config = { "remote.log.storage.system.enable" = true }'
    assert notes(tmp_path, *tiered, reads.replace("MS", "250")) == []
    assert notes(tmp_path, *tiered, "[remote_storage]\nread_ms = 300\n") == []
    for ms, told in ((1000, "1 read in a round of 500 ms, not 0.5"), (150, "3 reads in a round of 500 ms, not 3.3")):
        *given_up, note = notes(tmp_path, *tiered, reads.replace("MS", str(ms)))
        assert len(given_up) == (ms > 500)
        assert note.startswith(f"read_ms = {ms}: a thread makes {told};")


def test_fetchers_that_share_nothing_are_told(tmp_path: Path) -> None:
    def told(more: str = "", budget: str = "") -> list[str]:
        own = f'fetches_per_round = 2\n{budget}\nconfig = {{ "num.replica.fetchers" = 4 {more} }}'
        return notes(tmp_path, cluster=own)

    assert told() == ["no effect here: num.replica.fetchers (beside fetches_per_round)"]
    assert told(budget="network_bytes_per_second = 1000000") == told(budget="disk_bytes_per_second = 1000000") == []
    assert told(', "replica.fetch.min.bytes" = 1000') == []
    assert notes(tmp_path, cluster='fetches_per_round = 2\nconfig = { "num.replica.fetchers" = 1 }') == []
    assert notes(tmp_path, cluster='config = { "num.replica.fetchers" = 4 }') == []


def test_an_empty_list_takes_nothing_away(tmp_path: Path) -> None:
    crash = '[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = 5\n'
    variants = crash + '[[variants]]\nname = "none"\nfaults = []\n[[variants]]\nname = "other"\nseed = 3\n'
    told = ["faults = [] of variant none takes nothing away: a variant's are added, or merged by name"]
    assert notes(tmp_path, more=variants) == told
    assert notes(tmp_path, more=variants.replace("faults = []", "seed = 4")) == []


def test_a_minimum_above_the_replicas_is_told(tmp_path: Path) -> None:
    """A topic may not begin so; a command may come to it."""
    told = "min.insync.replicas of topic t is at times above its replicas: then it asks for all of them"
    later = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "min.insync.replicas" = VALUE }\n'
    assert notes(tmp_path, more=later.replace("VALUE", "3")) == []
    assert notes(tmp_path, more=later.replace("VALUE", "4")) == [told]
    fewer = '[[commands]]\nround = 5\nkind = "reassign"\ntopic = "t"\npartition = 1\nreplicas = [1]\n'
    assert notes(tmp_path, 'config = { "min.insync.replicas" = 2 }', more=fewer) == [told]


def test_more_copies_than_threads_at_the_start_are_told(tmp_path: Path) -> None:
    """Both partitions are led by broker 1, as one of them is said to be; where copies take no time they need no thread."""
    copy = '[[initial.remote_segments]]\ntopic = "t"\npartition = PART\nbase_offset = 0\nend_offset = 4\nbytes = 5000\n'
    copy += 'state = "COPY_STARTED"\nmoved_bytes = 7\n'
    logs = "".join(
        f'[[initial.replicas]]\ntopic = "t"\npartition = {p}\nbroker = {b}\nleo = 9\n' for p in (0, 1) for b in (1, 2, 3)
    )
    led = '[[initial.partitions]]\ntopic = "t"\npartition = 1\nleader = 1\n'
    store = "[remote_storage]\ncopy_bytes_per_second = 10\n"
    tiered = 'config = { "remote.storage.enable" = true }'
    cluster = 'config = { "remote.log.storage.system.enable" = true, "remote.log.manager.copier.thread.pool.size" = THREADS }'
    both = logs + led + copy.replace("PART", "0") + copy.replace("PART", "1")
    told = "broker 1: more copies are under way at the start than 1 copier threads; they all go on, side by side"
    assert notes(tmp_path, tiered, cluster.replace("THREADS", "1"), both + store) == [told]
    assert notes(tmp_path, tiered, cluster.replace("THREADS", "2"), both + store) == []
    assert notes(tmp_path, tiered, cluster.replace("THREADS", "1"), both.replace(led, "") + store) == []
    assert notes(tmp_path, tiered, cluster.replace("THREADS", "1"), both) == []


def test_racks_of_readers(tmp_path: Path) -> None:
    """Without a rack they cross none; a rack without brokers is crossed by all they read."""
    readers = '[[consumers]]\ngroup = "g"\ntopic = "t"\nRACK\n[[consumers]]\ngroup = "h"\ntopic = "t"\nrack = "1"\n'
    within = "reads of group g, whose consumers have no rack, count as within a rack: no bill has them as cross-rack reads"
    three = "brokers are in racks 0, 1, 2"
    assert notes(tmp_path, cluster="racks = 3", more=readers.replace("RACK", "")) == [f"{within}; {three}"]
    assert notes(tmp_path, cluster="racks = 3", more=readers.replace("RACK", 'rack = "0"')) == []
    assert notes(tmp_path, cluster="racks = 1", more='[[consumers]]\ngroup = "g"\ntopic = "t"\n') == []
    nowhere = "all that is read there counts as cross-rack"
    [told] = notes(tmp_path, cluster="racks = 3", more=readers.replace("RACK", 'rack = "0a"'))
    assert told == f'no broker is in rack "0a" of group g (did you mean "0"?): {nowhere}; {three}'
    [told] = notes(tmp_path, more=readers.replace("RACK", ""))
    assert told == f'no broker is in rack "1" of group h: {nowhere}; no broker is in a rack'


def test_remote_reads_that_never_catch_up(tmp_path: Path) -> None:
    """One fetch of 1 MiB a round of 2 s is 0.524 MB/s, whatever is written."""
    tiered = 'config = { "remote.storage.enable" = true }', 'config = { "remote.log.storage.system.enable" = true }'
    written = '[[workload]]\ntopic = "t"\npartitions = "1"\nrecords_per_second = RATE\nrecord_bytes = 1000\n'
    half = written.replace("RATE", "400")

    def told(more: str, topic: str = tiered[0], reader: str = "") -> list[str]:
        reads = f'[[consumers]]\ngroup = "g"\ntopic = "t"\n{reader}\n'
        path = tmp_path / "reads.toml"
        path.write_text("round_ms = 2000\n" + CLUSTER.replace("CLUSTER", tiered[1]).replace("TOPIC", topic) + more + reads)
        return notes_of(load_run(str(path)))

    [note] = told(half + half)
    assert note == (
        "where group g reads from remote storage, a round of 2000 ms brings one fetch of 1,048,576 bytes"
        " (max.partition.fetch.bytes), 0.524 MB/s: t 1 is written 0.8 MB/s, so there it never catches up; shorter rounds, or a"
        " larger max.partition.fetch.bytes"
    )
    assert told(half) == told(half + half, topic="") == told(half + half, reader='partitions = "0"') == []
    assert told(half + half, reader='config = { "max.partition.fetch.bytes" = 1600000 }') == []
    assert "of 100,000 bytes (bytes_per_round), 0.05 MB/s: t 1 is" in told(half, reader="bytes_per_round = 100000")[0]
    assert told(half + half + "to_round = 20\n") == []  # 0.48 MB/s as a mean
    [note] = told(half + half + "to_round = 20\n", reader="to_round = 40")
    assert "t 1 is written 0.6 MB/s" in note
    rounds = half.replace("records_per_second", "records_per_round")
    assert "t 1 is written 0.6 MB/s" in told(half + rounds)[0]


def test_time_buckets_that_are_others_than_asked_for(tmp_path: Path) -> None:
    """100 rounds have four of 25 at the most."""

    def told(buckets: int) -> list[str]:
        path = tmp_path / "buckets.toml"
        path.write_text(f"time_buckets = {buckets}\n" + CLUSTER.replace("CLUSTER", "").replace("TOPIC", ""))
        return notes_of(load_run(str(path)))

    assert told(1) == told(2) == told(4) == told(10) == []
    assert told(3) == ["time_buckets = 3: there are 2, of 50 rounds (25 s), as each is a multiple of 25 rounds"]
    assert told(5) == ["time_buckets = 5: there are 4, of 25 rounds (12.5 s), as each is a multiple of 25 rounds"]
