"""Measures what memory costs to get and to give back."""
