"""What memory costs to get and to give back, per call and per byte."""
