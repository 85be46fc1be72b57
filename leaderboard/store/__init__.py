"""The run store: Parquet files of samples and a DuckDB catalogue of runs and results."""
