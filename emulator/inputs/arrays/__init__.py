"""What compiled rounds of Kafka's core read, and their start state, as arrays: no loop over partitions, no Spark."""

from emulator.inputs.arrays.blocks import Block, read_block
from emulator.inputs.arrays.core import is_core, tiered_topic, why_not_core
from emulator.inputs.arrays.prepare import Prepared, prepare

__all__ = ["Block", "Prepared", "is_core", "prepare", "read_block", "tiered_topic", "why_not_core"]
