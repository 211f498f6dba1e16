"""Commands that a plan names, word for word as they can be pasted."""

from isthmus.record import format_bytes


def size_option(count: int) -> str:
    """``4KiB``, as options of the command line take sizes."""
    return format_bytes(count).replace(" ", "")
