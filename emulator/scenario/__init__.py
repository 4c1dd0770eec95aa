"""The scenario file: parsing, validation, variants -> input tables."""

from emulator.scenario.clusters import ELR_FEATURE
from emulator.scenario.globs import matching_topics, parse_partitions
from emulator.scenario.load import load_run
from emulator.scenario.model import Broker, Command, ConsumerRow, Run, Scenario, Topic

__all__ = [
    "ELR_FEATURE",
    "Broker",
    "Command",
    "ConsumerRow",
    "Run",
    "Scenario",
    "Topic",
    "load_run",
    "matching_topics",
    "parse_partitions",
]
