"""A replica's log without its records: runs of equal batches, each with its epoch. SQL text helpers.

A log is `array<struct<start_offset, epoch, start_bytes, batch_records, batch_bytes, pattern, round>>` plus its LEO. A run
repeats a cycle of `batch_records` records and `batch_bytes` bytes; `pattern` lists the batches of a cycle where it has
more than one (several workload rows in force), else it is null. `round` is the one in which its first cycle was appended; where
segments are kept, each round has its cycle and a gap ends a run, so that every record has a date (-1: all were there at the
start, written in round 0). A run without records has the round of the last one before it. Bytes count from
offset 0, so two logs of one lineage agree on them. The leader epoch cache is the list of (epoch, start_offset) of the runs that
begin an epoch; a run that starts at the LEO holds no record (the entry a leader makes on election, KIP-279).

The rules are those of Kafka's LeaderEpochFileCache (storage/internals/epoch).
"""

from __future__ import annotations

from emulator.expressions.columns import let


def last_run(log: str) -> str:
    """The last run, null for an empty log."""
    return f"get({log}, size({log}) - 1)"


def same_batches(a: str, b: str) -> str:
    """Whether two runs begin alike and repeat the same batches; null if one of them is."""
    equal = " AND ".join(f"{a}.{name} = {b}.{name}" for name in ("start_offset", "epoch", "batch_records", "batch_bytes"))
    return f"({equal} AND {a}.pattern <=> {b}.pattern)"


def last_epoch(log: str) -> str:
    """The latest epoch of the cache, null if there is none."""
    return f"{last_run(log)}.epoch"


def floor_epoch(log: str, epoch: str) -> str:
    """Largest epoch <= the asked one; below the first entry the asked one (LeaderEpochFileCache.endOffsetFor)."""
    return f"coalesce(array_max(transform(filter({log}, x -> x.epoch <= {epoch}), x -> x.epoch)), {epoch})"


def end_offset_for_epoch(log: str, leo: str, epoch: str) -> str:
    """End offset of the floor of an epoch: the start of the next higher epoch, else the LEO."""
    return f"coalesce(array_min(transform(filter({log}, x -> x.epoch > {epoch}), x -> x.start_offset)), {leo})"


def truncate_from_end(log: str, offset: str, log_start: str = "log_start_offset") -> str:
    """Drop every entry starting at or above the offset, also when the offset is the LEO or above (KAFKA-10706)."""
    return f"filter({log}, x -> greatest(x.start_offset, {log_start}) < {offset})"


def truncate_from_start(log: str, offset: str) -> str:
    """Drop the runs wholly below a new log start. The run that holds it stays as it is, so that batches keep their
    place; its cache entry counts as (epoch, log start), as LeaderEpochFileCache.truncateFromStart writes it."""
    return f"filter({log}, (x, i) -> coalesce(get({log}, i + 1).start_offset > {offset}, true))"


def assign_epoch(log: str, epoch: str, offset: str, log_bytes: str = "log_bytes", log_start: str = "log_start_offset") -> str:
    """Append an epoch entry: later entries at the same or a higher offset or epoch go (LeaderEpochFileCache.assign)."""
    added = run(offset, epoch, log_bytes, "0", "0L", "null", f"coalesce({newest_round(log, offset)}, -1)")
    return (
        f"IF({last_run(log)}.epoch <=> {epoch} AND {last_run(log)}.start_offset <= {offset}, {log},"
        f" concat(filter({log}, x -> greatest(x.start_offset, {log_start}) < {offset} AND x.epoch < {epoch}),"
        f" array({added})))"
    )


def run(offset: str, epoch: str, start_bytes: str, batch_records: str, batch_bytes: str, pattern: str, first_round: str) -> str:
    """A run as SQL struct."""
    return (
        f"named_struct('start_offset', CAST({offset} AS BIGINT), 'epoch', CAST({epoch} AS INT),"
        f" 'start_bytes', CAST({start_bytes} AS BIGINT), 'batch_records', CAST({batch_records} AS INT),"
        f" 'batch_bytes', CAST({batch_bytes} AS BIGINT), 'pattern', {pattern_cast(pattern)}, 'round', {first_round})"
    )


def pattern_cast(pattern: str) -> str:
    """A pattern with the type of the run's field."""
    return f"CAST({pattern} AS ARRAY<STRUCT<records: INT, bytes: BIGINT>>)"


