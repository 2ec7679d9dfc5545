"""From a record batch to codes and numbers: kinds, labels, codebooks, one batch encoded."""
