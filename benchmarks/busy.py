"""What one partition with far more events than the others costs: `python benchmarks/busy.py [PARTITIONS] [EVENTS] [TIMES]`.

Defaults: 10,000 partitions with 10 events each over 172,800 rounds, one of them with 100 times as many; an event is another
rate. Three blocks are played by leaps in this process: all with 10 events, the same with the busy one, and the busy one alone.
The second is to take as long as the first and the third together: a leap of one partition ends at its own events only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from emulator.inputs.arrays import Block, prepare, read_block
from emulator.rounds.kafka.play_block import play
from emulator.scenario import load_run

ROUNDS = 172_800
REPEATS = 5
SCENARIO = """
protocol = "kafka"
rounds = {rounds}
cluster = {{ brokers = 12 }}
workload_file = "workload.csv"
[[topics]]
name = "orders"
partitions = {partitions}
replication_factor = 3
config = {{ "min.insync.replicas" = 2 }}
"""


def block_of(events: list[int]) -> Block:
    """A block of partitions with so many events each, at even intervals."""
    random = np.random.default_rng(0)
    lines = ["topic,partitions,from_round,to_round,records_per_round,record_bytes"]
    for partition, count in enumerate(events):
        bounds = np.linspace(0, ROUNDS, count + 1).astype(int)
        rates = random.integers(100, 1000, count)
        spans = zip(bounds, bounds[1:], rates, strict=False)
        lines += [f"orders,{partition},{begin},{end},{rate},10" for begin, end, rate in spans]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO.format(rounds=ROUNDS, partitions=len(events)), "ascii")
        (path.parent / "workload.csv").write_text("\n".join([*lines, ""]), "ascii")
        prepared = prepare(load_run(str(path)).scenarios, {}, True, ROUNDS)
    return read_block(prepared.block(np.arange(len(events))))


def seconds_of(block: Block) -> float:
    """The least CPU time of several plays."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        play(block.state, block.inputs, block.traffic)
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Measures the three blocks and prints a line for each."""
    parser = argparse.ArgumentParser(description="What one partition with far more events than the others costs.")
    parser.add_argument("partitions", type=int, nargs="?", default=10_000)
    parser.add_argument("events", type=int, nargs="?", default=10)
    parser.add_argument("times", type=int, nargs="?", default=100)
    given = parser.parse_args()
    busy, alike = given.events * given.times, [given.events] * given.partitions
    play_once = block_of([given.events])
    play(play_once.state, play_once.inputs, play_once.traffic)  # compiled, or read from the cache
    names = {
        f"{given.partitions:,} partitions with {given.events} events": alike,
        f"the same, one of them with {busy:,}": [*alike[:-1], busy],
        f"a partition with {busy:,} alone": [busy],
    }
    for name, events in names.items():
        print(f"{name:50}{1000 * seconds_of(block_of(events)):>10,.1f} ms", flush=True)


if __name__ == "__main__":
    main()
