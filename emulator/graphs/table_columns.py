"""The columns of every table of a graph, each with its unit and meaning: what `emulator graph` writes. Without Spark's types."""

from __future__ import annotations

from emulator.table_columns import Column

_INT, _LONG, _TEXT, _SHARE, _BROKERS = "int", "bigint", "string", "double", "array<int>"


def _table(*columns: Column) -> tuple[Column, ...]:
    return (_SCENARIO, *columns)


_SCENARIO = Column("scenario_id", _INT, "scenario: 0 is base, variants from 1 in the order of the file")
_FROM = Column("from_round", _INT, "first round")
_TO = Column("to_round", _INT, "first round after")
_LOSES = Column(
    "loses",
    _TEXT,
    "data: all replicas are among them; writes: without them fewer stay than writes need (min.insync.replicas; a majority)",
)

GRAPH_COLUMNS: dict[str, tuple[Column, ...]] = {
    "vertices": _table(
        Column("id", _TEXT, "vertex, as SCENARIO/broker/3, SCENARIO/rack/a or SCENARIO/partition/orders-7"),
        Column("kind", _TEXT, "broker, rack or partition"),
        Column("broker", _INT, "broker id; null: no broker", True),
        Column("rack", _TEXT, "rack, or where a broker stands; null: none", True),
        Column("topic", _TEXT, "topic name; null: no partition", True),
        Column("partition", _INT, "partition number within the topic; null: no partition", True),
    ),
    "edges": _table(
        Column("src", _TEXT, "id of the vertex it comes from"),
        Column("dst", _TEXT, "id of the vertex it goes to"),
        Column("kind", _TEXT, "stands_in, replicates, leads, shares, fetches_from, believes_in or link_cut"),
        Column("topic", _TEXT, "topic name; null: not about one partition", True),
        Column("partition", _INT, "partition number within the topic; null likewise", True),
        Column("leader_epoch", _INT, "leader epoch that is fetched or believed in; null: another kind", True),
        Column("partitions", _LONG, "of shares: partitions that both brokers have replicas of; null: another kind", True),
        Column("from_round", _INT, "first round; null: from the start", True),
        Column("to_round", _INT, "first round after; null: to the end", True),
    ),
    "copysets": _table(
        _LOSES,
        Column("brokers", _BROKERS, "broker ids, sorted"),
        Column("racks", _INT, "racks that they stand in; a broker without one counts as its own"),
        Column("partitions", _LONG, "partitions that their failure hits so, of those whose set this is"),
    ),
    "copyset_chances": _table(
        _LOSES,
        Column("struck", _TEXT, "brokers: any so many at once, each choice as likely; racks: any one rack"),
        Column("failures", _INT, "how many fail at once"),
        Column("copysets", _LONG, "copysets of the kind in all"),
        Column("probability", _SHARE, "chance that a whole copyset is among them"),
        Column("low", _SHARE, "lower end of its 95 % interval; equal to it: exact"),
        Column("high", _SHARE, "upper end likewise"),
        Column("draws", _LONG, "choices drawn at random for it, 0: it is exact"),
    ),
    "blast_radius": _table(
        Column("struck", _TEXT, "broker, rack, or link between two brokers"),
        Column("broker", _INT, "broker id; of a link the lower one; null: a rack", True),
        Column("peer", _INT, "broker id at the link's other end; null: no link", True),
        Column("rack", _TEXT, "rack lost, or where the broker stands; null: none, or a link", True),
        Column("leaderless", _LONG, "partitions whose leader is struck; of a link 0"),
        Column("unavailable", _LONG, "partitions without any in-sync replica left"),
        Column("unwritable", _LONG, "partitions whose ISR comes below what writes need by it"),
        Column("under_replicated", _LONG, "partitions that lose a member of their ISR"),
        Column("lost_with_next", _LONG, "of these, partitions whose ISR has one member left"),
    ),
    "islands": _table(
        _FROM,
        _TO,
        Column("island", _INT, "its lowest broker id"),
        Column("brokers", _BROKERS, "running brokers that reach each other, over others if need be, sorted"),
    ),
    "belief_chains": _table(
        Column("topic", _TEXT, "topic name"),
        Column("partition", _INT, "partition number within the topic"),
        _FROM,
        _TO,
        Column("chain", _BROKERS, "broker ids: each believes that the next one leads; of two, the second believes in itself"),
        Column("epochs", _BROKERS, "leader epochs that the first and the second believe in"),
        Column("leader", _INT, "broker id the controller has as leader then, -1 without one"),
    ),
    "hot_spots": _table(
        Column("broker", _INT, "broker id"),
        Column("rack", _TEXT, "rack the broker stands in; null: none", True),
        Column("replicas", _LONG, "partitions that it has a replica of"),
        Column("leads", _LONG, "partitions that it leads, or would lead first"),
        Column("followers", _LONG, "brokers that follow it in some partition: its in-degree"),
        Column("bytes_out", _LONG, "bytes served to other brokers in the run; null: no run", True),
        Column("bytes_in", _LONG, "bytes fetched from other brokers in the run; null: no run", True),
    ),
    "communities": _table(
        Column("community", _INT, "its lowest broker id"),
        Column("brokers", _BROKERS, "brokers that share more partitions with each other than chance gives, sorted"),
        Column("racks", _INT, "racks that they stand in; a broker without one counts as its own"),
        Column("partitions", _LONG, "partitions with all replicas among them"),
    ),
}
