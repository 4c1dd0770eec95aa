"""Brokers' network, disk, copier threads and copy quotas, shared out between partitions at quota edges."""
