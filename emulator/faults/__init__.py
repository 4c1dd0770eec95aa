"""Faults as data: kinds, generators by seed, and what the rows say of each broker in each round."""

from emulator.faults.generator_kinds import GENERATORS, Generator, Parameter, parameter_problems
from emulator.faults.generators import generate
from emulator.faults.kinds import BROKER_STATE_KINDS, DIRECTIONS, FAULT_KINDS, FAULT_SCHEMA, FaultKind, read_fault_rows
from emulator.faults.timeline import BrokerSegment, broker_timelines

__all__ = [
    "BROKER_STATE_KINDS",
    "DIRECTIONS",
    "FAULT_KINDS",
    "FAULT_SCHEMA",
    "GENERATORS",
    "BrokerSegment",
    "FaultKind",
    "Generator",
    "Parameter",
    "broker_timelines",
    "generate",
    "parameter_problems",
    "read_fault_rows",
]
