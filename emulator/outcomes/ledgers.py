"""From the final state of ledgers to the output tables (emulator/table_columns.py has their columns)."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.expressions.bookkeeper.bookies import has, has_in_run, header_lac, lac_of, last_stored
from emulator.expressions.bookkeeper.repair.copies import is_copy
from emulator.expressions.bookkeeper.state import (
    CLOSED,
    DONE,
    ERRORS,
    EVENT_KINDS,
    FAILED,
    NOT_CLOSED,
    PENDING,
    PHASES,
    STATES,
    WRITER_STATES,
)
from emulator.expressions.bookkeeper.texts import ENTRIES_READ, OPEN_RUN, last_of
from emulator.expressions.bookkeeper.topics.columns import ROLLED_OVER_BY
from emulator.expressions.columns import struct, texts
from emulator.inputs import ScenarioInputs
from emulator.inputs.ledgers import ledger_rules_of
from emulator.outcomes.assemble import broker_rows, fault_rows
from emulator.outcomes.ledger_bytes import bytes_held, entries_held, entry_bytes, with_entry_sizes
from emulator.outcomes.ledger_violations import ledger_invariant_rows, ledger_violations
from emulator.outcomes.lists_of_ledgers import ACKED_LOST, check_rows, kept, newest, of_all_ledgers, there, topic_rows
from emulator.outcomes.names import Names, names
from emulator.outcomes.written_events import counted_and_written
from emulator.schema import OUTPUT_TABLES


def ledger_tables(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> dict[str, DataFrame | pa.Table]:
    """The output tables that follow from the final state of ledgers, by name; not yet computed.

    `state`: one row per (scenario, ledger), columns of emulator/expressions/bookkeeper/state.py.
    """
    rules, known = ledger_rules_of(inputs), names(spark, inputs)
    copies, lists = rules.repairs, rules.topics
    if lists:
        check_rows(state, inputs)
    state = state.withColumns({name: F.expr(text) for name, text in _WITH_OPEN_RUN.items()}).withColumn("ledger", F.col("slot"))
    all_ledgers, held = (there(state), kept(state)) if lists else (state, state)
    computed = {
        "partitions": _partitions(newest(state) if lists else state, known),
        "outcomes": _outcomes(state, known, lists),
        "events": _events(state, known),
        "ledgers": _ledgers(
            with_entry_sizes(spark, all_ledgers, inputs) if rules.offloads else all_ledgers, known, rules.offloads
        ),
        "fragments": _fragments(held, known),
        "entries": _entries(held, known, copies),
        "bookies": _bookies(with_entry_sizes(spark, held, inputs), known, copies),
        "ledger_clients": _clients(all_ledgers, known),
        "violations": known.add_partitions(ledger_violations(spark, all_ledgers, inputs)),
    }
    if lists:
        computed["topics"] = topic_rows(state, known)
    tables: dict[str, DataFrame | pa.Table] = {n: frame.select(OUTPUT_TABLES[n].names) for n, frame in computed.items()}
    scenarios = [i.scenario for i in inputs]
    tables |= counted_and_written(computed["events"].select(OUTPUT_TABLES["events"].names), scenarios)
    return tables | {"invariants": ledger_invariant_rows(), "brokers": broker_rows(scenarios), "faults": fault_rows(scenarios)}


_WITH_OPEN_RUN = {"runs": f"IF(run_to > run_from, concat(runs, array({OPEN_RUN})), runs)"}
"""The open run joins the others: what bookies have is read from there."""


def _members(bookies: str) -> str:
    """The bookies of an ensemble; the output's arrays hold no nulls, and Spark believes that of no stored array."""
    return f"transform({bookies}, b_ -> coalesce(b_, -1))"


def _name(names: tuple[str, ...], number: str) -> str:
    return f"get({texts(names)}, {number})"


def _partitions(state: DataFrame, known: Names) -> DataFrame:
    columns = {"replicas": _members(f"{last_of('fragments')}.ensemble"), "min_isr": "CAST(null AS INT)"}
    return known.add_partitions(state).withColumns({name: F.expr(text) for name, text in columns.items()})


_ALL_BOOKIES = (
    "array_sort(array_distinct(concat(fenced, transform(stored, o_ -> o_.bookie), flatten(transform(runs, u_ -> u_.ensemble)),"
    " coalesce(transform(copies, w_ -> w_.bookie), array()))))"
)
"""Every bookie that may have something of the ledger."""


