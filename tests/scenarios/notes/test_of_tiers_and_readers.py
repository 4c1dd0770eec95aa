"""Notes before a run, of remote storage and of consumer groups."""

from __future__ import annotations

from pathlib import Path

from emulator.scenario import load_run
from emulator.scenario.notes import notes_of
from tests.scenarios.notes.noted import CLUSTER, notes


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


def test_reads_that_are_no_whole_part_of_a_round_are_told(tmp_path: Path) -> None:
    reads = '[[consumers]]\ngroup = "g"\ntopic = "t"\n[remote_storage]\nread_ms = MS\n'
    tiered = 'config = { "remote.storage.enable" = true }', 'config = { "remote.log.storage.system.enable" = true }'
    assert notes(tmp_path, *tiered, reads.replace("MS", "250")) == []
    assert notes(tmp_path, *tiered, "[remote_storage]\nread_ms = 300\n") == []
    for ms, told in ((1000, "1 read in a round of 500 ms, not 0.5"), (150, "3 reads in a round of 500 ms, not 3.3")):
        *given_up, note = notes(tmp_path, *tiered, reads.replace("MS", str(ms)))
        assert len(given_up) == (ms > 500)
        assert note.startswith(f"read_ms = {ms}: a thread makes {told};")


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
    """One fetch of 1 MiB a round of 2 s is 0.524 MB/s, whatever is written; 320 that take 6.242 ms each are more than that."""
    tiered = 'config = { "remote.storage.enable" = true }', 'config = { "remote.log.storage.system.enable" = true }'
    once = f"{tiered[1]}\nfetches_per_round = 1"
    written = '[[workload]]\ntopic = "t"\npartitions = "1"\nrecords_per_second = RATE\nrecord_bytes = 1000\n'
    half = written.replace("RATE", "400")

    def told(more: str, topic: str = tiered[0], reader: str = "", cluster: str = once) -> list[str]:
        reads = f'[[consumers]]\ngroup = "g"\ntopic = "t"\n{reader}\n'
        path = tmp_path / "reads.toml"
        path.write_text("round_ms = 2000\n" + CLUSTER.replace("CLUSTER", cluster).replace("TOPIC", topic) + more + reads)
        return [note for note in notes_of(load_run(str(path))) if note.startswith("where")]

    [note] = told(half + half)
    assert note == (
        "where group g reads from remote storage, a round of 2000 ms brings 1 fetch of 1,048,000 bytes, 0.524 MB/s: t 1 is"
        " written 0.8 MB/s, so there it never catches up; more fetches_per_round, or a larger max.partition.fetch.bytes (and"
        " fetch.max.bytes)"
    )
    assert told(half + half, cluster=tiered[1]) == []
    read_ms = "[remote_storage]\nread_ms = MS\n"
    [note] = told(half + half + read_ms.replace("MS", "1500"), cluster=tiered[1])
    assert "brings 1 fetch of" in note and "; a lower read_ms, or a larger" in note
    assert told(half + half + read_ms.replace("MS", "400"), cluster=tiered[1]) == []
    [note] = told(written.replace("RATE", "2100") + read_ms.replace("MS", "400"), cluster=tiered[1])
    assert "brings 4 fetches of 1,048,000 bytes, 2.1 MB/s: t 1 is written 2.1 MB/s" in note
    small = 'config = { "max.partition.fetch.bytes" = 1000 }'  # 1.005 ms each
    [note] = told(written.replace("RATE", "1100"), reader=small, cluster=tiered[1])
    assert "brings 1,990 fetches of 1,000 bytes, 0.995 MB/s: t 1 is" in note and "; a lower fetch_round_trip_ms, or" in note
    assert told(half) == told(half + half, topic="") == told(half + half, reader='partitions = "0"') == []
    assert told(half + half, reader='config = { "max.partition.fetch.bytes" = 1600000 }') == []
    assert told(half + half, reader="bytes_per_round = 100000") == told(half + half, reader="records_per_round = 9") == []
    large = half.replace("record_bytes = 1000", "record_bytes = 700000").replace("= 400", "= 0.6")
    assert "1 fetch of 700,000 bytes, 0.35 MB/s: t 1 is written 0.42 MB/s" in told(large)[0]
    assert told(large.replace("700000", "2000000").replace("= 0.6", "= 0.5")) == []  # a record a round, as it is written
    assert told(half + half + "to_round = 20\n") == []  # 0.48 MB/s as a mean
    [note] = told(half + half + "to_round = 20\n", reader="to_round = 40")
    assert "t 1 is written 0.6 MB/s" in note
    rounds = half.replace("records_per_second", "records_per_round")
    assert "t 1 is written 0.6 MB/s" in told(half + rounds)[0]
