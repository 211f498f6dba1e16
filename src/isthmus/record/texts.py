"""Texts that came from elsewhere, as a terminal may show them."""


def printable(text: str) -> str:
    """A text that no terminal takes for a command."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)
