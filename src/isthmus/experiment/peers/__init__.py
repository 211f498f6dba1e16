"""Measures what there is between devices: copies of every pair, of one and all, and hosts' links at once."""
