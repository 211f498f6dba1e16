"""Measures how fast each kind of host memory moves."""
