"""What estimators share: input, targets, fitting, cross-fitting."""
