"""Measures many small pieces, moved one by one and together."""