def bytes_within(x: str, offset: str) -> str:
    """Bytes of the log below an offset that lies in run x (at a batch boundary; inside a batch: pro rata)."""
    records = f"greatest({offset} - {x}.start_offset, 0L)"
    rest = f"({records} % {x}.batch_records)"
    in_pattern = (
        f"aggregate({x}.pattern, named_struct('left', {rest}, 'bytes', 0L), (a, p) ->"
        f" IF(a.left <= 0, a, named_struct('left', a.left - p.records, 'bytes', a.bytes +"
        f" IF(a.left >= p.records, p.bytes, (p.bytes * a.left) DIV p.records))), a -> a.bytes)"
    )
    return (
        f"({x}.start_bytes + IF({x}.batch_records <= 0, 0L,"
        f" ({records} DIV {x}.batch_records) * {x}.batch_bytes"
        f" + IF({x}.pattern IS NULL, ({x}.batch_bytes * {rest}) DIV {x}.batch_records, {in_pattern})))"
    )


def round_of(x: str, offset: str) -> str:
    """The round in which the record of run x at an offset was appended."""
    return f"IF({x}.round < 0, 0, {x}.round + CAST(({offset} - {x}.start_offset) DIV greatest({x}.batch_records, 1) AS INT))"


def newest_round(log: str, leo: str) -> str:
    """The round in which the last record of the log was appended, null for a log that never had any.

    A run without records knows that of the one before it, which may have been deleted since.
    """
    of_empty = "IF(x.round < 0, n, coalesce(n, x.round))"
    of_run = f"IF(x.start_offset < {leo}, {round_of('x', f'{leo} - 1')}, n)"
    return f"aggregate({log}, CAST(null AS INT), (n, x) -> IF(x.batch_records <= 0, {of_empty}, {of_run}))"


def clipped(x: str, offset: str) -> str:
    """Run x beginning at a later offset, where one of its batches starts: its cycle is turned to begin with that batch."""
    rest = f"(({offset} - {x}.start_offset) % {x}.batch_records)"
    before = (
        f"aggregate({x}.pattern, named_struct('at', 0L, 'count', 0), (a, p) -> IF(a.at + p.records <= {rest},"
        " named_struct('at', a.at + p.records, 'count', a.count + 1), a), a -> a.count)"
    )
    turned = f"concat(slice({x}.pattern, {before} + 1, size({x}.pattern)), slice({x}.pattern, 1, {before}))"
    pattern = f"IF({x}.pattern IS NULL OR {x}.batch_records <= 0, null, {turned})"
    first_round = f"IF({x}.round < 0, -1, {round_of(x, offset)})"
    return run(offset, f"{x}.epoch", bytes_within(x, offset), f"{x}.batch_records", f"{x}.batch_bytes", pattern, first_round)


def bytes_at(log: str, offset: str) -> str:
    """Bytes of the log below an offset (0 for an empty log)."""
    at = f"element_at(filter({log}, x -> x.start_offset <= {offset}), -1)"
    holds = f"exists({log}, x -> x.start_offset <= {offset})"
    return f"IF({holds}, {let('x', at, bytes_within('x', offset))}, 0L)"


def batches_below(x: str, target: str) -> str:
    """End offset of the last whole batch of run x that ends at or below `target` bytes."""
    budget = f"greatest({target} - {x}.start_bytes, 0L)"
    cycles = f"({budget} DIV greatest({x}.batch_bytes, 1L))"
    in_pattern = (
        f"aggregate({x}.pattern, named_struct('left', {budget} - {cycles} * {x}.batch_bytes, 'records', 0L), (a, p) ->"
        f" IF(a.left >= p.bytes, named_struct('left', a.left - p.bytes, 'records', a.records + p.records),"
        f" named_struct('left', -1L, 'records', a.records)), a -> a.records)"
    )
    return (
        f"({x}.start_offset + IF({x}.batch_records <= 0, 0L, {cycles} * {x}.batch_records"
        f" + IF({x}.pattern IS NULL, 0L, {in_pattern})))"
    )


