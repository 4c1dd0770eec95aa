"""Files of real clusters -> cluster folders and workload files."""
