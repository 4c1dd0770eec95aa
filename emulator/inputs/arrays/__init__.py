"""What compiled rounds of Kafka's core read, and their start state, as arrays: no loop over partitions, no Spark."""

from emulator.inputs.arrays.blocks import Block, read_block
from emulator.inputs.arrays.prepare import Prepared, prepare
from emulator.inputs.arrays.tiered import tiered_topic

__all__ = ["Block", "Prepared", "prepare", "read_block", "tiered_topic"]
