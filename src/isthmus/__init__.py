"""Isthmus measures, explains and performs the movement of data between host memory and accelerators."""

from importlib.metadata import version as _version

__all__ = ["__version__"]

__version__ = _version("isthmus")
