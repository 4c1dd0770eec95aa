"""What a run was: tables of the run itself, its scenarios, faults and brokers."""

from __future__ import annotations

from emulator.table_columns.columns import BROKER, FLAG, INT, LONG, SCENARIO, TEXT, Column, table

RUNS_TABLES: dict[str, tuple[Column, ...]] = {
    "runs": table(
        Column("run_id", TEXT, "id of the run that wrote these tables"),
        Column("name", TEXT, "name in the scenario file"),
        Column("scenario_path", TEXT, "where the scenario file was read from"),
        Column("scenario_text", TEXT, "the scenario file, whole"),
        Column("seed", LONG, "seed of everything drawn at random"),
        Column("versions", TEXT, "JSON object: versions of the emulator and of what it ran on"),
        Column("started_at", "timestamp", "time the run started"),
        Column("seconds", "double", "seconds the run took"),
        Column("replica_rounds", LONG, "rounds emulated, summed over replicas"),
        Column("scenario_folder", TEXT, "folder that paths in the scenario file are relative to"),
        Column(
            "scenario_files",
            "map<string,string>",
            "files that the scenario file names, by absolute path: the SHA-256 of what was read",
        ),
        Column(
            "shared_fetchers",
            "array<int>",
            "scenarios, by scenario_id, in which partitions share fetchers, since some had more to bring than they can",
        ),
    ),
    "scenarios": table(
        SCENARIO,
        Column("name", TEXT, '"base" or the name of the variant'),
        Column("protocol", TEXT, "protocol emulated"),
        Column("rounds", INT, "rounds emulated"),
        Column("round_ms", INT, "milliseconds a round stands for"),
        Column("mode", TEXT, "plain or leap; the result is the same"),
        Column(
            "overrides",
            "map<string,string>",
            "what the variant sets, by dotted path; each is a column of that name as well",
        ),
        Column("event_kinds", "array<string>", "kinds of events that table events has of the scenario; null: all", True),
    ),
    "faults": table(
        SCENARIO,
        Column("fault_id", INT, "fault, as events.cause names it"),
        Column("kind", TEXT, "fault kind"),
        Column("from_round", INT, "first round of the fault"),
        Column("to_round", INT, "first round after the fault; null: until the end", True),
        Column("broker", INT, "broker id; null: not about one broker", True),
        Column("peer", INT, "broker id at the other end of the link; null: no link fault", True),
        Column("direction", TEXT, "both, out or in, seen from broker; null: no link fault", True),
        Column("rack", TEXT, "rack that the fault strikes; null: not about a rack", True),
        Column("topic", TEXT, "topic concerned; null: all", True),
        Column("partition", INT, "partition concerned; null: all", True),
        Column("bytes_per_second", LONG, "bytes per second left by a slow link, disk or remote store; null: no such fault", True),
        Column("clients", FLAG, "whether an isolation cuts clients too; null: no isolation", True),
        Column(
            "lag_rounds",
            INT,
            "rounds by which news come late (stale_metadata, remote_metadata_lag); null: none come, or another kind",
            True,
        ),
        Column("name", TEXT, "name given to the fault; null: none", True),
        Column("from_offset", LONG, "offset: first entry concerned (drop_adds, delay_adds); null: the first", True),
        Column("to_offset", LONG, "offset: first entry not concerned any more; null: none", True),
        Column("power", FLAG, "whether a rack lost its power, and what was not flushed; null: no rack_loss that says so", True),
        Column("round_trip_ms", "double", "milliseconds that a fetch over a slow link takes at least; null: no such fault", True),
        Column(
            "moment",
            "double",
            "fraction of its first round at which it stops the broker, 1: after the append; null: at its start, or no such fault",
            True,
        ),
    ),
    "brokers": table(SCENARIO, BROKER, Column("rack", TEXT, "rack the broker stands in; null: none", True)),
}
