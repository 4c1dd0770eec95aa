"""From what compiled rounds of groups leave of a block to rows of the contract's tables; no Spark here."""

from emulator.outcomes.compiled_groups.tables import BLOCK_TABLES, TABLES, group_block_tables

__all__ = ["BLOCK_TABLES", "TABLES", "group_block_tables"]
