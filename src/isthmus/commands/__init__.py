"""The `isthmus` command."""

from isthmus.commands.main import app, main

__all__ = ["app", "main"]
