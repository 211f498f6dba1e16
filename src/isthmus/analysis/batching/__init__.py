"""When many small pieces move faster together."""
