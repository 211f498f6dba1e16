"""Isthmus where other libraries choose it by a switch of theirs: each module is loaded by its host alone."""
