"""Builds and measures programs with data directives."""
