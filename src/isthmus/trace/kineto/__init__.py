"""Reads the JSON traces of torch's profiler."""
