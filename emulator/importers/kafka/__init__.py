"""Reader of real Kafka clusters: what their tools print and what their brokers keep on disk."""

from emulator.importers.kafka.import_cluster import ImportSummary, import_kafka

__all__ = ["ImportSummary", "import_kafka"]
