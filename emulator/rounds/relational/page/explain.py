"""The Kafka round as a page of queries: each verb with its sentence of docs/kafka_rounds.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from emulator.errors import InputError, did_you_mean, listing
from emulator.rounds.relational.kafka_round import VERBS
from emulator.rounds.relational.page.head import PAGE_HEAD
from emulator.rounds.relational.page.sources import Piece, pieces_of
from emulator.rounds.relational.tables import begin_round

SENTENCES = {
    "append_last_moments": (1, "A broker that dies takes along what its followers had not fetched yet."),
    "take_inputs": (1, "Commands and settings of round r take effect."),
    "read_metadata": (1, "Others read in step 1 of round r what was written before round r - lag."),
    "keep_epochs_at_start": (4, "B answers under the same conditions, from its log of the round's start."),
    "fence": (2, "`isr1` = ISR without fenced members"),
    "elect": (2, "Stage 1, when leader is -1 or fenced (or no longer a replica)"),
    "take_commands": (2, "Commands then: `preferred_leader_election`"),
    "elect_preferred": (2, "if the first replica in order is in the ISR, unfenced and not the leader: it leads, epoch + 1."),
    "start_reassignment": (2, "adding = R minus current; order = R then the rest; the new ones start empty, out of the ISR."),
    "complete_reassignment": (2, "replicas = R, ISR = ISR within R, leader kept if in R"),
    "begin_leadership": (2, "T, T_epoch := it; every other replica's remote LEO is unknown"),
    "tell": (2, "When it becomes ready it takes (T_epoch, leo) into its cache."),
    "append": (3, "T appends if running, ready and not `clients_cut`."),
    "delete_records": (3, "log start := offset when log start < offset <= hw; else nothing."),
    "remember_logs": (0, "what the log of the leader before held and the new one's does not."),
    "keep_batches": (3, "Batches of the workload rows in force, in file order."),
    "keep_caches_of_leaders": (3, "When it becomes ready it takes (T_epoch, leo) into its cache."),
    "keep_epochs_of_appends": (3, "a new leader does not put its epoch into its cache; the entry comes with its first append."),
    "keep_segments_of_leaders": (
        3,
        "A segment is rolled as in step 3 of the plain round, by bytes and by the age of its first chunk",
    ),
    "request_fetch": (4, "sends (leo, last epoch of its cache, believed epoch) to B, if its message is not dropped."),
    "note_fetches": (4, "Else the fetch is *noted*, if B = T and the epoch is T_epoch"),
    "ask_for_recovery": (2, "the controller asks the replicas (balanced: those in LK) in this round."),
    "judge_followers": (5, "Join: noted in this round, unfenced, a replica, not a member of the ISR T knows nor pending"),
    "shrink_and_expand_isr": (5, "confirmed now, with what was pending"),
    "advance_high_watermark": (6, "m1 = min of their remote LEOs (unknown = 0) and T's leo."),
    "drop_answers": (7, "if the message B -> follower is not dropped."),
    "choose_batches": (7, "batches within L, at least one, of B's log after step 3"),
    "take_answers": (7, "Diverging (e, end): leo := min(leo, end, own end offset for e)"),
    "truncate_diverging": (7, "a cut at or below the active segment's base starts an empty segment at the new LEO"),
    "append_fetched": (7, "hw := min(leo, B's hw): of the round's start if data came"),
    "build_remote_state": (7, "cache := the segment's checkpoint cut to [log start, start)."),
    "learn": (8, "Every replica that is not `deaf` now believes the controller's (leader, epoch)."),
    "cut_learned": (8, "cuts to min(leo, hw) at once, in the step that would make it truncating, and never is."),
    "forget_stale_questions": (
        8,
        "What it was building is forgotten when it restarts, learns of another leader or epoch, or leads.",
    ),
    "run_tier_tasks": (9, "Then, for all running replicas, expiry tasks, then copy tasks, then follower tasks"),
    "delete_old_segments": (9, "first what ends at or below the local log start, then by size, then by age."),
    "checkpoint": (9, "in rounds divisible by the checkpoint period, running replicas: checkpoint := hw; flush.ms likewise."),
    "count_outcomes": (10, "under min ISR: |ISR| < min.insync.replicas; under replicated: |ISR| < |replicas|."),
    "keep_caches_of_followers": (7, "cache entries at or above it go"),
    "keep_segments_of_followers": (7, "A truncation goes back into the segment it cuts, which is active again, with its old age"),
    "write_down": (10, "Damage shows as loss at the next election, with its cause."),
    "end_round": (10, "A *round* `r` lasts `round_ms`."),
}
"""Verb -> its step (0: none), and a sentence of docs/kafka_rounds.md or docs/tiered_rounds.md; a test looks for each there."""


def verbs() -> list[Callable[..., object]]:
    """The verbs of a round in their order, each once."""
    return list(dict.fromkeys(verb for verb in VERBS if not isinstance(verb, str)))


def page(wanted: str | None = None) -> str:
    """All verbs as Markdown, or those whose names have `wanted` in them.

    What several verbs use stands at the end, or behind the first of those that are wanted.
    Raises InputError when there is none.
    """
    names = [verb.__name__ for verb in verbs()]
    chosen = [verb for verb in verbs() if wanted is None or wanted in verb.__name__]
    if not chosen:
        raise InputError(
            f"--verb: no verb has {wanted!r} in its name{did_you_mean(wanted or '', names)}; allowed: {listing(names)}"
        )
    functions = [begin_round, *chosen] if wanted is None else chosen
    used = {function: [piece for piece in pieces_of(function) if piece.name not in names] for function in functions}
    times = Counter(piece for pieces in used.values() for piece in pieces)
    shared = list(dict.fromkeys(piece for pieces in used.values() for piece in pieces if times[piece] > 1))
    sections, shown = [] if wanted is not None else [PAGE_HEAD], set[Piece]()
    for function, pieces in used.items():
        own = [piece for piece in pieces if times[piece] == 1 or (wanted is not None and piece not in shown)]
        shown.update(own)
        sections.append(_section(function, own))
    if wanted is None:
        sections.append(f"## What several of them use\n\n{_code(shared)}")
    return "\n".join(sections)


def _section(function: Callable[..., object], own: list[Piece]) -> str:
    """A verb under its rule, and what it alone uses."""
    saying, itself = Piece.of(function).parted()
    if function is begin_round:
        return f"## begin_round, before the first verb\n\n{saying}\n\n{_code([itself, *own])}"
    step, sentence = SENTENCES[itself.name]
    where = f", step {step}" if step else ""
    return f"## {itself.name}{where}\n\n> {sentence}\n\n{saying}\n\n{_code([itself, *own])}"


def _code(pieces: list[Piece]) -> str:
    """Constants close to each other, functions two lines apart."""
    text = ""
    for before, piece in zip([None, *pieces], pieces, strict=False):
        close = before is not None and not before.is_function and not piece.is_function
        text += ("" if before is None else "\n" if close else "\n\n\n") + piece.text
    return f"```python\n{text}\n```\n"
