"""What is measured and where: one module per experiment, its runner, and the fingerprint of the machine."""
