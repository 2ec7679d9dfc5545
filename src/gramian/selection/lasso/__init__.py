"""The Lasso with a penalty a source column: its whole path from second moments."""
