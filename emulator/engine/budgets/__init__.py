"""What brokers' network, disks and replication throttles leave partitions that share them: shared out at quota edges."""
