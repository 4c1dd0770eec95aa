"""An emulator of replicated logs that runs on Spark."""

__version__ = "0.1.0"
