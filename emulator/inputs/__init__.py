"""What comes from outside, as arrays of a block: brokers over time, workload, settings, commands. No Spark here."""
