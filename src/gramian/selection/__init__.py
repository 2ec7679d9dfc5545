"""Which source columns to keep: every criterion a pure function of moments."""
