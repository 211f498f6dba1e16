"""How well times of sizes that were not measured are predicted."""
