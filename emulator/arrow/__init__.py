"""Arrow's tables: types, frames of Spark made of them, packs, files on file systems that pyarrow knows."""
