"""What tiered storage adds to the round's steps: inputs (1), open transactions (2), and the remote log manager's tasks (9)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.kafka.constants import NO_NEWS, NOBODY
from emulator.rounds.kafka.delete_topic import is_deleted_now
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.build_aux_state import forget_stale_builds
from emulator.rounds.kafka.tier.copy_segments import run_copy_tasks
from emulator.rounds.kafka.tier.duties import (
    assign_duties,
    can_use_metadata,
    follow_truncation,
    forget_on_restart,
    run_follower_tasks,
    runs_tasks,
)
from emulator.rounds.kafka.tier.expire import run_expiry_tasks
from emulator.rounds.kafka.tier.metadata import has_news, metadata_lag, read_events
from emulator.rounds.kafka.tier.remove_remote import mark_remote, watch_disabling
from emulator.rounds.lists import append, every, keep_first
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def take_tier_inputs(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Step 1: the store's faults, tasks of brokers that are down, and the metadata that gets to who can read it."""
    tier = tiers.whole[0]
    while inputs.store[tier.store + 1].from_round <= part.now:
        tier.store += 1
    if not part.tiered or part.deleted:
        return
    watch_disabling(lists, tiers, inputs, part, replicas)
    forget_on_restart(tiers, part, replicas)
    forget_stale_builds(tiers, part, replicas)
    scenario = inputs.scenarios[part.scenario]
    if part.now == 0:  # all that was remote before the run is known to all
        for slot in range(part.slots):
            if has(part.assigned, slot):
                read_events(tiers, slot, 0, rules)
    for slot in range(part.slots):
        if not runs_tasks(part, replicas, slot) or not can_use_metadata(tiers, inputs, part, replicas[slot]):
            continue
        lag = metadata_lag(inputs, scenario, replicas[slot])
        if lag != NO_NEWS and has_news(tiers, slot, part.now - lag):
            read_events(tiers, slot, part.now - lag, rules)
    if is_deleted_now(inputs, part):
        mark_remote(tiers, part, replicas)


@compiled_into_callers
def pin_transactions(tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """After step 2: open transactions begin at the LEO that T has when they open, before anything is appended."""
    if not tiers.whole[0].has_transactions:
        return
    pins, store = tiers.whole[0].pins, inputs.store[tiers.whole[0].store]
    kept = 0
    for at in every(pins):
        for place in range(store.first_transaction, store.first_transaction + store.transactions):
            if inputs.transactions[place].number == tiers.pins[at].number:
                move(tiers.pins, at, pins.start + kept)
                kept += 1
    keep_first(pins, kept)
    if part.client_leader == NOBODY:
        return
    for place in range(store.first_transaction, store.first_transaction + store.transactions):
        number = inputs.transactions[place].number
        is_known = False
        for at in every(pins):
            is_known = is_known or tiers.pins[at].number == number
        if not is_known:
            pin = tiers.pins[append(pins)]
            pin.number = number
            pin.offset = replicas[part.client_leader].leo


@compiled_into_callers
def run_tier_tasks(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Step 9, before local retention: each broker's remote log manager; expiry, then copies, then followers."""
    if not part.tiered:
        return
    for slot in range(part.slots):
        tiers.replicas[slot].copy_broken = 0
    forget_stale_builds(tiers, part, replicas)
    follow_truncation(part, replicas, rules)
    assign_duties(tiers, inputs, part, replicas)
    run_expiry_tasks(lists, tiers, inputs, part, replicas, rules)
    run_copy_tasks(lists, tiers, inputs, part, replicas, rules)
    run_follower_tasks(lists, tiers, inputs, part, replicas, rules)
    if inputs.scenarios[part.scenario].by_list and inputs.settings[part.settings].tiered:
        for slot in range(part.slots):
            tiers.replicas[slot].listing_rounds += runs_tasks(part, replicas, slot)
    for slot in range(part.slots):
        tiers.replicas[slot].start_before = replicas[slot].local_start
    if part.client_leader != NOBODY:
        part.lead_deleted_to = max(part.lead_deleted_to, replicas[part.client_leader].log_start)
