"""What every layer needs of arrays and of the machine: linear algebra, threads, memory, types."""
