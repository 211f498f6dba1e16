"""What the links of neighbouring devices add to large copies, how these are divided, and what it costs neighbours."""
