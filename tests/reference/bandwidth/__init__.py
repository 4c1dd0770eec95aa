"""Partitions that share what their brokers' networks and disks carry, from docs/kafka_rounds.md, "Shared bandwidth", alone.

sharing.py has what is given at one edge, edges.py when edges are, demands.py what is asked for, clients.py the producers that
are held back, simulate.py whole runs.
"""
