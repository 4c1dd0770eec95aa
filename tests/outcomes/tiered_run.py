"""A month of three small fleets, written by hand: a round is an hour, so that bytes times rounds / 730 are byte-months."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
MONTH_ROUNDS = 730
HOUR_MS = 3_600_000

PRICES = """
currency = "EUR"
[fleet]
instance = "box"
volume = "disk"
volume_bytes = 4000000000
disk_used_share = 0.5
network_busy_share = 0.5
disk_busy_share = 0.5
[store]
storage = "store"
put = "put"
get = "get"
list = "list"
delete = "delete"
part_bytes = 100000000
puts_per_copy = 4
gets_per_aux_state = 2
gets_per_remote_read = 1
gets_per_index_miss = 3
deletes_per_segment = 3
[network]
cross_rack = "racks"
[[prices]]
item = "box"
kind = "instance"
price = 2.0
unit = "hour"
network_bytes_per_second = 4000
disk_bytes_per_second = 1000
source = "a quote's \\\\ line"
date = "2025-01"
""" + "".join(
    f'[[prices]]\nitem = "{item}"\nkind = "{kind}"\nprice = {price}\nunit = "{unit}"\nsource = "a quote"\ndate = "2025-01"\n'
    for item, kind, price, unit in (
        ("disk", "volume", 0.1, "GB-month"),
        ("other disk", "volume", 0.9, "GiB-month"),
        ("store", "object_storage", 0.01, "GB-month"),
        ("put", "put", 4.0, "1000 requests"),
        ("get", "get", 0.001, "request"),
        ("list", "list", 5.0, "1000 requests"),
        ("delete", "delete", 0, "1000 requests"),
        ("racks", "cross_rack", 0.02, "GB"),
    )
)


def tables() -> dict[str, list[Row]]:
    """Scenario 0 keeps all on disks, 1 has remote storage, 2 lasts a tenth of the month and has one broker."""
    scenarios = [("base", MONTH_ROUNDS), ("tiered", MONTH_ROUNDS), ("short", MONTH_ROUNDS // 10)]
    fixed = {"protocol": "kafka", "round_ms": HOUR_MS, "mode": "leap", "overrides": {}}
    partitions = [("t", 0, [1, 2]), ("t", 1, [2, 3]), ("u", 0, [1, 2, 3])]
    return {
        "scenarios": [
            {"scenario_id": at, "name": name, "rounds": rounds, **fixed} for at, (name, rounds) in enumerate(scenarios)
        ],
        "brokers": [
            {"scenario_id": s, "broker": b, "rack": rack} for s in range(3) for b, rack in ((1, "a"), (2, "b"), (3, "a"))
        ],
        "partitions": [
            {"scenario_id": s, "topic": topic, "partition": number, "replicas": replicas[: 2 if s == 2 else 3]}
            for s in range(3)
            for topic, number, replicas in partitions
        ],
        "broker_rounds": _broker_rounds(),
        "outcomes": _outcomes(),
        "replicas": _replicas(),
        "events": _events(),
        "remote_segments": [*_segments_of_t0(), *_segments_of_t1()],
    }


def _broker_rounds() -> list[Row]:
    """1,000 bytes/s into each broker, 500 bytes/s out: a bucket of 365 hours has 1,314,000 s."""
    local = {0: {1: (4, 8), 2: (6, 6), 3: (2, 10)}, 1: {1: (1, 2), 2: (2, 2), 3: (1, 2)}}
    crossing = {1: (500_000_000, 500_000_000), 2: (1_000_000_000, 0), 3: (0, 0)}
    rows = [
        {
            "scenario_id": scenario,
            "broker": broker,
            "from_round": 365 * at,
            "to_round": 365 * (at + 1),
            "bytes_in": 1_314_000_000,
            "bytes_out": 657_000_000,
            "cross_rack_bytes_out": crossing[broker][at],
            "local_bytes": gigabytes[at] * 10**9,
            "up": True,
            "up_rounds": 365,
        }
        for scenario, brokers in local.items()
        for broker, gigabytes in brokers.items()
        for at in range(2)
    ]
    return [*rows, {"scenario_id": 2, "broker": 1, "from_round": 0, "to_round": 73, "local_bytes": 4 * 10**9, "up": True}]


def _outcomes() -> list[Row]:
    tier = {"remote_copy_errors": 2, "remote_copied_again_bytes": 500_000_000, "moved_to_tiered_storage": 1}
    requests = {"aux_state_downloads": 3, "remote_list_requests": 40, "remote_delete_requests": 1}
    special: dict[tuple[int, str, int], Row] = {
        (0, "t", 0): {"acked_lost": 7, "committed_lost": 5, "leaderless_rounds": 3},
        (0, "u", 0): {"leaderless_rounds": 2},
        (1, "t", 0): {"leader": 1, "leader_epoch": 2, "leaderless_rounds": 1, **tier, **requests},
        (1, "t", 1): {"leader": 2, "leader_epoch": 0},
    }
    places = [(s, topic, number) for s in range(3) for topic, number in (("t", 0), ("t", 1), ("u", 0))]
    rows = [dict(zip(("scenario_id", "topic", "partition"), place, strict=True)) for place in places]
    return [{**row, "leader": 1, **special.get(place, {})} for row, place in zip(rows, places, strict=True)]


def _replicas() -> list[Row]:
    """In scenario 1; a record has 10 MB."""
    columns = ("partition", "broker", "in_isr", "log_start_offset", "local_log_start_offset", "leo", "local_bytes")
    rows: list[tuple[Any, ...]] = [
        (0, 1, True, 10, 200, 300, 1_000_000_000),
        (0, 2, True, 0, 250, 300, 500_000_000),
        (1, 2, True, 0, 0, 200, 2_000_000_000),
        (1, 3, False, 0, 0, 100, 1_000_000_000),
    ]
    return [{"scenario_id": 1, "topic": "t", "role": "follower", **dict(zip(columns, row, strict=True))} for row in rows]


def _events() -> list[Row]:
    columns = ("topic", "partition", "round", "kind", "broker", "from_offset", "to_offset")
    rows = [
        ("t", 0, 300, "local_delete", 1, 100, 200),
        ("t", 0, 301, "local_delete", 2, 100, 250),
        ("t", 0, 100, "isr_shrink", 2, None, 90),
        ("t", 0, 150, "unfenced", 2, None, None),
        ("t", 0, 152, "aux_state_built", 2, 0, 200),
        ("t", 0, 160, "isr_expand", 2, 200, 260),
        ("t", 1, 20, "isr_shrink", 3, None, 40),
        ("t", 1, 25, "isr_expand", 3, 0, 45),
        ("t", 1, 698, "log_damaged", 3, 150, 0),
        ("t", 1, 700, "isr_shrink", 3, 0, 0),
        ("u", 0, 40, "isr_expand", 3, None, None),
    ]
    return [{"scenario_id": 1, **dict(zip(columns, row, strict=True))} for row in rows]


_SEGMENT = ("segment", "base_offset", "end_offset", "bytes", "stored_bytes", "state", "broker", "leader_epoch")
_ROUNDS = ("started_round", "copied_round", "deleted_round", "in_lineage")
GB = 10**9


def _segments(partition: int, rows: list[tuple[Any, ...]]) -> list[Row]:
    place = {"scenario_id": 1, "topic": "t", "partition": partition}
    return [{**place, **dict(zip((*_SEGMENT, *_ROUNDS), row, strict=True))} for row in rows]


def _segments_of_t0() -> list[Row]:
    """There since before the run; on disks up to round 300; still on disks; expired; given up by the leader before."""
    return _segments(
        0,
        [
            (0, 0, 99, GB, GB, "COPY_FINISHED", 1, 0, None, None, None, True),
            (1, 100, 199, GB, GB, "COPY_FINISHED", 1, 0, 9, 10, None, True),
            (2, 200, 299, GB, GB, "COPY_FINISHED", 1, 2, 399, 400, None, True),
            (3, 0, 49, GB // 2, 0, "DELETE_FINISHED", 1, 0, 0, 0, 100, False),
            (4, 200, 299, GB, GB // 10, "COPY_STARTED", 2, 1, 365, None, None, True),
        ],
    )


def _segments_of_t1() -> list[Row]:
    """Outside the lineage; being deleted; being copied; finished after its deletion."""
    return _segments(
        1,
        [
            (0, 0, 199, 2 * GB, 2 * GB, "COPY_FINISHED", 2, 0, 72, 73, None, False),
            (1, 0, 99, GB, GB, "DELETE_STARTED", 2, 0, 128, 129, None, True),
            (2, 100, 199, GB, GB // 5, "COPY_STARTED", 2, 0, 700, None, None, True),
            (3, 0, 99, GB, GB * 3 // 10, "DELETE_FINISHED", 2, 0, 100, None, 200, True),
        ],
    )
