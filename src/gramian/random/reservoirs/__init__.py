"""Fixed recurrent and spiking networks, whose states are features of sequences."""
