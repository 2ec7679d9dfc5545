"""A fitted model in somebody else's language: SQL, ONNX, polars; and whether it says there what it says here."""
