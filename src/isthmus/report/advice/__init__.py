"""Documents of advice."""
