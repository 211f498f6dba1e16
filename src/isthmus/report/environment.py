"""Where the templates of pages are, and what they may call."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from isthmus.document.palette import all_looks
from isthmus.language import say, sentences, spoken


def environment() -> Environment:
    """Templates that escape everything: what a run file says is text, comes from elsewhere, may hold any characters."""
    made = Environment(
        loader=PackageLoader("isthmus.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(all_looks=all_looks, say=say, sentences=sentences, spoken=spoken)
    return made
