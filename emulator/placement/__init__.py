"""Where replicas go: Kafka's own placers, and those that keep copysets few."""
