"""What measurements mean, a folder an experiment: findings, and sections of reports. Needs files, never a device."""
