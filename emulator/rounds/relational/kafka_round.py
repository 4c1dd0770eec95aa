"""One Kafka round in the order of docs/kafka_rounds.md: a tuple of verbs, each of which takes a round's tables and gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import TIER_COLUMNS, Round, RoundInputs, Tables, begin_round, parted
from emulator.rounds.relational.verbs.building import build_remote_state, forget_stale_questions
from emulator.rounds.relational.verbs.caches import keep_caches_of_followers, keep_caches_of_leaders, keep_epochs_of_appends
from emulator.rounds.relational.verbs.controller import begin_leadership, elect, elect_preferred, fence, take_commands, tell
from emulator.rounds.relational.verbs.elr import ask_for_recovery
from emulator.rounds.relational.verbs.fetching import (
    answer_fetches,
    append_fetched,
    choose_batches,
    drop_answers,
    note_fetches,
    request_fetch,
    take_answers,
    truncate_diverging,
)
from emulator.rounds.relational.verbs.last_moments import append_last_moments
from emulator.rounds.relational.verbs.leading import (
    advance_high_watermark,
    append,
    delete_records,
    judge_followers,
    keep_batches,
    shrink_and_expand_isr,
)
from emulator.rounds.relational.verbs.learning import learn, write_checkpoints
from emulator.rounds.relational.verbs.outcomes import count_outcomes, end_round, remember_logs, write_down
from emulator.rounds.relational.verbs.reassign import complete_reassignment, start_reassignment
from emulator.rounds.relational.verbs.segments import delete_old_segments, keep_segments_of_followers, keep_segments_of_leaders
from emulator.rounds.relational.verbs.taking_inputs import take_inputs
from emulator.rounds.relational.verbs.tiers import read_metadata, run_tier_tasks
from emulator.rounds.relational.verbs.truncating import cut_learned, keep_epochs_at_start

Verb = Callable[[Round], Round]


SCRATCH = (
    "blocked", "members_left", "leader_is_member", "first_member", "alive", "elects", "clean", "eligible", "unclean", "elected",
    "changes", "uncleanly", "preferred", "prefers", "isr_minimum", "isr_size", "elr_size", "leaving", "leaves_as", "changes_elr",
    "enough", "first_too_few", "first_eligible", "last_leader", "answers", "waits_on", "may_win", "ends_elr", "holds_leader",
    "place", "starts", "targets", "was_settled", "stays_behind", "new_position", "drops", "leader_stays", "heir", "is_member",
    "was_eligible", "rolls", "accepts", "leader_at_start", "stale_now", "stale_before", "is_asked", "asked_to_elect", "lags",
    "is_joiner", "news_round", "held_leader", "held_epoch", "restarts", "told_leader", "told_epoch", "cut_records", "noted",
    "was_in_isr", "was_at", "was_to_be_at",
)  # fmt: skip
"""Columns that no verb behind the next stop asks for."""

SETTLE, SETTLE_TO_STAY = "settle", "settle to stay"
"""Between verbs: what they made is computed, so that plans stay short; what goes on to the next round is told apart."""

VERBS: tuple[Verb | str, ...] = (
    append_last_moments,
    take_inputs,
    read_metadata,
    keep_epochs_at_start,
    fence,
    elect,
    take_commands,
    elect_preferred,
    start_reassignment,
    complete_reassignment,
    begin_leadership,
    tell,
    append,
    SETTLE,
    delete_records,
    remember_logs,
    keep_batches,
    keep_caches_of_leaders,
    keep_epochs_of_appends,
    keep_segments_of_leaders,
    SETTLE_TO_STAY,
    request_fetch,
    answer_fetches,
    SETTLE,
    note_fetches,
    ask_for_recovery,
    judge_followers,
    shrink_and_expand_isr,
    SETTLE,
    advance_high_watermark,
    drop_answers,
    choose_batches,
    take_answers,
    truncate_diverging,
    SETTLE,
    append_fetched,
    build_remote_state,
    learn,
    cut_learned,
    forget_stale_questions,
    run_tier_tasks,
    delete_old_segments,
    write_checkpoints,
    count_outcomes,
    SETTLE_TO_STAY,
    keep_caches_of_followers,
    keep_segments_of_followers,
    write_down,
    SETTLE_TO_STAY,
    end_round,
)


OF_CONTROLLERS: tuple[Verb | str, ...] = (
    fence, elect, take_commands, elect_preferred, start_reassignment, complete_reassignment, begin_leadership, tell,
    delete_records, remember_logs, keep_caches_of_leaders,
)  # fmt: skip
"""Verbs without which a calm round does (`RunInputs.calm`)."""


def play_round(tables: Tables, inputs: RoundInputs, look: Callable[[str, Round], None] = lambda verb, now: None) -> Round:
    """The round at its end: `tables_after` gives the state of it. `look`: is shown the round after each verb, by its name."""
    now = begin_round(tables, inputs)
    before = now
    # Estimates of sizes grow from join to join: past some dozens in a row Spark is busy with numbers of thousands of digits.
    joins_much = inputs.has_older or tables.segments is not None
    for verb in VERBS:
        if inputs.is_calm and verb in OF_CONTROLLERS:
            continue
        if isinstance(verb, str):
            now = before = _settled(now, before, to_stay=verb == SETTLE_TO_STAY or joins_much)
        else:
            now = verb(now)
            look(verb.__name__, now)
    return now


def _settled(now: Round, before: Round, to_stay: bool) -> Round:
    """The round with every table worked out that `before` has not."""
    names = [f.name for f in fields(now) if isinstance(getattr(now, f.name), Query)]
    changed = {name: getattr(now, name) for name in names if getattr(now, name) is not getattr(before, name)}
    if "replicas" in changed:
        changed["replicas"] = now.replicas.drop(*SCRATCH)
    written = now.written[len(before.written) :]
    queries = list({id(query): query for query in (*changed.values(), *(rows for _, rows in written))}.values())
    done = dict(zip(map(id, queries), now.replicas.engine.settle(queries, to_stay), strict=True))
    kept: dict[str, Any] = {name: done[id(query)] for name, query in changed.items()}
    return replace(now, written=(*before.written, *((name, done[id(rows)]) for name, rows in written)), **kept)


def tables_after(now: Round) -> Tables:
    """The state that the next round starts with."""
    partitions, replicas = parted(now.replicas)
    tiers = None if now.remote_segments is None else now.replicas.select(*TIER_COLUMNS)
    rest = (now.leader_epochs, now.batches, now.own_logs, now.segments, tiers, now.remote_segments, now.remote_epochs)
    return Tables(partitions, replicas, *rest)
