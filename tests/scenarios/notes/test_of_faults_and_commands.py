"""Notes before a run, of faults and commands, and after it."""

from __future__ import annotations

from pathlib import Path

from emulator.outcomes.idle_commands import lines_of
from emulator.scenario import load_run
from tests.scenarios.notes.noted import command, notes


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


def test_workload_and_readers_after_the_end_are_told(tmp_path: Path) -> None:
    rows = "".join(f'[[workload]]\ntopic = "t"\nrecords_per_round = 1\nfrom_round = {at}\n' for at in (99, 100))
    group = '[[consumers]]\ngroup = "g"\ntopic = "t"\nfrom_round = 300\n'
    told = "the last round is 99: nothing comes of workload from round 100, group g from round 300"
    assert told in notes(tmp_path, more=rows + group)


def test_draws_of_nothing_are_told(tmp_path: Path) -> None:
    seeds, drawn = "[[sweeps]]\nseeds = 3\n", '[[fault_generators]]\nkind = "random_failures"\ncount = 1\nfrom_round = 5\n'
    told = ["seeds: all 3 draws are the same, for the file draws neither faults nor replicas"]
    assert notes(tmp_path, more=seeds) == told
    assert notes(tmp_path, 'placement = "random"', more=seeds) == []
    assert notes(tmp_path, more=seeds + drawn) == []


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


def test_not_all_of_many_commands_are_told(tmp_path: Path) -> None:
    same = 'config = { "min.insync.replicas" = 1 }\n'
    told = notes(tmp_path, more="".join(command("alter_config", at, same) for at in range(30, 60)))
    assert told[0] == "alter_config of t in round 30 has no effect: min.insync.replicas = 1 is in force already"
    assert len(told) == 21 and told[-1] == "10 more commands ask for what is so already"
    notes(tmp_path, more="".join(command("preferred_leader_election", at) for at in range(30, 60)))
    lines = lines_of(load_run(str(tmp_path / "noted.toml")).scenarios, {(0, "t", 0): [(30, "election")]})
    assert lines[0] == "preferred_leader_election in round 30 had no effect on 1 of 2 partitions, t 1: nobody was elected then"
    assert len(lines) == 21 and lines[-1] == "10 more commands had no effect on partitions of theirs"


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


def test_an_empty_list_takes_nothing_away(tmp_path: Path) -> None:
    crash = '[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = 5\n'
    variants = crash + '[[variants]]\nname = "none"\nfaults = []\n[[variants]]\nname = "other"\nseed = 3\n'
    told = ["faults = [] of variant none takes nothing away: a variant's are added, or merged by name"]
    assert notes(tmp_path, more=variants) == told
    assert notes(tmp_path, more=variants.replace("faults = []", "seed = 4")) == []
