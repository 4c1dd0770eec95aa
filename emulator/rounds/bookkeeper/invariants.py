"""BookKeeper's invariants by name, in the order of their bits in Ledger.broken."""

from __future__ import annotations

NAMES = (
    "AllAckedEntriesAreReadable",
    "OnlyValidFragments",
    "NoOutOfOrderEntries",
    "NoDivergenceBetweenClientAndMetaData",
    "RecoveredLacCoversAcked",
    "AckedMessagesAreListed",
    "RecoveryEnds",
)
ALL_ACKED_ARE_READABLE, VALID_FRAGMENTS, IN_ORDER, NO_DIVERGENCE, LAC_COVERS_ACKED, ACKED_ARE_LISTED, RECOVERY_ENDS = range(
    len(NAMES)
)
