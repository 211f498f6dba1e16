"""What there is between devices: who reaches whom by what, rates of every pair, accesses, hosts' links at once."""
