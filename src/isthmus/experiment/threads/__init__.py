"""Measures many host threads that copy slices of one buffer."""
