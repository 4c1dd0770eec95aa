"""Eligible leader replicas (KIP-966): who stays eligible when the ISR shrinks, and who leads when it is empty. SQL steps.

Only runs with the feature have these expressions; in its scenarios without it `feed.elr` keeps ELR and LastKnownELR empty.
Rules: docs/kafka_rounds.md, "Eligible leader replicas"; PartitionChangeBuilder.
"""

from __future__ import annotations

from emulator.expressions.columns import Step
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.tier.local_leaders import preferred
from emulator.expressions.log import last_epoch
from emulator.expressions.slots import ORDER_BITS, bit, first_in_order, mask_of_slots, mine

BALANCED, AGGRESSIVE = 1, 2
"""`feed.recovery`: unclean.recovery.strategy; 0 is none."""


def min_isr(replicas: str = "assigned") -> str:
    """min.insync.replicas as it counts for a partition: no more than it has replicas."""
    return f"least(feed.min_insync_replicas, bit_count({replicas}))"


def slots_of(order: str) -> str:
    """The slots of a replica order as an array."""
    codes = f"transform(sequence(0, 11), p -> CAST(shiftright({order}, p * {ORDER_BITS}) & 31 AS INT) - 1)"
    return f"filter({codes}, s -> s >= 0)"


def elr_after(isr: str, new_isr: str, elr: str, replicas: str = "assigned") -> str:
    """The ELR once the ISR has changed: those that left it, while it is smaller than min.insync.replicas."""
    enough = f"bit_count({new_isr}) >= {min_isr(replicas)}"
    return f"IF({enough} OR NOT feed.elr, 0, ({elr} | {isr}) & ~({new_isr}) & {replicas})"


def last_known_after(new_isr: str, last_known: str, replicas: str = "assigned") -> str:
    """LastKnownELR once the ISR has changed and nobody fell out of the ELR."""
    enough = f"bit_count({new_isr}) >= {min_isr(replicas)}"
    return f"IF({enough}, 0, {last_known} & ~({new_isr}) & {replicas})"


def fence_and_register(rules: RunRules) -> list[Step]:
    """ELR and LastKnownELR after members were fenced one by one, the leader last, and unclean brokers registered again.

    Reads `isr_at_start`, `isr` (after fencing) and `leader`; whoever leaves while the ISR is still big enough is not eligible.
    """
    removed = "(isr_at_start & ~isr)"
    followers = f"filter({slots_of('replica_order')}, s -> s != leader AND ({removed} & shiftleft(1, s)) != 0)"
    leader = f"filter(array(leader), s -> s >= 0 AND ({removed} & shiftleft(1, s)) != 0)"
    spare = f"greatest(bit_count(isr_at_start) - {min_isr()}, 0)"
    eligible = mask_of_slots(f"slice(concat({followers}, {leader}), {spare} + 1, 12)")
    unclean = rules.choose("remove_unclean_from_elr", "(world.unclean_restart & elr)", "0")
    return [
        {
            "elr": "IF(feed.clears_elr OR NOT feed.elr, 0, elr)",
            "last_known_elr": "IF(feed.clears_elr OR NOT feed.elr, 0, last_known_elr)",
        },
        {
            "elr": f"IF({removed} = 0 OR NOT feed.elr, elr, IF({spare} > 0, 0, elr) | {eligible})",
            "last_known_elr": f"IF({removed} != 0 AND {spare} > 0, 0, last_known_elr)",
        },
        {
            "elr": f"IF(world.controller_up, elr & ~{unclean}, elr)",
            "last_known_elr": (
                f"IF(world.controller_up AND feed.recovery != 0 AND bit_count(isr) < {min_isr()},"
                f" last_known_elr | {unclean}, last_known_elr)"
            ),
        },
    ]


def candidates() -> str:
    """The mask of who may lead besides the ISR."""
    answered = mask_of_slots("transform(recovery_answers, a -> a.slot)")
    return f"IF(feed.elr, elr | last_known_elr | {answered}, 0)"


def elect(unfenced: str, rules: RunRules) -> str:
    """Cases that come after the ISR's: the ELR, the last known leader, and who a recovery strategy finds."""
    slots = rules.slots
    eligible, last_known = f"(elr & assigned & {unfenced})", f"(last_known_elr & assigned & {unfenced})"
    nobody = "feed.elr AND isr = 0 AND elr = 0"
    return (
        f" WHEN feed.elr AND isr = 0 AND {eligible} != 0"
        f" THEN named_struct('slot', {first_in_order('replica_order', preferred(eligible, rules), slots)}, 'unclean', false)"
        f" WHEN {nobody} AND feed.recovery = 0 AND {last_known} != 0"
        f" THEN named_struct('slot', {first_in_order('replica_order', last_known, slots)}, 'unclean', true)"
        f" WHEN feed.elr AND feed.recovery != 0 THEN named_struct('slot', {_recovered(unfenced, nobody)}, 'unclean', true)"
    )


def _recovered(unfenced: str, nobody: str) -> str:
    """Of the answers, the largest last epoch, then LEO; balanced waits for all of LastKnownELR."""
    present = f"filter(recovery_answers, a -> (assigned & {unfenced} & shiftleft(1, a.slot)) != 0)"
    known = f"filter({present}, a -> (last_known_elr & shiftleft(1, a.slot)) != 0)"
    place = f"-array_position({slots_of('replica_order')}, a.slot)"

    def best(answers: str) -> str:
        ranks = f"transform({answers}, a -> struct(a.epoch AS epoch, a.leo AS leo, {place} AS place, a.slot AS slot))"
        return f"coalesce(array_max({ranks}).slot, -1)"

    all_known = f"{nobody} AND size({known}) = bit_count(last_known_elr)"
    return f"CASE WHEN feed.recovery = {AGGRESSIVE} THEN {best(present)} WHEN {all_known} THEN {best(known)} ELSE -1 END"


def remember_last_leader() -> Step:
    """The leader whom nobody followed is the last known leader, once the ISR is empty."""
    lost = "needs_leader AND stage_1.slot < 0 AND leader >= 0 AND isr = 0"
    return {"last_known_elr": f"IF(feed.elr AND feed.recovery = 0 AND {lost}, {bit('leader')}, last_known_elr)"}


def after_election(isr: str) -> Step:
    """ELR and LastKnownELR once stage 2 has elected; `isr`: text of the ISR then."""
    elected, unclean = "stage_2.slot >= 0", "stage_2.unclean"
    return {
        "elr": f"CASE WHEN NOT coalesce({elected}, false) THEN elr WHEN {unclean} THEN 0 ELSE elr & ~({isr}) END",
        "last_known_elr": (f"IF(coalesce({elected}, false) AND ({unclean} OR feed.recovery = 0), 0, last_known_elr)"),
    }


def asks_for_recovery() -> str:
    """Whether the controller asks this replica for its log's end in this round."""
    balanced = f"(feed.recovery = {BALANCED} AND isr = 0 AND elr = 0 AND {mine('last_known_elr')})"
    able = f"{mine('world.running & world.unfenced & assigned')}"
    return f"leader < 0 AND world.controller_up AND feed.elr AND {able} AND (feed.recovery = {AGGRESSIVE} OR {balanced})"


def recovery_answer() -> str:
    """What a replica that is asked answers; null for the others."""
    answer = f"named_struct('slot', slot, 'epoch', coalesce({last_epoch('log')}, -1), 'leo', leo)"
    return f"CASE WHEN {asks_for_recovery()} THEN {answer} END"
