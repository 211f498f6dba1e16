"""What measuring and transferring need to know of a host: devices, NUMA, cgroup, PCI, fingerprint."""
