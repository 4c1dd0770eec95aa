"""Lost entries and forgotten fences (BP-46), autorecovery, decommissioning, the check of a ledger."""

from __future__ import annotations

from typing import Any

import pytest

from .given import adds, case, command, crash, end_of, fault, fragments
from .losses import losses
from .repair import holders
from .rules import MUTANTS, OF_DAMAGE
from .schedules import broken, lossy_schedule
from .simulate import Result, simulate

NO_JOURNAL = {"journalWriteData": False, "flushInterval": 1_000_000}
WITH_LIMBO = {**NO_JOURNAL, "dataIntegrityCheckingEnabled": True}
LOSSY_SCHEDULES = 300


def violated(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


def told(result: Result, *kinds: str) -> list[tuple[int, str, int, int, int | None]]:
    """(round, kind, bookie, first entry, end) of the events of these kinds."""
    columns = ("round", "kind", "broker", "from_offset", "to_offset")
    return [tuple(event[name] for name in columns) for event in result.ledger.events if event["kind"] in kinds]


FORGOTTEN_FENCE = case(
    workload=[adds(0, 1), adds(25, 26)],
    faults=[fault("broker_pause", 3, 4, 20), crash(2, 21, 22), fault("drop_adds", 1, 23)],
    commands=[command("recover_ledger", 4)],
)
"""BP-46, first scenario: bookies 1 and 2 are fenced and the ledger is closed; 2 forgets it; 2 and 3 take another entry."""


def test_forgotten_fence() -> None:
    result = simulate({**FORGOTTEN_FENCE, "config": NO_JOURNAL}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", 0)
    assert result.adds[1] == (1, "OK")
    assert "AllAckedEntriesAreReadable" in violated(result)


@pytest.mark.parametrize("config", [WITH_LIMBO, {"journalWriteData": True}])
def test_fence_that_is_not_forgotten(config: dict[str, Any]) -> None:
    result = simulate({**FORGOTTEN_FENCE, "config": config}, watch=True)
    assert result.adds[1] == (1, "LedgerFencedException")
    assert violated(result) == set()


LOST_ENTRY = case(
    workload=[adds(1, 2)],
    faults=[fault("drop_adds", 2, 0), crash(1, 3, 4), fault("client_crash", None, 3)],
    commands=[command("recover_ledger", 5)],
)
"""BP-46, second scenario: entry 0 is acknowledged by bookies 1 and 3; 1 loses it, 1 and 2 say that there is none."""


def test_lost_entry() -> None:
    result = simulate({**LOST_ENTRY, "config": NO_JOURNAL}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", -1)
    assert "AllAckedEntriesAreReadable" in violated(result)


def test_lost_entry_with_limbo() -> None:
    result = simulate({**LOST_ENTRY, "config": WITH_LIMBO}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", 0)
    assert violated(result) == set()
    assert holders(result.ledger, 0) == [1, 2, 3]
    assert not result.ledger.bookies[1].limbo


@pytest.mark.parametrize("mutant", OF_DAMAGE)
def test_mutants_lose_what_limbo_saves(mutant: str) -> None:
    saved_by = {"limbo-says-no": LOST_ENTRY, "damaged-not-fenced": FORGOTTEN_FENCE}[mutant]
    result = simulate({**saved_by, "config": WITH_LIMBO, "rules": MUTANTS[mutant]}, watch=True)
    assert "AllAckedEntriesAreReadable" in violated(result)


def test_random_losses_are_lost_without_limbo() -> None:
    assert broken(MUTANTS["limbo-says-no"], range(80, 120))


@pytest.mark.parametrize(("config", "kind", "kept"), [
    ({}, "broker_crash", True), ({}, "power_loss", True), ({}, "disk_loss", False),
    ({"journalSyncData": False}, "broker_crash", True), ({"journalSyncData": False}, "power_loss", False),
    (NO_JOURNAL, "broker_crash", False), (NO_JOURNAL, "power_loss", False), (NO_JOURNAL, "controlled_shutdown", True),
])  # fmt: skip
def test_what_survives(config: dict[str, Any], kind: str, kept: bool) -> None:
    given = case(workload=[adds(1, 4)], config={"flushInterval": 1_000_000, **config}, faults=[fault(kind, 1, 6, 8)])
    assert bool(simulate(given).ledger.bookies[1].entries) is kept


@pytest.mark.parametrize("integrity_check", [False, True])
def test_random_losses_of_one_bookie(integrity_check: bool) -> None:
    broken = [
        seed for seed in range(LOSSY_SCHEDULES)
        if simulate(lossy_schedule(seed, integrity_check), watch=True, trace=False).violations
    ]  # fmt: skip
    assert bool(broken) is not integrity_check


AUTO = {"autoRecoveryDaemonEnabled": True, "rereplicationEntryBatchSize": 2}
CLOSED_AT_4 = {"workload": [adds(0, 5)], "commands": [command("close_ledger", 6)]}


def test_autorecovery_of_a_closed_ledger() -> None:
    """Bookie 1 has all 5 entries: ids 0 and 1, 2 and 3, 4 in three rounds, then the ensemble changes."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]))
    assert fragments(result.ledger) == {0: [4, 2, 3]}
    changed = [row["round"] for row in result.rounds if row["fragments"][0] == [4, 2, 3]]
    assert changed[0] == 13
    assert result.ledger.repair.copied_entries == 5
    assert all(holders(result.ledger, entry) == [2, 3, 4] for entry in range(5))


def test_autorecovery_copies_what_the_lost_bookie_had() -> None:
    """Index 0 of 5/3 has 0, 3 and 4: of ids 0 and 1 it gets the first, of 2 and 3 the second, and then 4: three rounds."""
    result = simulate(case((5, 3, 2), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)]))
    assert fragments(result.ledger) == {0: [6, 2, 3, 4, 5]}
    assert sorted(result.ledger.bookies[6].entries) == [0, 3, 4]
    assert told(result, "copied") == [(12, "copied", 6, 0, 5)]


CLOSED_AT_19 = {"workload": [adds(0, 20)], "commands": [command("close_ledger", 22)]}


def striped(lost: int, batch: int, *more: dict[str, Any]) -> Result:
    """5/3/2 with entries 0 to 19, one of whose bookies 1 to 5 is lost in round 30; 6 comes in its place."""
    config = {**AUTO, "rereplicationEntryBatchSize": batch}
    return simulate(case((5, 3, 2), **CLOSED_AT_19, config=config, faults=[crash(lost, 30), *more]))


@pytest.mark.parametrize(("lost", "copies", "beside"), [
    (1, 20, [1, 2, 6, 7, 11, 12, 16, 17]),  # 0 to 9 and 10 to 19: 0, 3, 4, 5, 8, 9 and so on
    (2, 20, [2, 3, 7, 8, 12, 13, 17, 18]),  # 0 to 9 and 10 to 19: 0, 1, 4, 5, 6, 9 and so on
    (3, 16, [3, 4, 13, 14]),  # 0 to 7 and 10 to 17: 0, 1, 2, 5, 6, 7 and so on; 8 and 9 are not of the share, nor 18 and 19
    (4, 16, [4, 5, 14, 15]),  # 1 to 10 is cut to 1 to 8, 11 to 19 to 11 to 18
    (5, 16, [5, 6, 15, 16]),  # 2 to 11 is cut to 2 to 9, 12 to 19 has 12 and 19 of the share
])  # fmt: skip
def test_what_is_between_is_copied_as_well(lost: int, copies: int, beside: list[int]) -> None:
    """Stretches of ten: eight to ten ids of ten are copied, six of them of the share. Two rounds, whatever the last ids are."""
    result = striped(lost, 10)
    target, index = result.ledger.bookies[6], lost - 1
    share = [entry for entry in range(20) if (index - entry) % 5 < 3]
    assert told(result, "copied", "rereplicated") == [(31, "copied", 6, 0, 20), (32, "rereplicated", 6, 0, 20)]
    assert result.ledger.repair.copied_entries == copies == len(share) + len(beside)
    assert sorted(target.entries) == share
    assert result.rounds[-1]["beside"] == {6: beside}
    assert target.on_disk == {*share, *beside}


@pytest.mark.parametrize("lost", [1, 3])
def test_stretches_with_nothing_of_the_share_take_no_round(lost: int) -> None:
    """Stretches of two, ids that are not of the share in brackets, twelve copies in eight rounds, nothing beside the share.

    Of 1: 0 (1), (2) 3, 4 5, (6 7), 8 9 and once more so. Of 3: 0 1, 2 (3), (4) 5, 6 7, (8 9) and once more so: its last two ids
    are copied in the eighth round, and (18 19) take none.
    """
    result = striped(lost, 2)
    assert told(result, "copied", "rereplicated") == [(37, "copied", 6, 0, 20), (38, "rereplicated", 6, 0, 20)]
    assert result.ledger.repair.copied_entries == len(result.ledger.bookies[6].entries) == 12
    assert result.rounds[-1]["beside"] == {}


def test_what_lies_beside_the_share_saves_nothing() -> None:
    """1, 6, 11 and 16 are of bookies 2, 3 and 4: when these lose their disks they are lost, though 6 has them on its disk."""
    result = striped(1, 10, *(fault("disk_loss", bookie, 40, 41) for bookie in (2, 3, 4)))
    assert losses(result.ledger)[0] == 4
    assert result.ledger.bookies[6].on_disk >= {1, 6, 11, 16}
    assert not striped(1, 10, fault("disk_loss", 6, 40, 41)).ledger.bookies[6].on_disk


def test_an_id_that_nobody_has_is_waited_for() -> None:
    """5/3/1: only bookie 4, which is paused from round 30 to 36, has entry 1: nothing of 0 to 9 is copied before, although it is
    not of the share of bookie 1's index; then ten ids a round.
    """
    missing = [fault("drop_adds", bookie, 0, 5, from_offset=1, to_offset=2) for bookie in (2, 3)]
    config = {**AUTO, "rereplicationEntryBatchSize": 10}
    given = {"workload": [adds(0, 5, 4)], "commands": [command("close_ledger", 7)], "config": config}
    result = simulate(case((5, 3, 1), **given, faults=[*missing, crash(1, 30), fault("broker_pause", 4, 30, 36)]))
    assert 6 not in result.rounds[35]["bookies"]
    assert end_of(result.ledger) == ("CLOSED", 19)
    assert told(result, "copied") == [(37, "copied", 6, 0, 20)]
    assert [result.rounds[round_]["bookies"][6]["last_entry"] for round_ in (36, 37)] == [9, 19]
    assert result.ledger.repair.copied_entries == 10 + 10
    assert result.rounds[-1]["beside"] == {6: [1, 2, 6, 7, 11, 12, 16, 17]}


def test_bookie_back_in_time_is_not_replaced() -> None:
    """Nothing is published before round 15."""
    config = {**AUTO, "lostBookieRecoveryDelay": 5}
    given = case(**CLOSED_AT_4, config=config)
    assert fragments(simulate({**given, "faults": [crash(1, 10, 19)]}).ledger) == {0: [1, 2, 3]}
    assert fragments(simulate({**given, "faults": [crash(1, 10, 40)]}).ledger) == {0: [4, 2, 3]}


NOBODY_FREE = case(bookies=4, **CLOSED_AT_4, config=AUTO)
"""3/3/2 with entries 0 to 4; there is nobody in place of a lost one while bookie 4 is away, in rounds 8 to 19."""
SPARE_AWAY = crash(4, 8, 20)


def test_who_comes_back_whole_before_there_is_a_target_is_not_replaced() -> None:
    result = simulate({**NOBODY_FREE, "faults": [SPARE_AWAY, crash(1, 10, 15)]})
    assert told(result, "underreplicated", "copied") == [(10, "underreplicated", 1, 0, None)]
    assert [result.rounds[round_]["underreplicated"] for round_ in (14, 15)] == [1, 0]
    assert fragments(result.ledger) == {0: [1, 2, 3]}


def test_who_comes_back_empty_is_replaced() -> None:
    """It lacks the first entry. Bookie 4 gets all five in rounds 20 to 22, two at a time."""
    result = simulate({**NOBODY_FREE, "faults": [SPARE_AWAY, fault("disk_loss", 1, 10, 15)]})
    assert told(result, "underreplicated", "copied", "rereplicated") == [
        (10, "underreplicated", 1, 0, None), (22, "copied", 4, 0, 5), (23, "rereplicated", 4, 0, 5),
    ]  # fmt: skip
    assert fragments(result.ledger) == {0: [4, 2, 3]}


@pytest.mark.parametrize(("missing", "replaced"), [(0, True), (2, False), (4, True)])
def test_the_first_and_the_last_entry_are_looked_for(missing: int, replaced: bool) -> None:
    """What bookie 1 lacks is no reason where it lies between."""
    dropped = fault("drop_adds", 1, 0, 6, from_offset=missing, to_offset=missing + 1)
    result = simulate({**NOBODY_FREE, "faults": [dropped, SPARE_AWAY, crash(1, 10, 15)]})
    assert fragments(result.ledger) == {0: [4 if replaced else 1, 2, 3]}
    assert (missing in result.ledger.bookies[1].entries) is False


def test_who_is_filled_while_nobody_is_free_is_not_replaced() -> None:
    """Back and empty in round 15, it gets its five entries at the ends of rounds 16 to 18: the replacement ends in round 19."""
    commands = [*CLOSED_AT_4["commands"], command("check_ledger", 16)]
    result = simulate({**NOBODY_FREE, "commands": commands, "faults": [SPARE_AWAY, fault("disk_loss", 1, 10, 15)]})
    assert [result.rounds[round_]["underreplicated"] for round_ in (18, 19)] == [1, 0]
    assert fragments(result.ledger) == {0: [1, 2, 3]}


def test_who_had_nothing_of_the_fragment_is_not_replaced() -> None:
    """5/3/2: entry 0 is of indices 0 to 2. Bookies 3 and 5 lose their disks, and 3 alone lacks something then."""
    given = case((5, 3, 2), 5, workload=[adds(0, 1)], config=AUTO, commands=[command("close_ledger", 6)])
    result = simulate({**given, "faults": [fault("disk_loss", bookie, 10, 15) for bookie in (3, 5)]})
    assert [row[2] for row in told(result, "underreplicated")] == [3, 5]
    assert [task.lost for task in result.ledger.repair.replacements] == [3]


def test_an_open_fragment_is_looked_at_up_to_the_lac() -> None:
    """Bookie 1 comes back with 0 to 4 within the grace period; empty, it has the ledger recovered, and is replaced."""
    given = case(workload=[adds(0, 5)], config={**AUTO, "openLedgerRereplicationGracePeriod": 5000})
    whole = simulate({**given, "faults": [crash(1, 10, 15)]})
    assert end_of(whole.ledger) == ("OPEN", None)
    assert whole.ledger.repair.replacements == []
    empty = simulate({**given, "faults": [fault("disk_loss", 1, 10, 15)]})
    assert end_of(empty.ledger) == ("CLOSED", 4)
    assert fragments(empty.ledger) == {0: [4, 2, 3]}


def test_who_comes_back_in_the_middle_of_the_copying_is_replaced() -> None:
    """Of five entries bookie 4 has four when 1 is back in round 12, and the last one in that round."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10, 12)]))
    assert told(result, "copied", "rereplicated") == [(12, "copied", 4, 0, 5), (13, "rereplicated", 4, 0, 5)]
    assert fragments(result.ledger) == {0: [4, 2, 3]}


def test_who_are_lost_in_one_round_are_replaced_at_once() -> None:
    """Two copies a round for each of them: five entries each in rounds 10 to 12."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), crash(2, 10)]))
    assert told(result, "copied", "rereplicated") == [
        (12, "copied", 4, 0, 5), (12, "copied", 5, 0, 5), (13, "rereplicated", 4, 0, 5), (13, "rereplicated", 5, 0, 5),
    ]  # fmt: skip
    assert fragments(result.ledger) == {0: [4, 5, 3]}
    assert result.ledger.repair.copied_entries == 10


def test_who_is_lost_later_waits() -> None:
    """Bookie 2 is lost one round later: 5 gets its five entries when 4 is in the ensemble, in rounds 13 to 15."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), crash(2, 11)]))
    assert told(result, "copied", "rereplicated") == [
        (12, "copied", 4, 0, 5), (13, "rereplicated", 4, 0, 5), (15, "copied", 5, 0, 5), (16, "rereplicated", 5, 0, 5),
    ]  # fmt: skip
    assert fragments(result.ledger) == {0: [4, 5, 3]}


def test_lost_together_and_not_enough_free() -> None:
    """Of two lost at once nobody is replaced while 4 alone is free. Bookie 5 joins in round 11: both get five, two a round."""
    commands = [*CLOSED_AT_4["commands"], command("add_bookie", 11, broker=5)]
    result = simulate(case(bookies=5, **{**CLOSED_AT_4, "commands": commands}, config=AUTO, faults=[crash(1, 10), crash(2, 10)]))
    assert told(result, "copied") == [(13, "copied", 4, 0, 5), (13, "copied", 5, 0, 5)]
    assert fragments(result.ledger) == {0: [4, 5, 3]}


def test_who_is_back_of_two_lost_together() -> None:
    """One is free for two; bookie 2 is back and whole in round 12, and from then on there is enough for 1: five, two a round."""
    result = simulate(case(bookies=4, **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), crash(2, 10, 12)]))
    assert told(result, "copied", "rereplicated") == [(14, "copied", 4, 0, 5), (15, "rereplicated", 4, 0, 5)]
    assert [result.rounds[round_]["underreplicated"] for round_ in (11, 12, 15)] == [2, 1, 0]
    assert fragments(result.ledger) == {0: [4, 2, 3]}


def test_a_target_that_is_lost_is_chosen_anew() -> None:
    """Bookie 4 gets four entries in rounds 10 and 11 and is lost; 5 gets all five, in rounds 12 to 14."""
    result = simulate(case(**CLOSED_AT_4, config=AUTO, faults=[crash(1, 10), crash(4, 12)]))
    assert told(result, "copied") == [(14, "copied", 5, 0, 5)]
    assert result.ledger.repair.copied_entries == 9


def test_fragments_lost_in_one_round_are_copied_in_the_order_of_bookies() -> None:
    """Bookie 1 had the second fragment, 2 the first: two rounds for the four entries of 1, and then two for those of 2."""
    entries = {1: range(4, 8), 2: range(4), 3: range(8), 4: range(8)}
    initial = {
        "fragments": {0: [2, 3, 4], 4: [1, 3, 4]},
        "entries": {bookie: {entry: entry - 1 for entry in own} for bookie, own in entries.items()},
        "lac": 7,
    }
    given = case(initial=initial, commands=[command("close_ledger", 1)], workload=[], config=AUTO)
    result = simulate({**given, "faults": [crash(1, 10), crash(2, 10)]})
    assert told(result, "copied") == [(11, "copied", 5, 4, 8), (13, "copied", 5, 0, 4)]


def test_open_ledger_is_recovered_after_a_grace_period() -> None:
    """Its writer is idle, and learns of it with its next add."""
    config = {**AUTO, "openLedgerRereplicationGracePeriod": 5000}
    given = case(workload=[adds(0, 5), adds(40, 41)], config=config, faults=[crash(1, 10)])
    result = simulate(given, watch=True)
    assert [result.rounds[round_]["state"] for round_ in (19, 21)] == ["OPEN", "IN_RECOVERY"]
    assert end_of(result.ledger) == ("CLOSED", 4)
    assert all(1 not in ensemble for ensemble in fragments(result.ledger).values())
    assert result.adds[5:] == [(5, "LedgerFencedException")]
    assert violated(result) == set()


def test_older_fragments_of_an_open_ledger_are_copied_at_once() -> None:
    given = case(rounds=40, workload=[adds(0, 20)], config=AUTO, faults=[crash(1, 5)])
    result = simulate(given, watch=True)
    assert fragments(result.ledger) == {0: [4, 2, 3], 5: [4, 2, 3]}
    assert result.ledger.metadata.state == "OPEN"
    assert violated(result) == set()


def test_decommissioned_bookie_leaves_all_ensembles() -> None:
    given = case(
        **{**CLOSED_AT_4, "commands": [*CLOSED_AT_4["commands"], command("decommission_bookie", 10, broker=2)]}, config=AUTO
    )
    assert fragments(simulate(given).ledger) == {0: [1, 4, 3]}


def test_check_of_a_ledger_brings_back_what_a_disk_lost() -> None:
    given = case(**CLOSED_AT_4, faults=[fault("disk_loss", 2, 10, 12)])
    assert holders(simulate(given).ledger, 3) == [1, 3]
    given["commands"] = [*given["commands"], command("check_ledger", 15)]
    assert holders(simulate(given).ledger, 3) == [1, 2, 3]


def test_no_copy_without_a_source() -> None:
    given = case((2, 1, 1), **CLOSED_AT_4, config=AUTO, faults=[crash(1, 10)])
    assert fragments(simulate(given).ledger) == {0: [1, 2]}