def _ledgers(state: DataFrame, known: Names, offloads: bool) -> DataFrame:
    """`offloads`: some ledgers may be in remote storage; `state` has the sizes of entries then."""
    is_remote = "offloaded_round IS NOT NULL AND deleted_round IS NULL"
    columns = {
        "deleted_from_bookies_round": "freed_round",
        "remote_bytes": f"IF({is_remote}, {entry_bytes(ENTRIES_READ)}, 0L)" if offloads else "0L",
        **{name: f"feed.{name}" for name in ("ensemble_size", "write_quorum", "ack_quorum")},
        "state": _name(STATES, "ledger_state"),
        "last_entry": f"IF(ledger_state = {CLOSED}, last_entry, null)",
        "writer_lac": "lac",
        "error": f"IF(error = 0, null, {_name(ERRORS, 'error')})",
        "writer": _name(WRITER_STATES, "writer_state"),
        "entries_copied": "coalesce(entries_copied, 0L)",
        "underreplicated": "coalesce(size(replacements), 0)",
        "rolled_over": f"IF(rolled_over IS NULL, null, {_name(ROLLED_OVER_BY, 'rolled_over - 1')})",
    }
    return known.add_partitions(state).withColumns({name: F.expr(text) for name, text in columns.items()})


def _fragments(state: DataFrame, known: Names) -> DataFrame:
    exploded = state.select(*_KEYS, F.explode("fragments").alias("at"))
    columns = {"first_entry": "at.first_entry", "ensemble": _members("at.ensemble")}
    return known.add_partitions(exploded).withColumns({name: F.expr(text) for name, text in columns.items()})


_KEYS = ("scenario_id", "partition_id", "feed_id", "ledger")
_HOLDINGS = ("feed", "runs", "stored", "lost", "copies", "fenced", "told", "limbo")


def _entries(state: DataFrame, known: Names, copies: bool) -> DataFrame:
    """Of traced ledgers every entry that some bookie has; `copies`: whether the run made any."""
    end = "greatest(next_entry, coalesce(array_max(transform(stored, o_ -> o_.entry)) + 1, 0L))"
    rows = state.filter("traced AND next_entry > 0").select(
        *_KEYS, *_HOLDINGS, F.explode(F.expr(f"sequence(0L, {end} - 1)")).alias("entry")
    )
    holders = f"filter({_ALL_BOOKIES}, b_ -> {has('b_', 'entry', copies)})"
    rows = rows.withColumn("bookies", F.expr(holders)).filter("size(bookies) > 0")
    single = "get(filter(stored, o_ -> o_.bookie = b_ AND o_.entry = entry), 0).lac"
    run = "get(filter(runs, u_ -> u_.from_entry <= entry AND entry < u_.to_entry), 0)"
    in_run = f"IF({has_in_run('b_', 'entry')}, {header_lac(run, 'entry')}, null)"
    copied = f", get(filter(copies, w_ -> {is_copy('w_', 'b_', 'entry')}), 0).lac" if copies else ""
    lacs = f"transform(bookies, b_ -> coalesce({single}, {in_run}{copied}, -1L))"
    return known.add_partitions(rows.withColumns({"lac_stored": F.expr(lacs), "bookies": F.expr(_members("bookies"))}))


def _bookies(state: DataFrame, known: Names, copies: bool) -> DataFrame:
    rows = state.select(*_KEYS, *_HOLDINGS, "sizes", F.explode(F.expr(_ALL_BOOKIES)).alias("broker"))
    columns = {
        "last_entry": f"{last_stored('broker', copies)}.entry",
        "lac": lac_of("broker", copies),
        "is_fenced": "array_contains(fenced, broker)",
        "entries": entries_held("broker", copies),
        "bytes": bytes_held("broker", copies),
        "in_limbo": "coalesce(array_contains(limbo, broker), false)",
    }
    rows = rows.withColumns({name: F.expr(text) for name, text in columns.items()}).drop("fenced", "limbo")
    rows = rows.withColumnsRenamed({"is_fenced": "fenced", "in_limbo": "limbo"})
    return known.add_partitions(rows.filter("last_entry IS NOT NULL OR fenced"))


