"""Documents of two runs side by side, and of a run against a reference."""
