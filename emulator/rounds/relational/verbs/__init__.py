"""The verbs of a round, and what several of them use (logs, cutting, chunks, links).

`kafka_round.VERBS` has their order.
"""
