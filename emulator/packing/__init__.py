"""`emulator pack`: the archive that a cluster's executors are given."""
