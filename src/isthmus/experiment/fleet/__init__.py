"""Measures many devices under a launcher, in step."""
