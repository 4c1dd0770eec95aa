"""One round of one partition: the phases in the order of docs/kafka_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers, merged_into_caller
from emulator.rounds.kafka.append import append
from emulator.rounds.kafka.check_invariants import check_invariants, mark_superseded
from emulator.rounds.kafka.constants import NOBODY
from emulator.rounds.kafka.count_outcomes import count_outcomes, tell_of_damage
from emulator.rounds.kafka.delete_segments import delete_segments
from emulator.rounds.kafka.delete_topic import delete_topic, is_deleted_now
from emulator.rounds.kafka.eligible_leaders import ask_for_recovery
from emulator.rounds.kafka.fence_and_elect import fence_and_elect, is_ready, know_isr
from emulator.rounds.kafka.fetch import answer_questions, fetch
from emulator.rounds.kafka.input_records import Inputs, ScenarioRow, Settings
from emulator.rounds.kafka.join_and_shrink import join_and_shrink
from emulator.rounds.kafka.last_moments import last_moments, slots_in_touch, slots_that_run
from emulator.rounds.kafka.learn import checkpoint_and_flush, learn
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.reading.serve_readers import serve_readers, stop_readers
from emulator.rounds.kafka.record_trace import record_trace
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.respond import respond
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.shared_budgets import note_what_is_lacked
from emulator.rounds.kafka.take_inputs import cut_at_start, follow_inputs, take_inputs
from emulator.rounds.kafka.tier.build_aux_state import build_aux_states
from emulator.rounds.kafka.tier.check_tiers import check_tiers
from emulator.rounds.kafka.tier.local_leaders import report_local_logs
from emulator.rounds.kafka.tier.remove_remote import remove_remote
from emulator.rounds.kafka.tier.run_tier_tasks import pin_transactions, run_tier_tasks, take_tier_inputs
from emulator.rounds.kafka.traffic import end_bucket, last_of_bucket
from emulator.rounds.leaps import is_due
from emulator.rounds.records import Rows
from emulator.rounds.slots import slot_at


@merged_into_caller
def play_round(
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
) -> None:
    """Play round `part.now`. `tiers`, `readers`: of a block in which some partition has remote storage or is read, else None.

    Numba leaves out what is under `tiers is not None` where it is None, before it looks at what that calls. Where there are
    `readers` there are `tiers`.
    """
    scenario = inputs.scenarios[part.scenario]
    rules = inputs.rules[scenario.rules]
    refused = 0
    changed = part.now >= part.next_change
    forget_last_round(part)

    if changed:  # 1. inputs
        ran = slots_that_run(part, replicas)
        in_touch = slots_in_touch(part, replicas, ran)
        follow_inputs(inputs, part, replicas)
        if part.now == 0 and rules.cuts_to_high_watermark:
            cut_at_start(lists, inputs, part, replicas)
        last_moments(lists, inputs, part, replicas, rules, ran, in_touch)
        take_inputs(lists, inputs, part, replicas, rules)
    settings = inputs.settings[part.settings]
    if scenario.shares:
        note_what_is_lacked(part, replicas)
    if tiers is not None:
        take_tier_inputs(lists, tiers, inputs, part, replicas, rules)
    if changed and is_deleted_now(inputs, part):
        delete_topic(lists, inputs, part, replicas)
    if part.deleted:
        if tiers is not None:
            remove_remote(lists, tiers, inputs, part)
        if readers is not None:
            stop_readers(lists, readers, inputs, part, replicas)
        end_round(lists, tiers, readers, inputs, part, replicas, scenario)
        return
    note_high_watermarks(part, replicas)
    if rules.asks:
        answer_questions(lists, part, replicas, rules)
    if changed or may_elect(part, settings):  # 2. fence and elect
        fence_and_elect(lists, inputs, part, replicas, rules)
    know_isr(part, replicas)
    if tiers is not None:
        pin_transactions(tiers, inputs, part, replicas)
    ready = is_ready(part, replicas)
    if part.client_leader != NOBODY:
        part.hw_before = replicas[part.client_leader].hw
    if ready:  # 3. append
        refused = append(lists, inputs, part, replicas, settings, rules)
    if scenario.elr:
        ask_for_recovery(lists, part, replicas, settings)
    fetch(lists, inputs, part, replicas, rules)  # 4. fetch
    mark_superseded(part, replicas)
    if ready:  # 5. join and shrink, 6. high watermark
        join_and_shrink(part, replicas, scenario, settings, rules)
    if part.client_leader != NOBODY:
        part.leader_hw = replicas[part.client_leader].hw
    respond(lists, inputs, part, replicas, scenario, settings, rules)  # 7. response
    if tiers is not None:
        build_aux_states(lists, tiers, inputs, part, replicas, rules)
    learn(lists, inputs, part, replicas, rules, ready)  # 8. learn
    if tiers is not None:  # 9. tier tasks
        run_tier_tasks(lists, tiers, inputs, part, replicas, rules)
    delete_segments(lists, inputs, part, replicas, settings, rules)  # 9. local retention, then
    if tiers is not None:
        report_local_logs(lists, inputs, part, replicas)
        if part.tiered:
            check_tiers(lists, tiers, inputs, part, replicas, rules)
    checkpoint_and_flush(part, replicas, settings)  # checkpoint and flush
    ready = is_ready(part, replicas)  # by what was learned
    check_invariants(lists, inputs, part, replicas, settings, ready)
    count_outcomes(lists, inputs, part, replicas, settings, ready, refused)  # 10. outcomes
    if changed:
        tell_of_damage(lists, part, replicas)
    if part.traced:
        record_trace(lists, inputs, part, replicas)
    if tiers is not None and tiers.whole[0].removes:  # what is left of a topic without remote storage any more
        remove_remote(lists, tiers, inputs, part)
    if tiers is not None and readers is not None:  # 11. readers
        serve_readers(lists, tiers, readers, inputs, part, replicas, rules)
    end_round(lists, tiers, readers, inputs, part, replicas, scenario)


@compiled_into_callers
def end_round(
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    scenario: ScenarioRow,
) -> None:
    """The round is over, and with it perhaps a time bucket."""
    if part.now == last_of_bucket(inputs, part) or part.now + 1 == scenario.rounds:
        end_bucket(lists, tiers, readers, inputs, part, replicas, part.now)
    part.now += 1
    part.played += 1


@compiled_into_callers
def forget_last_round(part: Partition) -> None:
    """What is of one round begins anew."""
    part.accepted = 0
    part.acked_on_append = 0
    part.fenced_out = 0
    part.joined = 0
    part.lagged_out = 0
    part.held = 0


@compiled_into_callers
def note_high_watermarks(part: Partition, replicas: Rows[Replica]) -> None:
    """High watermarks of the round's start, which its responses carry."""
    for slot in range(part.slots):
        replicas[slot].hw_at_start = replicas[slot].hw


@compiled_into_callers
def may_elect(part: Partition, settings: Settings) -> bool:
    """Whether the controller may have something to decide in a round in which no input changes."""
    if part.leader == NOBODY or part.target or part.commands_now:
        return True
    may_rebalance = settings.rebalance_ms > 0 and part.leader != slot_at(part.order, 0)
    return may_rebalance and is_due(part.now, settings.round_ms, settings.rebalance_ms)
