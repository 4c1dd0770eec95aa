"""An independent, plain-Python reference of the emulated protocols: one partition, record by record, no Spark.

It is written from `docs/kafka_rounds.md` and from the protocol rules alone and shares no code with the engine, so that
a disagreement between the two is a fault of one of them.
"""
