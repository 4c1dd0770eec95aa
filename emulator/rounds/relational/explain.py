"""The Kafka round as a page of queries: each verb with its sentence of docs/kafka_rounds.md."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator

from emulator.errors import InputError, did_you_mean, listing

from .kafka_round import VERBS

PACKAGE = __package__ or ""
HELPERS = ("emulator.rounds.relational.tables", "emulator.rounds.relational.queries")
"""Modules whose functions are the words of all verbs: `over`, `of_leader`, `join`, `where`."""

SENTENCES = {
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

PAGE_HEAD = """# The Kafka round as queries

What `emulator run --engine relational` does in a round, verb after verb: made by `emulator explain-round kafka`. Tables are
queries that are made step by step as DataFrames are (`join`, `where`, `with_columns`, `group_by`), of expressions in Spark's SQL.
`now.replicas` has a row a replica, with the columns of its partition, its settings and what the faults say of its broker;
`over(...)` is a window over all rows of a partition. The fetch is the join in `request_fetch`, the high watermark the group_by
in `advance_high_watermark`, the lookup of an epoch's end the window in `epoch_ends`.

For who knows Spark and not Kafka:

| in the code | what it is |
|---|---|
| replica, `pid`, `broker` | a copy of partition `pid` on one broker, a row of `now.replicas` |
| `position` | its place in the partition's list of replicas; null: it is not on it (any more, or yet) |
| `leo`, log end offset | where the replica's log ends: the offset of its next record |
| `hw`, high watermark | up to where the leader knows all members of the ISR to have the log; what is below it is committed |
| ISR, `in_isr` | the replicas that keep up, of which the controller elects; `in_elr`: those that left while it was too small |
| controller, `leader`, `leader_epoch` | who decides who leads, and its decisions, numbered |
| T, `client_leader`, `client_epoch` | whom clients take for the leader, and with which epoch it was elected |
| `believed_leader`, `believed_epoch` | what the replica itself takes for true: it may be late |
| `leader_epochs`, cache | of each replica, at which offset which epoch began: how two logs find where they part |
| `deaf` | cut off from the controller: offline, paused, isolated, or its metadata is stale |
| `untold` | deaf, or was until now: it does not hear in time that it leads |

A verb takes the round's tables and gives them back; of the columns in one `with_columns` all see the values before.
Nothing is worked out inside a verb but where it says `settled`: between some of them all tables are. Spark does it (with
`--master`, `--remote` or `--conf`, and for more than a million replicas), or DuckDB in this process, which plans such queries in
a hundredth of the time; both have the same text of a rule, and give the same tables.

Rounds in which the inputs give a controller nothing to do (no fault, setting or command begins or ends in them or the two
before) do without `fence` to `tell`, `remember_logs` and `keep_caches_of_leaders`.

The rules are those of [kafka_rounds.md](kafka_rounds.md), with Kafka's older generations, and of
[tiered_rounds.md](tiered_rounds.md) as far as retention and KIP-405's scenarios 1 to 3 need them (leaders copy, replicas
delete what is copied, a follower starts from remote metadata). What only some runs have (`truncating.py` for generations
before KIP-320, `segments.py`, `tiers.py` and `building.py`) is left out of a round's plan elsewhere.
Mutants, consumers, shared bandwidth, and of tiered storage expiry, outages, disabling, unclean elections and the policies of
later KIPs are not here, and are refused by name. `emulator check DIR --sample N` plays some partitions of a finished run once
more by these rounds and compares every cell of outcomes, events, final state and trace. It leaves out, by name, partitions
that may have last moments of leaders, and those of which a replica begins with records of its leader's epoch that the leader
lacks: a record here is its epoch and offset, and there are two such then.
"""


def verbs() -> list[Callable[..., object]]:
    """The verbs of a round in their order, each once."""
    return list(dict.fromkeys(verb for verb in VERBS if not isinstance(verb, str)))


def page(wanted: str | None = None) -> str:
    """All verbs as Markdown, or those whose names have `wanted` in them.

    Raises InputError when there is none.
    """
    names = [verb.__name__ for verb in verbs()]
    chosen = [verb for verb in verbs() if wanted is None or wanted in verb.__name__]
    if not chosen:
        raise InputError(
            f"--verb: no verb has {wanted!r} in its name{did_you_mean(wanted or '', names)}; allowed: {listing(names)}"
        )
    head = [PAGE_HEAD] if wanted is None else []
    shown: set[str] = set(names)
    return "\n".join([*head, *(_section(verb, shown) for verb in chosen)])


def _section(verb: Callable[..., object], shown: set[str]) -> str:
    step, sentence = SENTENCES[verb.__name__]
    where = f", step {step}" if step else ""
    code = "\n\n\n".join(_source(function) for function in (verb, *_parts(verb, shown)))
    saying = inspect.getdoc(verb) or ""
    return f"## {verb.__name__}{where}\n\n> {sentence}\n\n{saying}\n\n```python\n{code}\n```\n"


def _parts(function: Callable[..., object], shown: set[str]) -> Iterator[Callable[..., object]]:
    """The functions of these rounds that a verb is made of and that were not shown before, in the order of their use."""
    for name in inspect.unwrap(function).__code__.co_names:
        part = getattr(inspect.getmodule(function), name, None)
        if not inspect.isfunction(part) or name in shown or not part.__module__.startswith(PACKAGE) or part.__module__ in HELPERS:
            continue
        shown.add(name)
        yield part
        yield from _parts(part, shown)


def _source(function: Callable[..., object]) -> str:
    """A function's text; a verb's docstring stands above it already."""
    text = textwrap.dedent(inspect.getsource(function))
    first = ast.parse(text).body[0]
    assert isinstance(first, ast.FunctionDef)
    if first.name.startswith("_") or not isinstance(first.body[0], ast.Expr) or len(first.body) < 2:
        return text.rstrip()
    lines = text.splitlines()
    del lines[first.body[0].lineno - 1 : first.body[0].end_lineno]
    return "\n".join(lines).rstrip()
