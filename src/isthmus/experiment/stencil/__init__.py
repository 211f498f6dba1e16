"""Measures a two-dimensional stencil over ranks."""
