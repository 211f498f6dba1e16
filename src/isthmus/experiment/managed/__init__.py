"""Measures managed memory, and the unit in which pages migrate."""
