"""Followers' fetcher threads in plain Python, fetch by fetch, written from Kafka's sources: which partition gets what, when.

It shares no code with the engine, which has shares of a thread's speed set at quota edges. Not modelled: a segment's end,
which ends what a fetch brings of a partition (LocalLog.read reads one segment, so one fetch in a thousand of 1 GiB is
short), errors and their back-off, throttles, limited networks and disks.
"""
