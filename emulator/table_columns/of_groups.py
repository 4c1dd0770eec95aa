"""What became of groups that commit by quorums."""

from __future__ import annotations

from emulator.table_columns.columns import INT, LONG, PLACE, Column, table

LATENCIES = "array<struct<rounds:int,records:bigint>>"

GROUPS_TABLES: dict[str, tuple[Column, ...]] = {
    "groups": table(
        *PLACE,
        Column("copies", INT, "servers (N); of raft the members at the end"),
        Column("acks_needed", INT, "servers that must have a record, the leader among them; of pacifica: at the end"),
        Column("record_bytes", "double", "mean bytes of a record of its workload; null: there is none", True),
        Column("sent_entries", LONG, "entries that leaders sent to other servers, and that got there"),
        Column("written_entries", LONG, "entries that servers appended to their logs, empty ones and configurations included"),
        Column(
            "latencies",
            LATENCIES,
            "how many records were acknowledged so many rounds after they were appended; from 64 on the least of a range",
        ),
    ),
}
