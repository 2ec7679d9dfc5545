"""Files that travel: one checksummed container, and writing that leaves a whole file or none."""
