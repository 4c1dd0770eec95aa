"""Notes before a run, of ledgers."""

from __future__ import annotations

from pathlib import Path

from emulator.scenario import load_run
from emulator.scenario.notes import notes_of
from tests.scenarios.notes.noted import CLUSTER, notes, of_ledgers, workload


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
