"""What all estimators share: declared fields, the contract of a fitted model, and the files it reads and writes."""
