"""Topics of Pulsar: when ledgers roll over, which are deleted, what a takeover fences."""

from __future__ import annotations

import random
from typing import Any

import pytest

from .given import adds, case, command, crash, fault
from .rules import MUTANTS, OF_TOPICS
from .schedules import may_lose, schedule, topic_schedule
from .topics import Topic, play_topic

KEEP = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
ROLL = {**KEEP, "managedLedgerMaxEntriesPerLedger": 4, "managedLedgerMinLedgerRolloverTimeMinutes": 0}
TAKEOVER_SCHEDULES = 200


def topic(**given: Any) -> Topic:
    return play_topic(case(**given))


def sizes(played: Topic) -> list[int]:
    return [part.entries for part in played.parts]


def test_rollover_by_entries() -> None:
    played = topic(workload=[adds(0, 10)], config=ROLL)
    assert sizes(played) == [4, 4, 2]
    assert played.acked == played.readable == list(range(10))
    assert [part.ledger.metadata.state for part in played.parts] == ["CLOSED", "CLOSED", "OPEN"]


def test_rollover_by_size() -> None:
    config = {**ROLL, "managedLedgerMaxEntriesPerLedger": 1000, "managedLedgerMaxSizePerLedgerMbytes": 1}
    played = topic(workload=[{**adds(0, 10), "record_bytes": 300_000}], config=config)
    assert sizes(played) == [4, 4, 2]


def test_a_full_ledger_is_not_rolled_over_before_its_least_age() -> None:
    played = topic(workload=[adds(0, 10)], config={**ROLL, "managedLedgerMinLedgerRolloverTimeMinutes": 0.05})
    assert sizes(played)[0] == 6


def test_rollover_by_age() -> None:
    """0.05 minutes are 6 rounds; an empty ledger stays."""
    config = {**KEEP, "managedLedgerMinLedgerRolloverTimeMinutes": 0, "managedLedgerMaxLedgerRolloverTimeMinutes": 0.05}
    played = topic(workload=[adds(0, 8)], config=config)
    assert sizes(played)[:2] == [6, 2]
    assert len(played.parts) == 3


def test_no_rollover_while_the_store_is_away() -> None:
    """The ledger is full in round 3, and nobody looks before round 8."""
    played = topic(workload=[adds(0, 10)], config=ROLL, faults=[fault("metadata_store_outage", None, 2, 8)])
    assert sizes(played) == [9, 1]
    assert played.events[1] == (8, "ledger_rolled_over", 0, None)


def test_a_rollover_that_began_before_the_store_went_away() -> None:
    """Full in round 3, the ledger takes nothing more, and is closed when the store is back."""
    played = topic(workload=[adds(0, 10)], config=ROLL, faults=[fault("metadata_store_outage", None, 4, 8)])
    assert sizes(played)[0] == 4
    assert (played.parts[0].closed_round, played.parts[1].created_round) == (8, 9)


def test_a_full_ledger_is_closed_when_nothing_is_in_flight() -> None:
    """Full in round 0 with entry 4 in flight, which is acknowledged in round 5; closed when the store is back, in round 8."""
    late = [fault("delay_adds", bookie, 0, 5, from_offset=4, to_offset=5) for bookie in (1, 2, 3)]
    played = topic(workload=[adds(0, 3, 5)], config=ROLL, faults=[*late, fault("metadata_store_outage", None, 2, 8)])
    assert played.events[1] == (0, "ledger_rolled_over", 0, None)
    assert (sizes(played)[0], played.parts[0].closed_round, played.parts[1].created_round) == (5, 8, 9)


def test_rollover_after_a_failure() -> None:
    """Without a spare the add fails; a new ledger would need three bookies as well: it waits until one is back."""
    played = topic(bookies=3, workload=[adds(0, 10)], config=KEEP, faults=[crash(1, 4, 20), crash(2, 4, 20)])
    assert sizes(played) == [4, 6]
    assert played.parts[1].created_round == 20
    assert played.acked == played.readable == list(range(10))


def test_nothing_retained() -> None:
    """Pulsar's own default: what is consumed goes, whole ledgers at a time, never the last."""
    config = {**ROLL, "defaultRetentionTimeInMinutes": 0, "defaultRetentionSizeInMB": 0, "retentionCheckIntervalInSeconds": 1}
    played = topic(workload=[adds(0, 10)], config=config)
    assert [part.entries for part in played.listed] == [2]


def test_retention_by_size_and_time() -> None:
    by_size = {**ROLL, "defaultRetentionSizeInMB": 1, "retentionCheckIntervalInSeconds": 1}
    played = topic(workload=[{**adds(0, 14), "record_bytes": 300_000}], config=by_size)
    assert [part.entries for part in played.listed] == [4, 2]
    by_time = {**ROLL, "defaultRetentionTimeInMinutes": 0.1, "retentionCheckIntervalInSeconds": 1}
    played = topic(rounds=30, workload=[adds(0, 20)], config=by_time)
    closed = [part.closed_round for part in played.listed if part.closed_round is not None]
    assert all(round_ >= 29 - 14 for round_ in closed)
    assert len(played.listed) < len(played.parts)