def next_batch_end(x: str, offset: str) -> str:
    """End offset of the batch of run x that holds the offset."""
    records = f"({offset} - {x}.start_offset)"
    cycle = f"({records} DIV {x}.batch_records)"
    in_pattern = (
        f"aggregate({x}.pattern, named_struct('at', 0L, 'end', -1L), (a, p) -> IF(a.end >= 0, a,"
        f" named_struct('at', a.at + p.records, 'end', IF(a.at + p.records > {records} % {x}.batch_records,"
        f" a.at + p.records, -1L))), a -> a.end)"
    )
    return (
        f"IF({x}.batch_records <= 0, {offset}, {x}.start_offset + {cycle} * {x}.batch_records"
        f" + IF({x}.pattern IS NULL, CAST({x}.batch_records AS BIGINT), {in_pattern}))"
    )


def batch_start(log: str, offset: str, log_start: str = "log_start_offset") -> str:
    """First offset of the batch that holds an offset; the offset itself where a batch starts, or the log ends.

    Of a batch that begins below the log start, what the log still has counts as all of it.
    """
    at = f"element_at(filter({log}, x -> x.start_offset <= {offset}), -1)"
    cycle = f"(({offset} - x.start_offset) DIV x.batch_records)"
    rest = f"(({offset} - x.start_offset) % x.batch_records)"
    in_pattern = f"aggregate(x.pattern, 0L, (a, p) -> IF(a + p.records <= {rest}, a + p.records, a))"
    start = (
        f"IF(x.batch_records <= 0, {offset}, x.start_offset + {cycle} * x.batch_records"
        f" + IF(x.pattern IS NULL, 0L, {in_pattern}))"
    )
    holds = f"exists({log}, x -> x.start_offset <= {offset})"
    return f"IF({holds}, greatest({let('x', at, start)}, least({log_start}, {offset})), {offset})"


def run_end(log: str, index: str, leo: str) -> str:
    """End offset of the run at an index: the next run's start, the LEO for the last."""
    return f"coalesce(get({log}, {index} + 1).start_offset, {leo})"


def whole_batches(log: str, leo: str, offset: str, target: str) -> str:
    """End offset of the whole batches from `offset` on that end within `target` bytes (the offset itself if none does)."""
    ends = f"transform({log}, (x, i) -> least({batches_below('x', target)}, {run_end(log, 'i', leo)}))"
    return f"greatest({offset}, array_max(filter({ends}, (e, i) -> get({log}, i).start_bytes <= {target})))"


def one_batch(log: str, leo: str, offset: str) -> str:
    """End offset of the first batch at an offset (a fetch returns at least one)."""
    ends = (
        f"transform(filter({log}, (x, i) -> x.start_offset <= {offset} AND {run_end(log, 'i', leo)} > {offset}),"
        f" x -> {next_batch_end('x', offset)})"
    )
    return f"least(coalesce(get({ends}, 0), {leo}), {leo})"


def append_from(own: str, source: str, offset: str, end: str, log_start: str = "log_start_offset") -> str:
    """A follower's log after it took [offset, end) of its source's log: the runs of that range are added.

    An empty log takes the run that holds the offset as it is; else that run is there already, by LogMatching, and only a
    protocol that breaks it makes a clipped copy.
    """
    kept = f"filter({own}, x -> greatest(x.start_offset, {log_start}) < {offset})"
    same = same_batches(last_run("kept_"), "x")
    inside = (
        f"filter({source}, (x, i) -> x.start_offset < {end}"
        f" AND coalesce(get({source}, i + 1).start_offset > {offset}, true)"
        f" AND NOT (x.start_offset < {offset} AND coalesce({same}, false)))"
    )
    clip = f"x -> IF(x.start_offset < {offset} AND size(kept_) > 0, {clipped('x', offset)}, x)"
    return let("kept_", kept, f"concat(kept_, transform({inside}, {clip}))")


def epoch_cache(log: str, log_start: str) -> str:
    """The leader epoch cache as array<struct<epoch, start_offset>>: the runs that begin an epoch, from the log start.

    An epoch that is not above those before it takes them out of the cache, as LeaderEpochFileCache.assign does; it comes
    only where a protocol breaks LogMatching.
    """
    first = f"filter({log}, (x, i) -> i = 0 OR get({log}, i - 1).epoch != x.epoch)"
    ahead = "exists(slice(f, i + 2, size(f)), y -> y.epoch <= x.epoch)"
    kept = let("f", first, f"filter(f, (x, i) -> NOT {ahead})")
    return f"transform({kept}, x -> named_struct('epoch', x.epoch, 'start_offset', greatest(x.start_offset, {log_start})))"
