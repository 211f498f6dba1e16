"""Documents of traces."""
