"""Measures every method to meet one need, at once and in turns: what `isthmus plan` answers with."""
