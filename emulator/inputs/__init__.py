"""What comes from outside, per partition, as changes at rounds. Pure driver-side code: no Spark here.

The *world* is what faults say of a partition's brokers, the *feed* its workload, settings and commands.
"""

from emulator.inputs.alike import find_alike
from emulator.inputs.scenario_inputs import ScenarioInputs, change_tables, scenario_inputs
from emulator.inputs.tables import PartitionTable

__all__ = ["PartitionTable", "ScenarioInputs", "change_tables", "find_alike", "scenario_inputs"]
