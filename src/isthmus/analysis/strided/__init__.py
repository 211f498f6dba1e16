"""How sections of arrays, rows apart from one another, move best."""
