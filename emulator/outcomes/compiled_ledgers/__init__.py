"""From what compiled rounds of ledgers leave of a block to rows of the contract's tables; no Spark here."""

from emulator.outcomes.compiled_ledgers.names import LedgerNames, ledger_names
from emulator.outcomes.compiled_ledgers.tables import BLOCK_TABLES, TABLES, ledger_block_tables
from emulator.outcomes.compiled_ledgers.topics import topic_block_tables

__all__ = ["BLOCK_TABLES", "TABLES", "LedgerNames", "ledger_block_tables", "ledger_names", "topic_block_tables"]
