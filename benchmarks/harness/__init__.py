"""What the benchmarks share: options, the machine's description, tables and result files."""
