"""The Kafka round as a page of queries: each verb with its sentence of docs/kafka_rounds.md."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable

from emulator.errors import InputError, did_you_mean, listing
from emulator.rounds.relational.kafka_round import OF_CONTROLLERS, VERBS
from emulator.rounds.relational.page.example import one_round
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
    "start_reassignment": (2, "Replicas := R, then those that R lacks, by broker id."),
    "complete_reassignment": (2, "when all replicas but the removed ones are in the ISR"),
    "begin_leadership": (2, "T, T_epoch := it; every other replica's remote LEO is unknown"),
    "tell": (2, "T is *ready* (knows that it leads) at once unless `untold`"),
    "append": (3, "T appends if running, ready and not `clients_cut`."),
    "delete_records": (3, "log start := offset when log start < offset <= hw; else nothing."),
    "remember_logs": (
        0,
        "what the log of the leader before held (and lost since by damage or cuts, or with its replica by a reassignment) "
        "and the new one's does not, of a tiered log the remote part like the rest.",
    ),
    "keep_batches": (3, "Batches of the workload rows in force, in file order."),
    "keep_caches_of_leaders": (3, "When it becomes ready it takes (T_epoch, leo) into its cache."),
    "keep_epochs_of_appends": (3, "a new leader does not put its epoch into its cache; the entry comes with its first append."),
    "keep_segments_of_leaders": (
        3,
        "A segment is rolled as in step 3 of the plain round, by bytes and by the age of its first chunk",
    ),
    "request_fetch": (4, "sends (leo, last epoch of its cache, believed epoch) to B, if its message is not dropped."),
    "answer_fetches": (4, "B answers if it runs and *was* a ready leader at the round's start"),
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
    "write_checkpoints": (
        9,
        "in rounds in which the checkpoint is due, running replicas: checkpoint := hw; flush.ms likewise.",
    ),
    "count_outcomes": (10, "under min ISR: |ISR| < min ISR; under replicated: |ISR| < |replicas|."),
    "keep_caches_of_followers": (7, "cache entries at or above it go"),
    "keep_segments_of_followers": (7, "A truncation goes back into the segment it cuts, which is active again, with its old age"),
    "write_down": (10, "Causes of events: of isr_shrink, isr_expand, truncate and log_damaged that of the broker"),
    "end_round": (10, "Replica state at the *start* of the round is what the previous round left"),
}
"""Verb -> its step (0: none), and a sentence of docs/kafka_rounds.md or docs/tiered_rounds.md; a test looks for each there."""


_TIERS, _SEGMENTS, _OLDER = "tiered storage", "segments may be deleted", "generations before KIP-320"
ONLY = {
    "append_last_moments": "a broker is killed in the round",
    "take_commands": "a preferred_leader_election in the round",
    **dict.fromkeys(("start_reassignment", "complete_reassignment"), "reassignments"),
    "delete_records": "the command in the round",
    "ask_for_recovery": "eligible leader replicas",
    **dict.fromkeys(("keep_epochs_at_start", "cut_learned"), _OLDER),
    "keep_epochs_of_appends": "logs are kept beside caches (`own_logs`)",
    **dict.fromkeys(("keep_segments_of_leaders", "delete_old_segments", "keep_segments_of_followers"), _SEGMENTS),
    **dict.fromkeys(("read_metadata", "build_remote_state", "forget_stale_questions", "run_tier_tasks"), _TIERS),
}
"""Verbs that do nothing in most runs or rounds, and where they do: they stand behind the others on the page."""
AT_A_GLANCE = """## The round at a glance

In the order in which a round plays them. Steps are those of [kafka_rounds.md](kafka_rounds.md). A verb stands
where what it needs is there, and where it is needed: epochs and segments follow their logs twice, when all of
steps 1 to 3 is done, since followers ask for them in step 4, and at the end.
"""
BEHIND = """## What only some runs or rounds have

The verbs from here on do nothing elsewhere. In a round they stand where the table at the top has them.
"""


def verbs() -> list[Callable[..., object]]:
    """The verbs of a round in their order, each once."""
    return list(dict.fromkeys(verb for verb in VERBS if not isinstance(verb, str)))


def page(wanted: str | None = None) -> str:
    """All verbs as Markdown, those of every round first, or those whose names have `wanted` in them.

    What several verbs use stands at the end, or behind the first of those that are wanted.
    Raises InputError when there is none.
    """
    names = [verb.__name__ for verb in verbs()]
    chosen = [verb for verb in verbs() if wanted is None or wanted in verb.__name__]
    if not chosen:
        raise InputError(
            f"--verb: no verb has {wanted!r} in its name{did_you_mean(wanted or '', names)}; allowed: {listing(names)}"
        )
    chosen.sort(key=lambda verb: verb.__name__ in ONLY)
    functions = [begin_round, *chosen] if wanted is None else chosen
    used = {function: [piece for piece in pieces_of(function) if piece.name not in names] for function in functions}
    times = Counter(piece for pieces in used.values() for piece in pieces)
    shared = list(dict.fromkeys(piece for pieces in used.values() for piece in pieces if times[piece] > 1))
    sections, shown = [] if wanted is not None else [PAGE_HEAD, one_round(), _at_a_glance()], set[Piece]()
    for function, pieces in used.items():
        own = [piece for piece in pieces if times[piece] == 1 or (wanted is not None and piece not in shown)]
        shown.update(own)
        if wanted is None and function.__name__ in ONLY and BEHIND not in sections:
            sections.append(BEHIND)
        sections.append(_section(function, own))
    if wanted is None:
        sections.append(f"## What several of them use\n\n{_code(shared)}")
    return "\n".join(sections)


def _at_a_glance() -> str:
    """All verbs in their order, and where tables are worked out between them."""
    rows = ["| step | verb | what it does | only where |", "|---|---|---|---|"]
    for verb in VERBS:
        if isinstance(verb, str):
            rows.append("| | *settled* | all tables are worked out | |")
            continue
        step, name = SENTENCES[verb.__name__][0], verb.__name__
        does = (inspect.getdoc(verb) or "").partition("\n")[0]
        calm = "not in calm rounds" if verb in OF_CONTROLLERS else ""
        anchor = _title(name).replace(",", "").replace(" ", "-")
        rows.append(f"| {step or ''} | [{name}](#{anchor}) | {does} | {ONLY.get(name, calm)} |")
    return "\n".join([AT_A_GLANCE, *rows, ""])


def _title(name: str) -> str:
    """The heading of a verb."""
    step = SENTENCES[name][0]
    return f"{name}, step {step}" if step else name


def _section(function: Callable[..., object], own: list[Piece]) -> str:
    """A verb under its rule, and what it alone uses."""
    saying, itself = Piece.of(function).parted()
    if function is begin_round:
        return f"## begin_round, before the first verb\n\n{saying}\n\n{_code([itself, *own])}"
    where = f"\n\nOnly where: {ONLY[itself.name]}." if itself.name in ONLY else ""
    return f"## {_title(itself.name)}\n\n> {SENTENCES[itself.name][1]}\n\n{saying}{where}\n\n{_code([itself, *own])}"


def _code(pieces: list[Piece]) -> str:
    """Constants close to each other, functions two lines apart."""
    text = ""
    for before, piece in zip([None, *pieces], pieces, strict=False):
        close = before is not None and not before.is_function and not piece.is_function
        text += ("" if before is None else "\n" if close else "\n\n\n") + piece.text
    return f"```python\n{text}\n```\n"
