"""Ways of reading a source once: each reduces it to `Moments`."""
