"""The output folder: its files on any file system, and tables that are complete or absent."""
