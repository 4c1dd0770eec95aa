"""What a cluster's metrics say of its traffic, as a scenario's workload."""

from emulator.importers.rates.import_rates import RatesSummary, import_rates

__all__ = ["RatesSummary", "import_rates"]
