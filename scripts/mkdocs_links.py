"""A hook of mkdocs: links to files that are no pages become their paths, which a site cannot serve."""

import re

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)]*)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page, with ``[text](../path)`` as ``text (`path`)``."""
    return _OUTSIDE.sub(r"\1 (`\2`)", markdown)
