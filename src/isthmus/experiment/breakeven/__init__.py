"""Measures whole uses: set-up, transfers there and back, and release."""