RETAINS_NOTHING = {**ROLL, "defaultRetentionTimeInMinutes": 0, "defaultRetentionSizeInMB": 0}
RARELY = {"retentionCheckIntervalInSeconds": 1000}
"""The check is due in round 0 only."""


def deleted(played: Topic) -> list[int | None]:
    return [part.deleted_round for part in played.parts]


def test_retention_is_looked_at_when_a_ledger_is_added_to_others() -> None:
    """Ledgers are closed in rounds 4 and 9, and the next ones are created in rounds 5 and 10."""
    played = topic(workload=[adds(0, 10)], config={**RETAINS_NOTHING, **RARELY})
    assert [part.created_round for part in played.parts] == [0, 5, 10]
    assert deleted(played) == [5, 10, None]


def test_retention_is_looked_at_at_the_end_of_that_round() -> None:
    """0.05 minutes are 6 rounds: the ledger closed in round 4 is old enough in round 11, the next one is created in 10 and 15."""
    played = topic(workload=[adds(0, 14)], config={**ROLL, "defaultRetentionTimeInMinutes": 0.05, **RARELY})
    assert [part.closed_round for part in played.parts] == [4, 9, 14, None]
    assert deleted(played) == [15, None, None, None]


def test_an_old_owner_that_adds_a_ledger_has_nobody_look_at_retention() -> None:
    """It adds one in round 5, in which another broker takes over; that one has recovered the last two when it adds its own."""
    played = topic(workload=[adds(0, 10)], config={**RETAINS_NOTHING, **RARELY}, commands=[command("take_over", 5)])
    assert [(part.owner, part.created_round) for part in played.parts[:2]] == [(0, 0), (0, 5)]
    new = next(part for part in played.parts if part.owner == 1)
    assert deleted(played)[:2] == [new.created_round] * 2


def test_no_retention_while_the_store_is_away() -> None:
    """Every other round it is due. The ledger that is closed in round 9 is old enough in round 16, the store is back in 21."""
    config = {**ROLL, "defaultRetentionTimeInMinutes": 0.05, "retentionCheckIntervalInSeconds": 1}
    assert deleted(topic(workload=[adds(0, 10)], config=config)) == [12, 16, None]
    away = [fault("metadata_store_outage", None, 11, 21)]
    assert deleted(topic(workload=[adds(0, 10)], config=config, faults=away)) == [22, 22, None]


def test_takeover_after_a_crash() -> None:
    faults = [fault("client_crash", None, 6)]
    played = topic(workload=[adds(0, 20)], config=ROLL, faults=faults, commands=[command("take_over", 9)])
    assert set(played.acked) <= set(played.readable)
    assert [part.ledger.metadata.state for part in played.parts[:-1]] == ["CLOSED"] * (len(played.parts) - 1)
    assert played.violations == []


def test_takeover_fences_the_last_two_ledgers() -> None:
    """Whatever the old owner was doing: the last may have no entry yet, and the one before it may still be open."""
    faults = [fault("client_crash", None, 16)]
    played = topic(workload=[adds(0, 30)], config=ROLL, faults=faults, commands=[command("take_over", 18)])
    before = [part for part in played.parts if part.created_round < 18]
    assert len(before) > 2
    assert [len(part.ledger.recoveries) for part in before] == [0] * (len(before) - 2) + [1, 1]


def test_old_owner_stops_when_it_is_fenced() -> None:
    workload = [adds(0, 6), adds(6, 7, per_round=20, in_flight=1), adds(8, 30)]
    played = topic(workload=workload, config=KEEP, commands=[command("take_over", 7)])
    assert [owner.phase for owner in played.owners] == ["stopped", "write"]
    assert len(played.acked) == len(set(played.acked))
    assert set(played.acked) <= set(played.readable)


def test_old_owner_loses_the_list() -> None:
    """Nobody tells it that it is fenced: it waits for an add that got lost, finds its ledger closed, and the list changed."""
    lost = [fault("drop_adds", broker, 0, 8, from_offset=5) for broker in (2, 3)]
    played = topic(workload=[adds(0, 6)], config=KEEP, faults=lost, commands=[command("take_over", 9)])
    assert [owner.phase for owner in played.owners] == ["stopped", "write"]
    assert played.parts[0].ledger.writer.results[-1] == (5, "LedgerClosedException")
    assert set(played.acked) <= set(played.readable)


