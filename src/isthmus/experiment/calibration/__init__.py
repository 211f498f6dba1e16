"""Measures the tables by which the transfer library chooses."""
