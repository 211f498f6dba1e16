"""Opens traces of several makers: one model for all of them."""
