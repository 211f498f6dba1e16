"""Reads the trace files that Isthmus records."""
