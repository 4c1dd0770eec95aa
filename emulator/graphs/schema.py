"""One StructType per table of a graph, each column with its unit and meaning: what `emulator graph` writes."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

_INT, _LONG, _TEXT, _SHARE = IntegerType(), LongType(), StringType(), DoubleType()
_BROKERS = ArrayType(_INT, containsNull=False)


def _column(name: str, kind: DataType, comment: str, nullable: bool = False) -> StructField:
    return StructField(name, kind, nullable, {"comment": comment})


def _table(*columns: StructField) -> StructType:
    return StructType([_SCENARIO, *columns])


_SCENARIO = _column("scenario_id", _INT, "scenario: 0 is base, variants from 1 in the order of the file")
_FROM = _column("from_round", _INT, "first round")
_TO = _column("to_round", _INT, "first round after")
_LOSES = _column("loses", _TEXT, "data: all replicas are among them; writes: without them fewer than min.insync.replicas stay")

GRAPH_TABLES: dict[str, StructType] = {
    "vertices": _table(
        _column("id", _TEXT, "vertex, as SCENARIO/broker/3, SCENARIO/rack/a or SCENARIO/partition/orders-7"),
        _column("kind", _TEXT, "broker, rack or partition"),
        _column("broker", _INT, "broker id; null: no broker", True),
        _column("rack", _TEXT, "rack, or where a broker stands; null: none", True),
        _column("topic", _TEXT, "topic name; null: no partition", True),
        _column("partition", _INT, "partition number within the topic; null: no partition", True),
    ),
    "edges": _table(
        _column("src", _TEXT, "id of the vertex it comes from"),
        _column("dst", _TEXT, "id of the vertex it goes to"),
        _column("kind", _TEXT, "stands_in, replicates, leads, shares, fetches_from, believes_in or link_cut"),
        _column("topic", _TEXT, "topic name; null: not about one partition", True),
        _column("partition", _INT, "partition number within the topic; null likewise", True),
        _column("leader_epoch", _INT, "leader epoch that is fetched or believed in; null: another kind", True),
        _column("partitions", _LONG, "of shares: partitions that both brokers have replicas of; null: another kind", True),
        _column("from_round", _INT, "first round; null: from the start", True),
        _column("to_round", _INT, "first round after; null: to the end", True),
    ),
    "copysets": _table(
        _LOSES,
        _column("brokers", _BROKERS, "broker ids, sorted"),
        _column("racks", _INT, "racks that they stand in; a broker without one counts as its own"),
        _column("partitions", _LONG, "partitions that their failure hits so, of those whose set this is"),
    ),
    "copyset_chances": _table(
        _LOSES,
        _column("struck", _TEXT, "brokers: any so many at once, each choice as likely; racks: any one rack"),
        _column("failures", _INT, "how many fail at once"),
        _column("copysets", _LONG, "copysets of the kind in all"),
        _column("probability", _SHARE, "chance that a whole copyset is among them"),
        _column("low", _SHARE, "lower end of its 95 % interval; equal to it: exact"),
        _column("high", _SHARE, "upper end likewise"),
        _column("draws", _LONG, "choices drawn at random for it, 0: it is exact"),
    ),
    "blast_radius": _table(
        _column("struck", _TEXT, "broker, rack, or link between two brokers"),
        _column("broker", _INT, "broker id; of a link the lower one; null: a rack", True),
        _column("peer", _INT, "broker id at the link's other end; null: no link", True),
        _column("rack", _TEXT, "rack lost, or where the broker stands; null: none, or a link", True),
        _column("leaderless", _LONG, "partitions whose leader is struck; of a link 0"),
        _column("unavailable", _LONG, "partitions without any in-sync replica left"),
        _column("unwritable", _LONG, "partitions whose ISR comes below min.insync.replicas by it"),
        _column("under_replicated", _LONG, "partitions that lose a member of their ISR"),
        _column("lost_with_next", _LONG, "of these, partitions whose ISR has one member left"),
    ),
    "islands": _table(
        _FROM,
        _TO,
        _column("island", _INT, "its lowest broker id"),
        _column("brokers", _BROKERS, "running brokers that reach each other, over others if need be, sorted"),
    ),
    "belief_chains": _table(
        _column("topic", _TEXT, "topic name"),
        _column("partition", _INT, "partition number within the topic"),
        _FROM,
        _TO,
        _column("chain", _BROKERS, "broker ids: each believes that the next one leads; of two, the second believes in itself"),
        _column("epochs", _BROKERS, "leader epochs that the first and the second believe in"),
        _column("leader", _INT, "broker id the controller has as leader then, -1 without one"),
    ),
    "hot_spots": _table(
        _column("broker", _INT, "broker id"),
        _column("rack", _TEXT, "rack the broker stands in; null: none", True),
        _column("replicas", _LONG, "partitions that it has a replica of"),
        _column("leads", _LONG, "partitions that it leads, or would lead first"),
        _column("followers", _LONG, "brokers that follow it in some partition: its in-degree"),
        _column("bytes_out", _LONG, "bytes served to other brokers in the run; null: no run", True),
        _column("bytes_in", _LONG, "bytes fetched from other brokers in the run; null: no run", True),
    ),
    "communities": _table(
        _column("community", _INT, "its lowest broker id"),
        _column("brokers", _BROKERS, "brokers that share more partitions with each other than chance gives, sorted"),
        _column("racks", _INT, "racks that they stand in; a broker without one counts as its own"),
        _column("partitions", _LONG, "partitions with all replicas among them"),
    ),
}
