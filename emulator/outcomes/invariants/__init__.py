"""What runs are held against: the rows of the table `invariants`.

Rounds look at them in code, and tell where one is broken: emulator/rounds/kafka/check_invariants.py, tier/check_tiers.py,
leaderships.py (elections), finish.py (the end), reading/check_reads.py; emulator/rounds/bookkeeper/check_invariants.py. The
predicates say in SQL what is looked for: of what a round knows of a replica or ledger, of an election, or of a read. What excuses
a row, and what makes it one of kind suspect, is in docs/invariants.md.
"""

from __future__ import annotations

from emulator.outcomes.invariants.invariant import Invariant, invariant_table
from emulator.outcomes.invariants.of_groups import OF_GROUPS
from emulator.outcomes.invariants.of_ledgers import OF_LEDGERS
from emulator.outcomes.invariants.of_partitions import OF_PARTITIONS, OF_READS

__all__ = ["OF_GROUPS", "OF_LEDGERS", "OF_PARTITIONS", "OF_READS", "Invariant", "invariant_table"]
