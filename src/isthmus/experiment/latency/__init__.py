"""Measures the smallest steps: an access to other memory, a launch, an event, a wait, a copy within the device."""
