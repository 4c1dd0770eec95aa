"""A block of ledgers, or of topics that are lists of them, from its payload to its rows; driver and tasks call the same."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from emulator.engine.budgets.saturated import SATURATED_SCHEMA
from emulator.engine.budgets.share_bookies import NO_SHARES, Part, Shares, play_together, saturated_rows
from emulator.engine.compile_by_playing import compile_by_playing
from emulator.engine.rows import LEDGER_TABLES, blocks_row
from emulator.engine.trace_ledgers import ledger_rounds, topic_rounds
from emulator.inputs.ledger_arrays import Block, TopicBlock, read_ledger_block, read_topic_block
from emulator.outcomes.compiled_ledgers import LedgerNames, ledger_block_tables, topic_block_tables
from emulator.outcomes.compiled_ledgers.traffic import traffic_sums
from emulator.rounds.bookkeeper.play_block import Told, play
from emulator.rounds.bookkeeper.play_ledgers import play_ledgers
from emulator.rounds.bookkeeper.topics.play_block import play as play_topic_block
from emulator.rounds.bookkeeper.topics.play_topics import play_topics


def ledger_payload(names: LedgerNames, ledgers: bytes) -> bytes:
    """A block of ledgers with their names; `ledgers`: as of PreparedLedgers.payload."""
    return pickle.dumps((names, ledgers), protocol=5)


def topic_payload(names: LedgerNames, topics: bytes, spare: Sequence[Sequence[int]]) -> bytes:
    """A block of topics with their names; `topics`: as of PreparedTopics.payload, `spare`: as of topic_block_tables."""
    return pickle.dumps((names, topics, spare), protocol=5)


def play_ledger_payload(number: int, payload: Any) -> dict[str, pa.Table]:
    """Play a block of ledgers; the rows of rows.LEDGER_TABLES."""
    names, ledgers = pickle.loads(payload)
    block = read_ledger_block(ledgers)
    compile_ledgers(block)
    began = time.perf_counter()
    state, told = play(block.state, block.inputs)
    seconds = time.perf_counter() - began
    return _ledger_tables(names, block, state, told) | {
        "saturated": SATURATED_SCHEMA.empty_table(),
        "blocks": blocks_row(number, len(state.ledgers), seconds),
    }


def play_topic_payload(number: int, payload: Any) -> dict[str, pa.Table]:
    """Play a block of topics; the rows of rows.LEDGER_TABLES."""
    names, topics, spare = pickle.loads(payload)
    block = read_topic_block(topics)
    compile_topics(block)
    began = time.perf_counter()
    state, told = play_topic_block(block.state, block.inputs)
    seconds = time.perf_counter() - began
    return _topic_tables(names, block, state, told, spare) | {
        "saturated": SATURATED_SCHEMA.empty_table(),
        "blocks": blocks_row(number, len(state.topics), seconds),
    }


def sharing_payload(scenario_id: int, place: int, payloads: Sequence[tuple[bytes, int]]) -> bytes:
    """All of a scenario whose ledgers share bookies' budgets. `place`: its among the scenarios; `payloads`: of its ledgers, as of
    ledger_payload, with 0, and of its topics, as of topic_payload, with 1.
    """
    return pickle.dumps((scenario_id, place, payloads), protocol=5)


def play_sharing_payload(number: int, payload: Any) -> dict[str, pa.Table]:
    """Play what `sharing_payload` packed; the rows of rows.LEDGER_TABLES."""
    scenario_id, place, payloads = pickle.loads(payload)
    if not payloads:
        return {name: schema.empty_table() for name, schema in LEDGER_TABLES.items()}
    read = [(kind, *pickle.loads(of_kind)) for of_kind, kind in payloads]
    blocks: list[Any] = []
    for kind, _, units, *_ in read:
        blocks.append(read_topic_block(units) if kind else read_ledger_block(units))
        (compile_topics if kind else compile_ledgers)(blocks[-1])
    began = time.perf_counter()
    parts = [Part(block.state, block.inputs) for block in blocks]
    shares = play_together(parts)
    seconds = time.perf_counter() - began
    tables = []
    for (kind, names, _, *spare), block, part in zip(read, blocks, parts, strict=True):
        if kind:
            tables.append(_topic_tables(names, block, part.state, part.told(), spare[0], shares))
        else:
            tables.append(_ledger_tables(names, block, part.state, part.told(), shares))
    joined = {name: pa.concat_tables([of_part[name] for of_part in tables]) for name in tables[0]}
    return joined | {
        "saturated": saturated_rows(scenario_id, place, shares, blocks[0].inputs),
        "blocks": blocks_row(number, sum(len(part.ends) for part in parts), seconds),
    }


def _ledger_tables(names: LedgerNames, block: Block, state: Any, told: Told, shares: Shares = NO_SHARES) -> dict[str, pa.Table]:
    """What a block's ledgers have come to, their traced rounds, and their traffic; `shares`: as of ledger_rounds."""
    tables = ledger_block_tables(names, block.inputs, state, told) | ledger_rounds(names, block, shares)
    return tables | {"ledger_traffic": traffic_sums(names, told.traffic)}


def _topic_tables(
    names: LedgerNames, block: TopicBlock, state: Any, told: Told, spare: Sequence[Sequence[int]], shares: Shares = NO_SHARES
) -> dict[str, pa.Table]:
    """Likewise of a block's topics; `spare`: as of topic_block_tables."""
    tables = topic_block_tables(names, block.inputs, state, told, spare, block.traced) | topic_rounds(names, block, shares)
    return tables | {"ledger_traffic": traffic_sums(names, told.traffic)}


def compile_ledgers(block: Block, **told: Callable[[], None]) -> bool:
    """Have the rounds of ledgers compiled, where the cache does not have them yet; as of compile_by_playing."""
    return compile_by_playing(play_ledgers, lambda over: play(over, block.inputs), block.state, "ledgers", **told)


def compile_topics(block: TopicBlock, **told: Callable[[], None]) -> bool:
    """The same of the rounds of topics."""
    return compile_by_playing(play_topics, lambda over: play_topic_block(over, block.inputs), block.state, "topics", **told)
