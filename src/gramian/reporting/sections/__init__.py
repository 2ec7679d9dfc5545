"""The sections of a report, each as plain data."""
