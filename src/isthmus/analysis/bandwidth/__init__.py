"""How fast each kind of host memory moves, at which size, and how steadily."""
