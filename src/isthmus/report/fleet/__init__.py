"""Documents of many machines."""
