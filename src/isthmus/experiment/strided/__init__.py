"""Measures sections of arrays, rows apart from one another."""
