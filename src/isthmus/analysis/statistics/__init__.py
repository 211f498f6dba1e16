"""Curves, intervals, thresholds, comparisons: what every analysis computes with."""
