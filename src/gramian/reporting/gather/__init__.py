"""What a report is asked for and what it is made from."""
