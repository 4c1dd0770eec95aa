"""How many partitions each topic has, of an import's folder or a scenario file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.errors import InputError
from emulator.scenario.imported import IMPORT_ALLOWED, exists, read_import
from emulator.scenario.ledgers import has_ledgers
from emulator.scenario.load import scenario_of
from emulator.scenario.rows import TableFiles
from emulator.scenario.shapes import ScenarioShape
from emulator.scenario.table_files import open_filesystem
from emulator.scenario.toml_text import read_toml

SCENARIO_ENDING = ".toml"
_OF_TOPICS = ("protocol", "rounds", "round_ms", "seed", "cluster", "topics", "remote_storage")
CLUSTER_ALLOWED = f"{IMPORT_ALLOWED} kafka, or a scenario file (.toml)"


@dataclass(frozen=True)
class PartitionCounts:
    """Partitions by topic, and the milliseconds that a round stands for there."""

    partitions: dict[str, int]
    round_ms: int


def partition_counts(path: str) -> PartitionCounts:
    """Reads an import's folder, or of a scenario file its cluster, topics and round_ms: what else it names need not be there yet.

    Raises InputError, one line, for the first thing that is wrong, and for ledgers.
    """
    if path.lower().endswith(SCENARIO_ENDING):
        data: dict[str, Any] = {key: value for key, value in read_toml(path)[1].items() if key in _OF_TOPICS}
        scenario = scenario_of(path, {"rounds": 1} | data)
        if has_ledgers(scenario.protocol):
            raise InputError.at(path, "protocol", "has ledgers", CLUSTER_ALLOWED)
        return PartitionCounts({topic.name: topic.partitions for topic in scenario.topics}, scenario.round_ms)
    system, inner = open_filesystem(path)
    if system.get_file_info(inner).type.name != "Directory" or not exists(path, "partitions.parquet"):
        raise InputError.at(path, "--cluster", "is no cluster", CLUSTER_ALLOWED)
    imported = read_import(path, TableFiles())
    return PartitionCounts(
        {topic.name: topic.partitions for topic in imported.topics}, ScenarioShape.model_fields["round_ms"].default
    )
