"""What commands share: options, sources, outputs, printing."""