def _clients(state: DataFrame, known: Names) -> DataFrame:
    """Recoveries, openings and closes, in the order of their start within each kind."""
    ended = f"r_.phase IN ({DONE}, {FAILED})"
    recovery = struct(
        {
            "client": "'recovery'",
            "number": "r_.number",
            "phase": _name(PHASES, "r_.phase"),
            "last_entry": f"IF(r_.phase = {DONE}, r_.lac, null)",
            "error": f"IF({ended} OR r_.error != {PENDING}, {_name(ERRORS, 'r_.error')}, null)",
        }
    )
    opening = struct(
        {
            "client": "'reader'",
            "number": "i_",
            "phase": f"IF(o_.error = {PENDING}, {PHASES[0]!r}, {PHASES[DONE]!r})",
            "last_entry": f"IF(o_.lac = {NOT_CLOSED}, null, o_.lac)",
            "error": f"IF(o_.error = {PENDING}, null, {_name(ERRORS, 'o_.error')})",
        }
    )
    close = struct(
        {
            "client": "'close'",
            "number": "i_",
            "phase": repr(PHASES[DONE]),
            "last_entry": f"IF(ledger_state = {CLOSED}, last_entry, null)",
            "error": _name(ERRORS, "c_"),
        }
    )
    clients = (
        f"concat(transform(recoveries, r_ -> {recovery}), transform(openings, (o_, i_) -> {opening}),"
        f" transform(closes, (c_, i_) -> {close}))"
    )
    rows = state.select(*_KEYS, F.explode(F.expr(clients)).alias("at"))
    return known.add_partitions(rows.select(*_KEYS, "at.*"))


def _outcomes(state: DataFrame, known: Names, lists: bool) -> DataFrame:
    """A ledger in the columns of a partition: its LAC is the high watermark, its ensemble the ISR; the writer is no broker.

    `lists`: there are topics that are lists of ledgers, whose ledgers count together.
    """
    zero = "0L"
    end = f"IF(ledger_state = {CLOSED}, last_entry + 1, next_entry)"
    of_ledger = {
        "appended": "next_entry - first_own_entry",
        "acked": "lac + 1 - first_own_entry",
        "acked_lost": ACKED_LOST,
        "refused": "refused_fenced + refused_closed + failed_adds",
        "elections": "ensemble_changes",
        "hw": "lac + 1",
        "leo": end,
    }
    of_topic = {"leaderless_rounds": "topic_unwritable_rounds", "unwritable_rounds": "topic_unwritable_rounds"}
    of_topic |= {"unacked_rounds": "topic_unacked_rounds", "leader_epoch": "parts"}
    columns = of_ledger | {
        "leaderless_rounds": "unwritable_rounds",
        "unwritable_rounds": "unwritable_rounds",
        "unacked_rounds": "unacked_rounds",
        "leader": "-1",
        "leader_epoch": "size(fragments)",
        "isr": f"array_sort({_members(last_of('fragments') + '.ensemble')})",
        "elr": "transform(filter(array(0), b_ -> false), b_ -> coalesce(b_, -1))",
    }
    if lists:
        state = of_all_ledgers(state, of_ledger)
        columns |= {name: f"all_{name}" for name in of_ledger}
        columns |= {name: f"IF(list_version IS NULL, {columns[name]}, {text})" for name, text in of_topic.items()}
    fields = OUTPUT_TABLES["outcomes"].fields
    texts = {f.name: columns.get(f.name, zero) for f in fields if f.name not in ("scenario_id", "topic", "partition")}
    typed = {name: F.expr(text).cast(OUTPUT_TABLES["outcomes"][name].dataType) for name, text in texts.items()}
    return known.add_partitions(state.drop("error")).withColumns(typed)


def _events(state: DataFrame, known: Names) -> DataFrame:
    rows = state.filter("size(events) > 0").select(*_KEYS, "list_version", F.explode("events").alias("at"))
    columns = {
        "round": "at.round",
        "kind": _name(EVENT_KINDS, "at.kind"),
        "broker": "at.bookie",
        "leader_epoch": "CAST(null AS INT)",
        "from_offset": "at.from_offset",
        "to_offset": "at.to_offset",
        "cause": "CAST(null AS INT)",
        "ledger": f"IF(list_version IS NULL OR at.kind = {EVENT_KINDS.index('take_over')}, null, ledger)",
    }
    return known.add_partitions(rows).withColumns({name: F.expr(text) for name, text in columns.items()})


def no_trace(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> dict[str, DataFrame]:
    """Rounds of ledgers are not recorded yet."""
    return {}
