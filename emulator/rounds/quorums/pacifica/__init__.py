"""Rounds of `pacifica`: leases and a configuration manager."""