@pytest.mark.parametrize("seed", range(TAKEOVER_SCHEDULES))
def test_no_acknowledged_message_is_lost(seed: int) -> None:
    rng = random.Random(f"topics/{seed}")
    given = schedule(seed)
    commands = [command("take_over", one["round"]) for one in given["commands"]]
    config = {**given["config"], **ROLL, "managedLedgerMaxEntriesPerLedger": rng.randint(1, 6)}
    played = play_topic({**given, "commands": commands, "config": config})
    assert set(played.acked) <= set(played.readable)
    assert played.violations == []


@pytest.mark.parametrize("seed", range(TAKEOVER_SCHEDULES // 4))
def test_what_is_acknowledged_is_in_the_list_or_deleted(seed: int) -> None:
    """Whatever happens but for lost entries, of which a recovery may know nothing."""
    given = topic_schedule(seed)
    played = play_topic(given)
    if not may_lose(given):
        gone = {message for part in played.parts if part.deleted_round is not None for message in part.messages[: part.entries]}
        assert set(played.acked) <= set(played.readable) | gone
        assert played.violations == []


def test_a_list_written_over_loses_messages() -> None:
    """The old owner finds its ledger closed, and writes the list that it knows over the one with the new owner's ledger."""
    lost = [fault("drop_adds", broker, 0, 8, from_offset=5) for broker in (2, 3)]
    given: dict[str, Any] = {"workload": [adds(0, 20)], "config": KEEP, "faults": lost, "commands": [command("take_over", 9)]}
    assert set(topic(**given).acked) <= set(topic(**given).readable)
    for mutant in OF_TOPICS:
        played = topic(**given, rules=MUTANTS[mutant])
        assert not set(played.acked) <= set(played.readable)
        assert {violation.invariant for violation in played.violations} >= {"AckedMessagesAreListed"}


OFFLOAD = {**ROLL, "managedLedgerOffloadAutoTriggerSizeThresholdBytes": 0, "retentionCheckIntervalInSeconds": 1}


def test_a_closed_ledger_is_offloaded_and_then_deleted_from_bookies() -> None:
    """4000 bytes at 2000 bytes a second take four rounds of half a second; the lag of 2 s is over in the fifth round after."""
    config = {**OFFLOAD, "managedLedgerOffloadDeletionLagMs": 2000}
    played = topic(workload=[adds(0, 10)], config=config, copy_bytes_per_second=2000)
    first, second, last = played.parts
    assert (first.closed_round, first.offloaded_round, first.freed_round) == (4, 8, 14)
    assert second.offloaded_round is not None
    assert last.offloaded_round is None
    assert played.acked == played.readable == list(range(10))


def test_bookies_are_freed_when_a_ledger_is_added_but_not_while_the_store_is_away() -> None:
    """Ledgers are created in rounds 5 and 10; the first one is copied in round 5, and freed in 10, when the check is rare."""
    config = {**OFFLOAD, "managedLedgerOffloadDeletionLagMs": 0}
    played = topic(workload=[adds(0, 10)], config={**config, **RARELY})
    assert [(part.offloaded_round, part.freed_round) for part in played.parts] == [(5, 10), (10, None), (None, None)]
    away = [fault("metadata_store_outage", None, 6, 9)]
    assert topic(workload=[adds(0, 10)], config=config).parts[0].freed_round == 6
    assert topic(workload=[adds(0, 10)], config=config, faults=away).parts[0].freed_round == 10


def test_offloading_by_size_and_time() -> None:
    """A ledger is closed every five rounds. The first one is ten rounds old, 5 s, when the third is closed, in round 14: it is
    copied then, in a round; the others come of age when nobody looks any more.
    """
    by_size = topic(workload=[adds(0, 14)], config={**OFFLOAD, "managedLedgerOffloadAutoTriggerSizeThresholdBytes": 4000})
    assert [part.offloaded_round is not None for part in by_size.parts] == [True, True, False, False]
    seconds = {"managedLedgerOffloadAutoTriggerSizeThresholdBytes": -1, "managedLedgerOffloadThresholdInSeconds": 5}
    by_time = topic(workload=[adds(0, 14)], config={**OFFLOAD, **seconds})
    rounds = [(part.closed_round, part.offloaded_round) for part in by_time.parts]
    assert rounds == [(4, 15), (9, None), (14, None), (None, None)]


def test_an_outage_of_the_remote_store_ends_a_copy() -> None:
    """What failed is begun anew when the next ledger is closed, in round 25; it takes four rounds of 1000 bytes from 30 on."""
    away = [fault("remote_storage_outage", None, 6, 20), fault("slow_remote_storage", None, 20, 30, bytes_per_second=0)]
    played = topic(workload=[adds(0, 5), adds(22, 26)], config=OFFLOAD, faults=away, copy_bytes_per_second=2000)
    told = [(round_, kind, cause) for round_, kind, _, cause in played.events if kind.startswith("offload")]
    assert told == [
        (4, "offload_started", None),
        (6, "offload_failed", 0),
        (25, "offload_started", None),
        (33, "offloaded", None),
        (33, "offload_started", None),
        (37, "offloaded", None),
    ]
