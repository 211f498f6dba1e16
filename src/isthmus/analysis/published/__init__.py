"""Figures published elsewhere as data with their source, and one table that shows a run's next to them."""
