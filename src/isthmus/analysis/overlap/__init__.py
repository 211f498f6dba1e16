"""What copying while computing gains."""
