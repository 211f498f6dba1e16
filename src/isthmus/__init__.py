"""Isthmus measures, explains and performs the movement of data between host memory and accelerators."""

__all__ = ["__version__"]

__version__ = "0.1.0"
