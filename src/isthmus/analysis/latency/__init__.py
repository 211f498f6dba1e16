"""What the smallest steps take: an access to other memory, a launch, an event, a wait, a copy within the device."""
